package tasks_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hob/daemon/event"
	"hob/tools/tasks"
)

// backlogModel plays the store and the thread over the rules: it writes steps down, keeps the inbox rows, and lets turns end in any order.
type backlogModel struct {
	b     tasks.Backlog
	queue map[string]int64 // inbox rows that can run, by ext_id
	seen  map[string]bool  // all ext_ids that ever were
	ran   map[string]int   // how often each has run
	next  int64
}

// write applies a step, and checks what it hands over.
func (w *backlogModel) write(t *rapid.T, s tasks.Step) {
	for _, task := range s.Tasks {
		w.b[task.ID] = task
	}
	for _, ext := range s.Withdrawn {
		if _, there := w.queue[ext]; !there {
			t.Fatalf("%s is withdrawn and was not queued", ext)
		}
		delete(w.queue, ext)
	}
	for _, in := range s.Inputs {
		if w.seen[in.ExtID] {
			t.Fatalf("%s enters the inbox twice", in.ExtID)
		}
		w.seen[in.ExtID] = true
		var id int64
		var attempt int
		if n, err := fmt.Sscanf(in.ExtID, "%d/%d", &id, &attempt); n != 2 || err != nil {
			t.Fatalf("ext_id %q", in.ExtID)
		}
		for _, blocker := range w.b[id].BlockedBy {
			if w.b[blocker].State != tasks.Done {
				t.Fatalf("task %d runs before %d, which is %s", id, blocker, w.b[blocker].State)
			}
		}
		w.queue[in.ExtID] = id
	}
}

// pick draws one of the keys of a map in a stable order.
func pick[K string | int64, V any](t *rapid.T, m map[K]V, label string) (K, bool) {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if len(keys) == 0 {
		var none K
		return none, false
	}
	return rapid.SampledFrom(keys).Draw(t, label), true
}

func (w *backlogModel) blockers(t *rapid.T) []int64 {
	var list []int64
	for range rapid.IntRange(0, 3).Draw(t, "blockers") {
		if id, ok := pick(t, w.b, "blocker"); ok && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// check is what holds after every step: every task is in exactly one place, and none is forgotten.
func (w *backlogModel) check(t *rapid.T) {
	for _, task := range w.b {
		_, queued := w.queue[task.ExtID()]
		switch {
		case (task.State == tasks.Queued) != queued:
			t.Fatalf("task %d is %s, and queued is %v", task.ID, task.State, queued)
		case task.State == tasks.Blocked && w.b.Ready(task):
			t.Fatalf("task %d is forgotten: nothing blocks it", task.ID)
		case w.b.Cycle(task.ID, task.BlockedBy) != nil:
			t.Fatalf("task %d waits for itself", task.ID)
		}
	}
}

// Any order of adding, changing, running and ending: no task runs before those that it waits for, none runs twice, none is forgotten.
func TestAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &backlogModel{b: tasks.Backlog{}, queue: map[string]int64{}, seen: map[string]bool{}, ran: map[string]int{}}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				w.next++
				s, err := w.b.Add(tasks.Task{ID: w.next, Title: "x", Trust: event.Owner, BlockedBy: w.blockers(t), Priority: rapid.IntRange(-2, 2).Draw(t, "priority")})
				if err != nil {
					t.Fatalf("add: %v", err)
				}
				w.write(t, s)
			},
			"run": func(t *rapid.T) {
				ext, ok := pick(t, w.queue, "row")
				if !ok {
					t.Skip("nothing is queued")
				}
				task := w.b[w.queue[ext]]
				task.State = tasks.Running
				w.b[task.ID] = task
				delete(w.queue, ext)
				if w.ran[ext]++; w.ran[ext] > 1 {
					t.Fatalf("%s runs twice", ext)
				}
			},
			"end": func(t *rapid.T) {
				running := map[int64]bool{}
				for id, task := range w.b {
					if task.State == tasks.Running {
						running[id] = true
					}
				}
				id, ok := pick(t, running, "turn")
				if !ok {
					t.Skip("nothing runs")
				}
				how := rapid.SampledFrom([]tasks.State{tasks.Done, tasks.Done, tasks.Failed, tasks.Cancelled}).Draw(t, "how")
				w.write(t, w.b.End(id, tasks.Outcome{ExtID: w.b[id].ExtID(), State: how, At: noon}))
			},
			"change": func(t *rapid.T) {
				id, ok := pick(t, w.b, "task")
				if !ok {
					t.Skip("there are no tasks")
				}
				r := tasks.Revision{ID: id, Trust: event.Owner, State: rapid.SampledFrom([]tasks.State{"", "", tasks.Blocked, tasks.Cancelled}).Draw(t, "state")}
				if rapid.Bool().Draw(t, "blocked by others") {
					r.BlockedBy = ptr(w.blockers(t))
				}
				if s, err := w.b.Revise(r, noon); err == nil {
					w.write(t, s)
				}
			},
			"": w.check,
		})
		w.finish(t)
	})
}

// finish runs all that is left well, and cancelled tasks again: in the end everything is done.
func (w *backlogModel) finish(t *rapid.T) {
	for range 10 * (len(w.b) + 1) {
		for id, task := range w.b {
			switch task.State {
			case tasks.Failed, tasks.Cancelled:
				s, err := w.b.Revise(tasks.Revision{ID: id, Trust: event.Owner, State: tasks.Blocked}, noon)
				if err != nil {
					t.Fatalf("retry: %v", err)
				}
				w.write(t, s)
			case tasks.Queued, tasks.Running:
				delete(w.queue, task.ExtID())
				w.write(t, w.b.End(id, tasks.Outcome{ExtID: task.ExtID(), State: tasks.Done, At: noon}))
			}
			w.check(t)
		}
	}
	for id, task := range w.b {
		if task.State != tasks.Done {
			t.Fatalf("task %d is left %s", id, task.State)
		}
	}
}
