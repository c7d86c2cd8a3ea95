package tasks

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/event"
)

// The limits of a task.
const (
	MostBlockers = 50
	MostPriority = 100 // largest absolute value
	MostTitle    = 200 // runes
)

// Step is the result of a change to the backlog. The store commits all of it at once.
type Step struct {
	Tasks     []Task     // rows to write
	Inputs    []event.In // inbox rows for the tasks that became ready
	Withdrawn []string   // ext_ids of inbox rows that must not run any more
	Ended     *Task      // the task that has ended; nil: none
	Notice    string     // for the owner; "": none
}

// Add returns the step that adds a new task to the backlog.
func (b Backlog) Add(t Task) (Step, error) {
	t.Title, t.Prompt = strings.TrimSpace(t.Title), strings.TrimSpace(t.Prompt)
	switch {
	case t.Title == "" && t.Prompt == "":
		return Step{}, event.NewFault(event.Invalid, "a title, a prompt or both", "the task has neither a title nor a prompt")
	case t.Prompt == "":
		t.Prompt = t.Title
	case t.Title == "":
		t.Title, _, _ = strings.Cut(t.Prompt, "\n")
	}
	t.Title = Headline(t.Title)
	var s Step
	return s, b.settle(&s, &t)
}

// Headline turns a text into a title: one line of at most MostTitle runes.
func Headline(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > MostTitle {
		return string(r[:MostTitle-1]) + "…"
	}
	return text
}

// settle checks an open task and queues it if nothing blocks it.
func (b Backlog) settle(s *Step, t *Task) error {
	if err := b.check(*t); err != nil {
		return err
	}
	t.State, t.Ended, t.Result, t.Turn = Blocked, time.Time{}, "", 0
	b.release(s, *t)
	return nil
}

// release adds a task to the step, and queues it in the inbox if it is ready.
func (b Backlog) release(s *Step, t Task) {
	if b.Ready(t) {
		t.State, t.Tainted = Queued, b.hasForeignText(t)
		t.Attempt++
		s.Inputs = append(s.Inputs, b.input(t))
	}
	s.Tasks = append(s.Tasks, t)
}

// check rejects impossible blockers, numbers out of range, and a prompt that would send an empty message.
func (b Backlog) check(t Task) error {
	if text, says := strings.CutPrefix(t.Prompt, "say:"); says && strings.TrimSpace(text) == "" {
		return event.NewFault(event.Invalid, "for example: say: the oven is hot", "prompt: there is no text after say: to send")
	}
	if len(t.BlockedBy) > MostBlockers {
		return event.NewFault(event.Invalid, "", "blocked_by: %d tasks, at most %d", len(t.BlockedBy), MostBlockers)
	}
	if t.Priority > MostPriority || t.Priority < -MostPriority {
		return event.NewFault(event.Invalid, "", "priority: %d is not between -%d and %d", t.Priority, MostPriority, MostPriority)
	}
	for i, id := range t.BlockedBy {
		if _, there := b[id]; !there && id != t.ID {
			return event.NewFault(event.Missing, "task_list shows them", "blocked_by: there is no task %d", id)
		}
		if slices.Contains(t.BlockedBy[:i], id) {
			return event.NewFault(event.Invalid, "", "blocked_by: task %d is listed twice", id)
		}
	}
	if round := b.Cycle(t.ID, t.BlockedBy); round != nil {
		return event.NewFault(event.Clash, "leave one of them out of blocked_by", "the task would wait for itself: %s", arrows(round))
	}
	return nil
}

// arrows words a circle of tasks for the error.
func arrows(ids []int64) string {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = fmt.Sprint(id)
	}
	return strings.Join(words, " waits for ")
}

// Revise returns the step that changes a task.
func (b Backlog) Revise(r Revision, now time.Time) (Step, error) {
	t, there := b[r.ID]
	if !there {
		return Step{}, event.NewFault(event.Missing, "task_list shows them", "there is no task %d", r.ID)
	}
	if err := changeable(t, r); err != nil {
		return Step{}, err
	}
	var s Step
	if t.State == Queued || t.State == Held { // the row in the inbox is outdated; the next attempt gets a new row
		s.Withdrawn = []string{t.ExtID()}
	}
	if r.State == Cancelled {
		t.State, t.Ended = Cancelled, now
		s.Tasks, s.Ended = []Task{t}, &t
		return s, nil
	}
	r.apply(&t)
	return s, b.settle(&s, &t)
}

