package tasks_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/tools/tasks"
)

func TestTodos(t *testing.T) {
	entry := func(s tasks.Progress) tasks.Todo { return tasks.Todo{Content: "x", Status: s} }
	for name, c := range map[string]struct {
		list []tasks.Todo
		want string // in the fault, "" for none
	}{
		"none":        {nil, ""},
		"one at work": {[]tasks.Todo{entry(tasks.Pending), entry(tasks.InProgress), entry(tasks.Completed)}, ""},
		"two at work": {[]tasks.Todo{entry(tasks.InProgress), entry(tasks.InProgress)}, "2 are in_progress, at most one"},
		"no words":    {[]tasks.Todo{entry(tasks.Pending), {Content: "  ", Status: tasks.Pending}}, "todos[1].content"},
		"too many":    {make100(101), "101 entries, at most 100"},
		"just enough": {make100(100), ""},
	} {
		err := tasks.CheckTodos(c.list)
		f, ok := event.AsFault(err)
		switch {
		case c.want == "" && err != nil, c.want != "" && !ok:
			t.Errorf("%s: %v", name, err)
		case ok && (!strings.Contains(f.Text, c.want) || f.Kind != event.Invalid):
			t.Errorf("%s: %s (%s), want %q", name, f.Text, f.Kind, c.want)
		}
	}
}

func make100(n int) []tasks.Todo {
	list := make([]tasks.Todo, n)
	for i := range list {
		list[i] = tasks.Todo{Content: "x", Status: tasks.Pending}
	}
	return list
}

func TestTally(t *testing.T) {
	got := tasks.Count([]tasks.Todo{
		{Content: "a", Status: tasks.Completed}, {Content: "b", Status: tasks.InProgress, ActiveForm: "doing b"}, {Content: "c", Status: tasks.Pending},
	})
	if want := (tasks.Tally{Doing: "doing b", Done: 1, Total: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := tasks.Count([]tasks.Todo{{Content: "b", Status: tasks.InProgress}}); got.Doing != "b" {
		t.Errorf("without activeForm: %q", got.Doing)
	}
}

// Free text never approves: it is what the owner wants otherwise.
func TestApproved(t *testing.T) {
	for said, want := range map[string]bool{
		"Approve": true, "approve": true, " approved. ": true, "yes": true, "1": true,
		"Keep planning": false, "2": false, "no": false, "": false, "approve, but not the second step": false, "yes?": false, "11": false,
	} {
		if got := tasks.Approved(said); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}
