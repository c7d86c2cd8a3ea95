package work_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/work"
)

func TestTodos(t *testing.T) {
	entry := func(s work.Progress) work.Todo { return work.Todo{Content: "x", Status: s} }
	for name, c := range map[string]struct {
		list []work.Todo
		want string // in the fault, "" for none
	}{
		"none":        {nil, ""},
		"one at work": {[]work.Todo{entry(work.Pending), entry(work.InProgress), entry(work.Completed)}, ""},
		"two at work": {[]work.Todo{entry(work.InProgress), entry(work.InProgress)}, "2 are in_progress, at most one"},
		"no words":    {[]work.Todo{entry(work.Pending), {Content: "  ", Status: work.Pending}}, "todos[1].content"},
		"too many":    {make100(101), "101 entries, at most 100"},
		"just enough": {make100(100), ""},
	} {
		err := work.CheckTodos(c.list)
		f, ok := event.AsFault(err)
		switch {
		case c.want == "" && err != nil, c.want != "" && !ok:
			t.Errorf("%s: %v", name, err)
		case ok && (!strings.Contains(f.Text, c.want) || f.Kind != event.Invalid):
			t.Errorf("%s: %s (%s), want %q", name, f.Text, f.Kind, c.want)
		}
	}
}

func make100(n int) []work.Todo {
	list := make([]work.Todo, n)
	for i := range list {
		list[i] = work.Todo{Content: "x", Status: work.Pending}
	}
	return list
}

func TestTally(t *testing.T) {
	got := work.Count([]work.Todo{
		{Content: "a", Status: work.Completed}, {Content: "b", Status: work.InProgress, ActiveForm: "doing b"}, {Content: "c", Status: work.Pending},
	})
	if want := (work.Tally{Doing: "doing b", Done: 1, Total: 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := work.Count([]work.Todo{{Content: "b", Status: work.InProgress}}); got.Doing != "b" {
		t.Errorf("without activeForm: %q", got.Doing)
	}
}

// Free text never approves: it is what the owner wants otherwise.
func TestApproved(t *testing.T) {
	for said, want := range map[string]bool{
		"Approve": true, "approve": true, " approved. ": true, "yes": true, "1": true,
		"Keep planning": false, "2": false, "no": false, "": false, "approve, but not the second step": false, "yes?": false, "11": false,
	} {
		if got := work.Approved(said); got != want {
			t.Errorf("%q: %v", said, got)
		}
	}
}
