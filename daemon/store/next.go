package store

import (
	"slices"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
)

// Waiting is what the thread could take next: the first of each kind.
type Waiting struct {
	Input    turn.Queued   // the input of the best rank that opens a turn; Seq 0: none
	Commands []turn.Queued // all commands, oldest first
	Turn     int64         // the oldest turn that can go on; 0: none
}

// Next decides what the thread takes: a command, an input or a turn; the zero values of all three say that there is nothing to do.
// A command that the thread serves itself (boundary) goes first unless a message of the owner came before it. A message of the owner goes before a
// turn that is taken up again, and that goes before everything else.
func (w Waiting) Next(boundary []string) (command, input turn.Queued, resumed int64) {
	best := w.Input
	for _, q := range w.Commands {
		if slices.Contains(boundary, q.In.Word()) && (best.Seq == 0 || best.In.Rank > event.RankOwner || q.Seq < best.Seq) {
			best = q
			break
		}
	}
	switch {
	case best.Seq == 0 || best.In.Rank != event.RankOwner && w.Turn != 0:
		return command, input, w.Turn
	case best.In.Kind == event.Command:
		return best, input, 0
	default:
		return command, best, 0
	}
}

// BeginsAnew decides whether the run of a trigger begins a new conversation. What an earlier run has read, or somebody has put there, must not use
// the rights of a trigger that may do something. A right to read, as every watch has it, leaves the conversation as it is. The heartbeat begins
// anew each time, so that its conversation stays small. allow are the rights of the trigger.
func BeginsAnew(session string, heartbeat bool, allow []string) bool {
	return session != "main" && (heartbeat || slices.ContainsFunc(allow, acts))
}

// acts reports whether a right lets a run do more than read.
func acts(right string) bool {
	kind, _, found := strings.Cut(right, ":")
	return !found || !strings.EqualFold(kind, "read")
}

// OpenAsk is an open question to the owner, as a plain text of his finds it.
type OpenAsk struct {
	ID        int64
	Commanded bool // a command that waits answers it in a moment
	Replied   bool // the text replies to the message of the question
	Here      bool // it was asked in this chat, by this conversation
}

// AnsweredAsk finds the question that a plain text answers: the one whose message it replies to, or, when it replies to none, the only one that is open
// in its chat. 0: it answers none. It never approves anything: only asks are in the list.
func AnsweredAsk(open []OpenAsk, isReply bool) (id int64) {
	n := 0
	for _, q := range open {
		if !q.Commanded && (q.Replied || q.Here && !isReply) {
			id, n = q.ID, n+1
		}
	}
	if n != 1 {
		return 0
	}
	return id
}
