package agent

import (
	"context"
	"strings"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
)

// recallWait is the longest time that a turn waits for the memory. A later result is not used. A search takes about 10 ms. The limit is
// much longer for busy machines and slow disks, because the model takes longer anyway.
const recallWait = 2 * time.Second

// maxRecallQuery limits the part of an input that is used as the query, in bytes.
const maxRecallQuery = 500

// Recall searches the memory for the words of an input and returns the best results first. It searches only what the owner wrote: memory
// files without marks, context items, and messages in untainted turns. It returns nothing if the search fails.
type Recall func(ctx context.Context, words string) []turn.Memory

// opener prepares the first request of one turn.
type opener struct {
	thread *Thread
	row    int64 // row    int64 // the inbox row that found belongs to
	found  []turn.Memory
}

// Ahead searches the memory for the words of the next input. It runs before the claim, so that the results are committed with the claim.
func (o *opener) Ahead(ctx context.Context, next func() (turn.Queued, error)) {
	if o.thread.Recall == nil || o.thread.Models().First().Info().Interpreter {
		return
	}
	q, err := next()
	if err != nil || !recalls(q.In) || o.thread.Fallback.First != nil && o.thread.Fallback.First(ctx, ownText(q.In)) {
		return // a row that cannot be read now is claimed without a recall, or not at all
	}
	ctx, cancel := context.WithTimeout(ctx, recallWait)
	defer cancel()
	o.row, o.found = q.Seq, o.thread.Recall(ctx, truncate(ownText(q.In), maxRecallQuery))
}

// Reads returns the part of the transcript that a new turn needs.
func (o *opener) Reads(st turn.Snapshot) turn.Part {
	if _, asks := turn.Next(st).(turn.Request); !asks {
		return turn.OwnItems
	}
	return o.thread.reads()
}

// reads returns the part of a transcript that the first model needs.
func (t *Thread) reads() turn.Part {
	if t.Models().First().Info().Interpreter {
		return turn.RecentTurns
	}
	return turn.AllItems
}

// Note returns the recalled passages for the row, if the turn begins with a model request.
func (o *opener) Note(seq int64, opening turn.Opening) (llm.Item, bool) {
	_, asks := turn.Next(opening.Snapshot).(turn.Request)
	if !asks || seq != o.row || len(o.found) == 0 || opening.Snapshot.Turn.Guest || opening.Snapshot.Turn.Plain {
		return llm.Item{}, false
	}
	opening.Prefix = Fitted(opening.Prefix, o.thread.Models().First().Info(), o.thread.Dispatch.Set) // what is left out of it is not known
	return turn.Recall(opening, o.found)
}

// First returns the request that a new turn begins with.
func (o *opener) First(opening turn.Opening) (turn.Step, bool) {
	return o.thread.firstRequest(opening)
}

// recalls reports whether the memory is searched for an input: a private message of the owner, or a run of a job that the owner made. An
// input with foreign text gets no results, because that text would choose them.
func recalls(in event.In) bool {
	return in.Trust == event.Owner && !in.Tainted && (in.Kind == event.Message || in.Kind == event.Fire) && in.Session != heartbeatSession && ownText(in) != ""
}

// ownText returns the part of an input that its sender typed. The other parts are forwarded, attached or added by hob.
func ownText(in event.In) string {
	if len(in.Parts) == 0 {
		return ""
	}
	return strings.TrimSpace(event.TextOf(in.Parts[:1]))
}
