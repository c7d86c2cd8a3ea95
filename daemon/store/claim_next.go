package store

import (
	"slices"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
)

// Waiting holds the candidates for the thread's next action, the first of each kind.
type Waiting struct {
	Input    turn.Queued   // the input with the best rank that opens a turn; Seq 0: none
	Commands []turn.Queued // all commands, oldest first
	Turn     int64         // the oldest turn that can continue; 0: none
}

// Next decides the thread's next action: a command, an input or a resumed turn. If all results are zero, there is nothing to do. A command
// that the thread serves itself (boundary) comes first, unless an earlier message of the owner waits. Then come the owner's messages, then
// resumed turns, then the rest. A command waits while an earlier one of its conversation waits that is served beside the thread, so that the
// answers keep their order; no input of that conversation overtakes it.
func (w Waiting) Next(boundary []string) (command, input turn.Queued, resumed int64) {
	best := w.Input
	for _, q := range w.Commands {
		if slices.Contains(boundary, q.In.CommandName()) && (best.Seq == 0 || best.In.Rank > event.RankOwner || q.Seq < best.Seq) {
			if w.behind(q, boundary) {
				if best.In.Session == q.In.Session {
					best = turn.Queued{}
				}
				continue
			}
			best = q
			break
		}
	}
	switch {
	case best.Seq == 0 || best.In.Rank != event.RankOwner && w.Turn != 0:
		return command, input, w.Turn
	case best.In.Kind == event.Command:
		return best, input, 0
	}
	return command, best, 0
}

// behind reports whether a command waits behind one of the same conversation that is not of the boundary.
func (w Waiting) behind(q turn.Queued, boundary []string) bool {
	return slices.ContainsFunc(w.Commands, func(other turn.Queued) bool {
		return other.Seq < q.Seq && other.In.Session == q.In.Session && !slices.Contains(boundary, other.In.CommandName())
	})
}

// BeginsAnew decides whether a trigger's run starts a new conversation. If the trigger has rights to act, text from an earlier run must not
// use them. Read rights, as every watch has them, do not matter. The heartbeat always starts anew, to keep its conversation small. allow
// lists the trigger's rights.
func BeginsAnew(session string, heartbeat bool, allow []string) bool {
	return session != "main" && (heartbeat || slices.ContainsFunc(allow, acts))
}

// acts reports whether a right allows more than reading.
func acts(right string) bool {
	kind, _, found := strings.Cut(right, ":")
	return !found || !strings.EqualFold(kind, "read")
}

// OpenAsk is an open question to the owner that a plain text might be meant for.
type OpenAsk struct {
	ID        int64
	Commanded bool // a queued command is about to answer it
	Replied   bool // the text is a reply to the question's message
	Here      bool // this conversation asked it in this chat
	Chosen    bool // the text is one of its options
	Approval  bool // it asks for a permission, which no plain text gives
}

// AnsweredAsk returns the question that a plain text answers: the one whose message it replies to or, for a text that is no reply, the only
// open one in its chat. Beside a question for a permission, a single word must be one of the options: a "yes" may be meant for the other
// question. 0 means none. It can never approve anything.
func AnsweredAsk(open []OpenAsk, isReply, word bool) (id int64) {
	n, chosen, approvals := 0, false, false
	for _, q := range open {
		switch {
		case q.Commanded:
		case q.Approval:
			approvals = approvals || q.Here && !isReply
		case q.Replied || q.Here && !isReply:
			id, n, chosen = q.ID, n+1, q.Chosen
		}
	}
	if n != 1 || approvals && word && !chosen {
		return 0
	}
	return id
}
