package tasks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/daemon/text"
)

// State is the state of a task.
type State string

// The states of tasks. Held comes from the task's inbox row, Running and Parked from its turn; the row of such a task says Queued.
const (
	Blocked   State = "blocked"   // it waits for other tasks
	Queued    State = "queued"    // it is in the inbox and runs at its time
	Held      State = "held"      // a restore holds its inbox row, because it may have run since the backup; the owner decides
	Running   State = "running"   // its turn is running
	Parked    State = "parked"    // its turn waits for something
	Done      State = "done"      // it succeeded
	Failed    State = "failed"    // it failed
	Cancelled State = "cancelled" // it was cancelled
)

// Over reports whether a task in this state has ended.
func (s State) Over() bool { return s == Done || s == Failed || s == Cancelled }

// Active reports whether a turn is working on the task.
func (s State) Active() bool { return s == Running || s == Parked }

// Task is one row of the backlog.
type Task struct {
	ID        int64         `json:"id" jsonschema:"number"`
	Title     string        `json:"title" jsonschema:"a few words"`
	Prompt    string        `json:"prompt" jsonschema:"what hob is told"`
	State     State         `json:"state" jsonschema:"blocked, queued, held, running, parked, done, failed, cancelled"`
	BlockedBy []int64       `json:"blocked_by,omitzero" jsonschema:"the tasks it waits for"`
	NotBefore time.Time     `json:"not_before,omitzero" jsonschema:"it does not run before"`
	Priority  int           `json:"priority" jsonschema:"the higher runs first"`
	Attempt   int           `json:"attempt" jsonschema:"how often it was put into the inbox"`
	Trust     event.Trust   `json:"trust" jsonschema:"who added it"`
	Tainted   bool          `json:"tainted,omitempty" jsonschema:"foreign text has a part in it or in its result"`
	Typed     bool          `json:"typed,omitempty" jsonschema:"the owner typed the prompt"`
	Plain     bool          `json:"plain,omitempty" jsonschema:"it asks no model: the built-in interpreter runs it"`
	ReplyTo   event.Address `json:"reply_to,omitempty" jsonschema:"where it answers"`
	Result    string        `json:"result,omitempty" jsonschema:"its summary, or why it failed"`
	Turn      int64         `json:"turn,omitempty" jsonschema:"the turn that runs or ran it"`
	Created   time.Time     `json:"created" jsonschema:"when it was added"`
	Ended     time.Time     `json:"ended,omitzero" jsonschema:"when it ended"`
}

// prompt returns what the task tells hob: the prompt, or else the title.
func (t Task) prompt() string { return cmp.Or(strings.TrimSpace(t.Prompt), strings.TrimSpace(t.Title)) }

// Key returns the key of the session that a task runs in.
func (t Task) Key() string { return fmt.Sprintf("task:%d", t.ID) }

// ExtID returns the ext_id of the inbox row of the newest attempt.
func (t Task) ExtID() string { return fmt.Sprintf("%d/%d", t.ID, t.Attempt) }

// Name formats a task for people: its number and its title.
func (t Task) Name() string { return fmt.Sprintf("task %d (%s)", t.ID, t.Title) }

// Backlog maps numbers to tasks: all that have not ended, and those that they wait for.
type Backlog map[int64]Task

// Ready reports whether all tasks that a task waits for are done.
func (b Backlog) Ready(t Task) bool {
	return !slices.ContainsFunc(t.BlockedBy, func(id int64) bool { return b[id].State != Done })
}

// Cycle returns a chain of tasks by which a task would wait for itself if it had the given blockers. The chain begins and ends with the
// task; nil: there is none.
func (b Backlog) Cycle(id int64, blockers []int64) []int64 {
	seen := map[int64]bool{}
	var walk func(way, next []int64) []int64
	walk = func(way, next []int64) []int64 {
		for _, n := range next {
			if n == id {
				return append(way, n)
			}
			if seen[n] {
				continue
			}
			seen[n] = true
			if round := walk(append(slices.Clone(way), n), b[n].BlockedBy); round != nil {
				return round
			}
		}
		return nil
	}
	return walk([]int64{id}, blockers)
}

// Waiting lists the blocked tasks that wait for a task, the most important first.
func (b Backlog) Waiting(id int64) []Task {
	var list []Task
	for _, t := range b {
		if t.State == Blocked && slices.Contains(t.BlockedBy, id) {
			list = append(list, t)
		}
	}
	return Sorted(list)
}

// Sorted orders tasks as they run: by priority, then the older first.
func Sorted(list []Task) []Task {
	slices.SortFunc(list, func(a, b Task) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// handedOver is the longest summary, in runes, that a task gets from a task that it waited for.
const handedOver = 2000

// input returns the inbox row that runs a task. The results of its blockers follow the prompt. A reminder ("say: …") gets none, because
// its text is sent unchanged.
func (b Backlog) input(t Task) event.In {
	in := event.In{
		Source: Source, ExtID: t.ExtID(), Session: t.Key(), Kind: event.Fire, Rank: event.RankSchedule, Trust: t.Trust, ReplyTo: t.ReplyTo,
		Typed: t.Typed, Tainted: t.Tainted, Parts: event.Say(t.Prompt), NotBefore: t.NotBefore,
	}
	if len(t.BlockedBy) == 0 || strings.HasPrefix(t.Prompt, "say:") {
		return in
	}
	text := "[hob] Results of the tasks that this task waited for:"
	for _, id := range t.BlockedBy {
		text += "\n- " + b[id].Name() + ": " + shortened(b[id].Result)
	}
	in.Parts = append(in.Parts, event.Say(text)...)
	return in
}

// shortened cuts the summary of a blocker, which becomes part of the prompt of the next task.
func shortened(summary string) string {
	return text.Shorten(cmp.Or(summary, "done, without a summary"), handedOver)
}

// hasForeignText reports whether foreign text reaches a task's turn, through the task itself or through a blocker's summary.
func (b Backlog) hasForeignText(t Task) bool {
	return t.Tainted || slices.ContainsFunc(t.BlockedBy, func(id int64) bool { return b[id].Tainted })
}
