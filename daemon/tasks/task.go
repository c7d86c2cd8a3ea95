package tasks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
)

// State is how far a task has come.
type State string

// The states of tasks. Running and Parked are told by the task's turn; the row of such a task says Queued.
const (
	Blocked   State = "blocked"   // it waits for other tasks
	Queued    State = "queued"    // it is in the inbox: it runs when its time and its turn have come
	Running   State = "running"   // its turn runs
	Parked    State = "parked"    // its turn waits for something
	Done      State = "done"      // it came to a good end
	Failed    State = "failed"    // it did not
	Cancelled State = "cancelled" // nobody wants it any more
)

// Over reports whether a task in this state has ended.
func (s State) Over() bool { return s == Done || s == Failed || s == Cancelled }

// Active reports whether a turn has the task in hand.
func (s State) Active() bool { return s == Running || s == Parked }

// Task is one row of the backlog.
type Task struct {
	ID        int64         `json:"id" jsonschema:"number"`
	Title     string        `json:"title" jsonschema:"a few words"`
	Prompt    string        `json:"prompt" jsonschema:"what hob is told"`
	State     State         `json:"state" jsonschema:"blocked, queued, running, parked, done, failed, cancelled"`
	BlockedBy []int64       `json:"blocked_by,omitzero" jsonschema:"the tasks it waits for"`
	NotBefore time.Time     `json:"not_before,omitzero" jsonschema:"it does not run before"`
	Priority  int           `json:"priority" jsonschema:"the higher runs first"`
	Attempt   int           `json:"attempt" jsonschema:"how often it was put into the inbox"`
	Trust     event.Trust   `json:"trust" jsonschema:"who added it"`
	Tainted   bool          `json:"tainted,omitempty" jsonschema:"foreign text has a part in it or in its result"`
	Typed     bool          `json:"typed,omitempty" jsonschema:"the owner typed the prompt"`
	ReplyTo   event.Address `json:"reply_to,omitempty" jsonschema:"where it answers"`
	Result    string        `json:"result,omitempty" jsonschema:"its summary, or why it failed"`
	Turn      int64         `json:"turn,omitempty" jsonschema:"the turn that runs or ran it"`
	Created   time.Time     `json:"created" jsonschema:"when it was added"`
	Ended     time.Time     `json:"ended,omitzero" jsonschema:"when it ended"`
}

// Key is the key of the session that a task runs in.
func (t Task) Key() string { return fmt.Sprintf("task:%d", t.ID) }

// ExtID names the inbox row of the task's newest attempt.
func (t Task) ExtID() string { return fmt.Sprintf("%d/%d", t.ID, t.Attempt) }

// Name is how a task is told to people: its number and its title.
func (t Task) Name() string { return fmt.Sprintf("task %d (%s)", t.ID, t.Title) }

// Backlog is tasks by their numbers: all that have not ended, and those that they wait for.
type Backlog map[int64]Task

// Ready reports whether nothing blocks a task: all that it waits for is done.
func (b Backlog) Ready(t Task) bool {
	return !slices.ContainsFunc(t.BlockedBy, func(id int64) bool { return b[id].State != Done })
}

// Cycle is a way round by which a task would wait for itself if it waited for the given ones: it begins and ends with the task;
// nil when there is none.
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

// Waiting are the tasks that wait for one and have not begun, the most important first.
func (b Backlog) Waiting(id int64) []Task {
	var list []Task
	for _, t := range b {
		if t.State == Blocked && slices.Contains(t.BlockedBy, id) {
			list = append(list, t)
		}
	}
	return Sorted(list)
}

// Sorted orders tasks as they run: by priority, the older first.
func Sorted(list []Task) []Task {
	slices.SortFunc(list, func(a, b Task) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// The longest summary of a task that is handed to those that waited for it, in runes.
const handedOver = 2000

// input is the inbox row that runs a task. What it waited for is handed in behind the prompt; a reminder ("say: …") is told as it is.
func (b Backlog) input(t Task) event.In {
	in := event.In{
		Source: Source, ExtID: t.ExtID(), Session: t.Key(), Kind: event.Fire, Rank: event.RankSchedule, Trust: t.Trust, ReplyTo: t.ReplyTo,
		Typed: t.Typed, Tainted: t.Tainted, Parts: event.Say(t.Prompt), NotBefore: t.NotBefore,
	}
	if len(t.BlockedBy) == 0 || strings.HasPrefix(t.Prompt, "say:") {
		return in
	}
	text := "[hob] What this task waited for has come to:"
	for _, id := range t.BlockedBy {
		text += "\n- " + b[id].Name() + ": " + shortened(b[id].Result)
	}
	in.Parts = append(in.Parts, event.Say(text)...)
	return in
}

func shortened(text string) string {
	if text == "" {
		return "done, without a word"
	}
	if r := []rune(text); len(r) > handedOver {
		return string(r[:handedOver]) + "…"
	}
	return text
}

// soiled reports whether foreign text would reach a task's turn: with the task itself, or with a summary that is handed in.
func (b Backlog) soiled(t Task) bool {
	return t.Tainted || slices.ContainsFunc(t.BlockedBy, func(id int64) bool { return b[id].Tainted })
}
