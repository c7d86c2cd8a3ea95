package agent

import (
	"context"
	"strings"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// recallWait is how long a turn waits for the memory at most. What comes later is not recalled. A search takes some 10 ms; a machine that is busy or has a slow disk
// gets time for it, because a model takes longer anyway.
const recallWait = 2 * time.Second

// maxRecallQuery limits the words of an input that the memory is searched for, in bytes.
const maxRecallQuery = 500

// Recall searches what hob remembers for the words of an input, the best first. It finds only what the owner wrote or said himself: files of
// the memory without marks, context items and his own words of untainted turns. It returns nothing when it fails.
type Recall func(ctx context.Context, words string) []turn.Memory

// opener prepares the first request of one turn.
type opener struct {
	thread *Thread
	row    int64 // the inbox row that found is for
	found  []turn.Memory
}

// Ahead searches the memory for the words of the next input. This happens before the claim, so that what is recalled is committed with it.
func (o *opener) Ahead(ctx context.Context, next func() (turn.Queued, error)) {
	if o.thread.Recall == nil || o.thread.Models().First().Info().Interpreter {
		return
	}
	q, err := next()
	if err != nil || !recalls(q.In) {
		return // a row that cannot be read now is claimed without a recall, or not at all
	}
	ctx, cancel := context.WithTimeout(ctx, recallWait)
	defer cancel()
	o.row, o.found = q.Seq, o.thread.Recall(ctx, truncate(ownText(q.In), maxRecallQuery))
}

// Note is what is recalled for the row, if the turn begins with a model request.
func (o *opener) Note(seq int64, opening turn.Opening) (llm.Item, bool) {
	_, asks := turn.Next(opening.Snapshot).(turn.Request)
	if !asks || seq != o.row || len(o.found) == 0 || opening.Snapshot.Turn.Guest {
		return llm.Item{}, false
	}
	return turn.Recall(opening, o.found)
}

// First is the request that a new turn begins with.
func (o *opener) First(opening turn.Opening) (turn.Step, bool) {
	return o.thread.firstRequest(opening)
}

// recalls reports whether something is recalled for an input: a message of the owner in private, or a run of a job that he made. Foreign
// text in it would choose what is recalled, so an input with some gets nothing.
func recalls(in event.In) bool {
	return in.Trust == event.Owner && !in.Tainted && (in.Kind == event.Message || in.Kind == event.Fire) && in.Session != heartbeatSession && ownText(in) != ""
}

// ownText is the part of an input that its sender typed. What follows is forwarded, attached or added by hob.
func ownText(in event.In) string {
	if len(in.Parts) == 0 {
		return ""
	}
	return strings.TrimSpace(event.TextOf(in.Parts[:1]))
}
