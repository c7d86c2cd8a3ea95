package turn

import (
	"slices"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// Queued is an inbox row that no turn has claimed.
type Queued struct {
	Seq int64
	In  event.In
}

// Joins reports whether a queued row enters a running turn before its next model request. Only a chat message of the same
// session and trust joins; every other row opens a turn of its own. Nothing joins the turn of a trigger, because its answer goes
// to the address that the trigger names, nor a turn with a trigger's limits. A program at the endpoint gets an answer to each of its requests.
func Joins(t Turn, q Queued, now time.Time) bool {
	return q.In.Kind == event.Message && q.In.Session == t.Key && q.In.Trust == t.Asker && q.In.Source != event.Endpoint && t.Fire == 0 && !t.Limited() && !q.In.NotBefore.After(now)
}

// Item makes the transcript item of an inbox row that enters a turn. owners are the owner's addresses.
func Item(t Turn, q Queued, zone string, owners []event.Address) llm.Item {
	return llm.Item{
		Session: t.Session, Turn: t.ID, Role: llm.User, Kind: llm.Input, Parts: q.In.Parts,
		Trust: q.In.Trust.Of(q.In.Tainted), Source: q.In.Source,
		Envelope: &llm.Envelope{
			Source: q.In.Source, Sender: q.In.Sender, At: q.In.Received, Zone: zone,
			Trust: q.In.Trust, Kind: q.In.Kind, Typed: q.In.Typed,
			OwnerInGroup: q.In.Trust == event.Known && q.In.Origin.Person != "" && slices.Contains(owners, event.Address(q.In.Source+":"+q.In.Origin.Person)),
		},
	}
}

// Claim is what Queue.Take claimed: a turn to step, or a command that takes effect between two turns.
type Claim struct {
	Turn     int64
	Command  Queued
	Opening  *Opening // the rows of a new turn; nil for one that continues
	Reserved Step     // the first model request, whose cost the claim has reserved; N 0: nothing is reserved
}

// Part is a part of a session's transcript.
type Part int

// The parts. A turn that asks no model needs only its own items, and the built-in interpreter only the newest turns, so that neither reads more as
// a conversation grows. The whole transcript is bounded by compaction.
const (
	OwnItems Part = iota + 1
	RecentTurns
	AllItems
)

// Opening holds the rows that the first model request of a new turn is made of.
type Opening struct {
	Snapshot   Snapshot   // without Limits
	Transcript []llm.Item // Part of the session's, oldest first; shared, so nobody may change it
	Part       Part
	Prefixed   bool // the session has a stored prefix
	Prefix     Prefix
	Shown      []Section // of the system text, as the session was shown them last; nil: unknown
}