// changeable rejects changes of a task that is running or has ended.
func changeable(t Task, r Revision) error {
	switch {
	case t.State.Active():
		return event.NewFault(event.Clash, fmt.Sprintf("hob turns stop %d ends it", t.Turn), "task %d is %s: it cannot be changed now", t.ID, t.State)
	case t.State == Done:
		return event.NewFault(event.Clash, "add a new task", "task %d is done", t.ID)
	case t.State == Cancelled && r.State == Cancelled:
		return event.NewFault(event.Clash, "", "task %d is cancelled already", t.ID)
	case t.State.Over() && r.State == "":
		return event.NewFault(event.Clash, `state "blocked" makes it run again`, "task %d has %s", t.ID, map[State]string{Failed: "failed", Cancelled: "been cancelled"}[t.State])
	}
	return nil
}

// apply copies the changes into a task. After a change by someone other than the owner, the task no longer counts as the owner's.
func (r Revision) apply(t *Task) {
	if r.Title != nil && strings.TrimSpace(*r.Title) != "" {
		t.Title = Headline(*r.Title)
	}
	if r.Prompt != nil && strings.TrimSpace(*r.Prompt) != "" {
		t.Prompt, t.Typed = strings.TrimSpace(*r.Prompt), r.Typed
	}
	if r.Plain != nil {
		t.Plain = *r.Plain
	}
	if r.BlockedBy != nil {
		t.BlockedBy = *r.BlockedBy
	}
	if r.NotBefore != nil {
		t.NotBefore = *r.NotBefore
	}
	if r.Priority != nil {
		t.Priority = *r.Priority
	}
	if r.Trust != event.Owner {
		t.Trust, t.Typed = r.Trust, false
	}
	t.Tainted = t.Tainted || r.Tainted
}

// Outcome is the result of an attempt at a task.
type Outcome struct {
	ExtID   string // of the inbox row that ran
	State   State  // Done, Failed or Cancelled
	Text    string // the summary, or the reason of the failure
	Turn    int64
	Tainted bool // the turn had read foreign text
	At      time.Time
}

// End returns the step at the end of a task's turn. Tasks that waited only for this one become ready; if it failed, the owner gets a
// notice about the tasks that stay blocked. An outdated attempt, or a task that has already ended, changes nothing.
func (b Backlog) End(id int64, o Outcome) Step {
	t, there := b[id]
	if !there || t.State.Over() || t.ExtID() != o.ExtID {
		return Step{}
	}
	t.State, t.Result, t.Turn, t.Ended, t.Tainted = o.State, o.Text, o.Turn, o.At, t.Tainted || o.Tainted
	s := Step{Tasks: []Task{t}, Ended: &t}
	after := Backlog{}
	for n, other := range b {
		after[n] = other
	}
	after[id] = t
	waiting := after.Waiting(id)
	if t.State != Done {
		s.Notice = stuck(t, waiting)
		return s
	}
	for _, next := range waiting {
		if after.Ready(next) {
			after.release(&s, next)
		}
	}
	return s
}

// stuck returns the notice about the tasks that a failed task keeps blocked; "": there are none.
func stuck(t Task, waiting []Task) string {
	if len(waiting) == 0 {
		return ""
	}
	names := make([]string, len(waiting))
	for i, w := range waiting {
		names[i] = w.Name()
	}
	name := t.Name()
	text := fmt.Sprintf("%s is %s", strings.ToUpper(name[:1])+name[1:], t.State)
	if t.Result != "" {
		text += ": " + t.Result
	}
	return fmt.Sprintf("%s. Blocked by it: %s. hob tasks retry %d runs it once more.", strings.TrimRight(text, "."), strings.Join(names, ", "), t.ID)
}
