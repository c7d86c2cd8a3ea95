package turn

import (
	"slices"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// Queued is an inbox row that no turn has taken.
type Queued struct {
	Seq int64
	In  event.In
}

// Joins reports whether a queued row enters a running turn before its next request: a chat message of the same session
// and the same trust, when the turn is a conversation. Nothing else joins; what does not, opens a turn of its own. A job's turn is left
// alone: its answer goes where the job's owner wanted it; and what goes on within a job's limits is no conversation.
func Joins(t Turn, q Queued, now time.Time) bool {
	return q.In.Kind == event.Message && q.In.Session == t.Key && q.In.Trust == t.Asker && t.Fire == 0 && !t.Limited() && !q.In.NotBefore.After(now)
}

// Item is the transcript entry of an inbox row that joins a turn; owners are the owner's addresses.
func Item(t Turn, q Queued, zone string, owners []event.Address) llm.Item {
	return llm.Item{
		Session: t.Session, Turn: t.ID, Role: llm.User, Kind: llm.Input, Parts: q.In.Parts,
		Trust: trustOf(q.In), Source: q.In.Source,
		Envelope: &llm.Envelope{
			Source: q.In.Source, Sender: q.In.Sender, At: q.In.Received, Zone: zone,
			Trust: q.In.Trust, Kind: q.In.Kind, Typed: q.In.Typed,
			Lesser: q.In.Trust == event.Known && q.In.Origin.Person != "" && slices.Contains(owners, event.Address(q.In.Source+":"+q.In.Origin.Person)),
		},
	}
}

// trustOf is the trust of an input's words: what comes from foreign text is anybody's, whoever brings it.
func trustOf(in event.In) event.Trust {
	if in.Tainted && (in.Trust == event.Owner || in.Trust == event.Known) {
		return event.Public
	}
	return in.Trust
}

// Claim is what the thread has taken: a turn to step, or a command that had to wait for the turn's boundary.
type Claim struct {
	Turn    int64
	Command Queued
}
