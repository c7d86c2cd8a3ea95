package tasks_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/tools/tasks"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func task(id int64, state tasks.State, blockers ...int64) tasks.Task {
	t := tasks.Task{ID: id, Title: fmt.Sprint("t", id), Prompt: "do it", State: state, BlockedBy: blockers, Trust: event.Owner, ReplyTo: "chat:1"}
	if state != tasks.Blocked && state != "" {
		t.Attempt = 1
	}
	return t
}

func backlog(list ...tasks.Task) tasks.Backlog {
	b := tasks.Backlog{}
	for _, t := range list {
		b[t.ID] = t
	}
	return b
}

func TestCycle(t *testing.T) {
	b := backlog(task(1, tasks.Queued), task(2, tasks.Blocked, 1), task(3, tasks.Blocked, 2, 1), task(4, tasks.Blocked, 3))
	for _, c := range []struct {
		id       int64
		blockers []int64
		want     []int64
	}{
		{1, nil, nil},
		{1, []int64{1}, []int64{1, 1}},
		{1, []int64{2}, []int64{1, 2, 1}},
		{1, []int64{4}, []int64{1, 4, 3, 2, 1}},
		{2, []int64{1}, nil},
		{4, []int64{1, 2, 3}, nil},
		{2, []int64{1, 4}, []int64{2, 4, 3, 2}},
		{5, []int64{1, 2, 3, 4}, nil},
	} {
		if got := b.Cycle(c.id, c.blockers); !slices.Equal(got, c.want) {
			t.Errorf("%d by %v: %v, want %v", c.id, c.blockers, got, c.want)
		}
	}
}

// fault is the text of a fault of one kind.
func fault(t *testing.T, err error, kind event.FaultKind, want string) {
	t.Helper()
	f, ok := event.AsFault(err)
	if !ok || f.Kind != kind || !strings.Contains(f.Text, want) {
		t.Errorf("%v, want a fault %s with %q", err, kind, want)
	}
}

func TestAdd(t *testing.T) {
	b := backlog(task(1, tasks.Done), task(2, tasks.Running), task(3, tasks.Failed))
	for name, c := range map[string]struct {
		task tasks.Task
		want tasks.State
	}{
		"free":                       {task(9, ""), tasks.Queued},
		"after one that is done":     {task(9, "", 1), tasks.Queued},
		"after one that runs":        {task(9, "", 1, 2), tasks.Blocked},
		"after one that failed":      {task(9, "", 3), tasks.Blocked},
		"as important as can be":     {tasks.Task{ID: 9, Title: "a", Priority: 100}, tasks.Queued},
		"with neither time nor rank": {tasks.Task{ID: 9, Prompt: "a"}, tasks.Queued},
	} {
		s, err := b.Add(c.task)
		if err != nil || len(s.Tasks) != 1 || s.Tasks[0].State != c.want || (len(s.Inputs) == 1) != (c.want == tasks.Queued) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	for _, c := range []struct {
		task tasks.Task
		kind event.FaultKind
		want string
	}{
		{tasks.Task{ID: 9, Title: " ", Prompt: "\n"}, event.Invalid, "neither a title nor a prompt"},
		{tasks.Task{ID: 9, Title: "a", Prompt: "say: \n"}, event.Invalid, "no text after say:"},
		{tasks.Task{ID: 9, Title: "say:"}, event.Invalid, "no text after say:"},
		{task(9, "", 7), event.Missing, "no task 7"},
		{task(9, "", 1, 2, 1), event.Invalid, "task 1 is listed twice"},
		{task(9, "", 9), event.Clash, "9 waits for 9"},
		{tasks.Task{ID: 9, Title: "a", Priority: 101}, event.Invalid, "101"},
		{tasks.Task{ID: 9, Title: "a", Priority: -101}, event.Invalid, "-101"},
		{tasks.Task{ID: 9, Title: "a", BlockedBy: make([]int64, 51)}, event.Invalid, "51 tasks, at most 50"},
	} {
		_, err := b.Add(c.task)
		fault(t, err, c.kind, c.want)
	}
}

func TestAddFillsIn(t *testing.T) {
	s, err := tasks.Backlog{}.Add(tasks.Task{ID: 1, Prompt: "  Sort\tthe photos\nby month  "})
	if err != nil || s.Tasks[0].Title != "Sort the photos" || s.Tasks[0].Prompt != "Sort\tthe photos\nby month" {
		t.Errorf("%+v, %v", s.Tasks, err)
	}
	s, err = tasks.Backlog{}.Add(tasks.Task{ID: 1, Title: strings.Repeat("ä", 300)})
	if err != nil || len([]rune(s.Tasks[0].Title)) != tasks.MostTitle || len([]rune(s.Tasks[0].Prompt)) != 300 {
		t.Errorf("%+v, %v", s.Tasks, err)
	}
}

// What runs a task: who added it, where it answers, when, and what it waited for behind the prompt.
func TestInput(t *testing.T) {
	one, two := task(1, tasks.Done), task(2, tasks.Done)
	one.Result, two.Tainted = "it is in a.md", true
	add := task(9, "", 1, 2)
	add.Trust, add.Typed, add.NotBefore, add.ReplyTo = event.Known, true, noon, "chat:7"
	s, err := backlog(one, two).Add(add)
	if err != nil {
		t.Fatal(err)
	}
	in := s.Inputs[0]
	if in.Source != "task" || in.ExtID != "9/1" || in.Session != "task:9" || in.Kind != event.Fire || in.Rank != event.RankSchedule ||
		in.Trust != event.Known || in.ReplyTo != "chat:7" || !in.Typed || !in.NotBefore.Equal(noon) {
		t.Errorf("%+v", in)
	}
	if !in.Tainted || !s.Tasks[0].Tainted {
		t.Error("a tainted summary did not taint the task that it is handed to")
	}
	if len(in.Parts) != 2 || in.Parts[0].Text != "do it" {
		t.Fatalf("parts: %+v", in.Parts)
	}
	for _, want := range []string{"task 1 (t1): it is in a.md", "task 2 (t2): done, without a summary"} {
		if !strings.Contains(in.Parts[1].Text, want) {
			t.Errorf("%q is not in %q", want, in.Parts[1].Text)
		}
	}
	one.Result = strings.Repeat("ü", 5000)
	s, err = backlog(one).Add(task(9, "", 1))
	if err != nil || strings.Count(s.Inputs[0].Parts[1].Text, "ü") != 2000 || s.Inputs[0].Tainted {
		t.Errorf("a long summary: %d, %v, tainted %v", strings.Count(s.Inputs[0].Parts[1].Text, "ü"), err, s.Inputs[0].Tainted)
	}
	reminder := task(9, "", 1)
	reminder.Prompt = "say: tea"
	if s, err = backlog(one).Add(reminder); err != nil || event.TextOf(s.Inputs[0].Parts) != "say: tea" {
		t.Errorf("a reminder: %+v, %v", s.Inputs, err)
	}
}

func TestEnd(t *testing.T) {
	first, next, later := task(1, tasks.Running), task(2, tasks.Blocked, 1), task(3, tasks.Blocked, 1, 2)
	urgent := task(4, tasks.Blocked, 1)
	urgent.Priority = 5
	b := backlog(first, next, later, urgent)

	s := b.End(1, tasks.Outcome{ExtID: "1/1", State: tasks.Done, Text: "found it", Turn: 7, Tainted: true, At: noon})
	var ran []string
	for _, in := range s.Inputs {
		ran = append(ran, in.ExtID)
	}
	if !slices.Equal(ran, []string{"4/1", "2/1"}) {
		t.Errorf("ran %v, want the important one first and nothing that is still blocked", ran)
	}
	if e := s.Ended; e == nil || e.State != tasks.Done || e.Result != "found it" || e.Turn != 7 || !e.Ended.Equal(noon) || !e.Tainted || s.Notice != "" {
		t.Errorf("%+v, %q", s.Ended, s.Notice)
	}
	if !strings.Contains(s.Inputs[0].Parts[1].Text, "found it") || !s.Inputs[0].Tainted {
		t.Errorf("the summary is not handed in: %+v", s.Inputs[0])
	}

	s = b.End(1, tasks.Outcome{ExtID: "1/1", State: tasks.Failed, Text: "no network", At: noon})
	if len(s.Inputs) != 0 || len(s.Tasks) != 1 {
		t.Errorf("a failure let others run: %+v", s)
	}
	want := "Task 1 (t1) is failed: no network. Blocked by it: task 4 (t4), task 2 (t2), task 3 (t3). hob tasks retry 1 runs it once more."
	if s.Notice != want {
		t.Errorf("notice: %q\nwant    %q", s.Notice, want)
	}
	if s = backlog(first).End(1, tasks.Outcome{ExtID: "1/1", State: tasks.Failed}); s.Notice != "" {
		t.Errorf("nobody waits, and the turn has said that it failed; yet: %q", s.Notice)
	}
	for name, o := range map[string]tasks.Outcome{"an old attempt": {ExtID: "1/0", State: tasks.Done}, "another task": {ExtID: "5/1", State: tasks.Done}} {
		if s := b.End(1, o); len(s.Tasks) != 0 {
			t.Errorf("%s ended it: %+v", name, s)
		}
	}
	if s := backlog(task(1, tasks.Cancelled)).End(1, tasks.Outcome{ExtID: "1/1", State: tasks.Done}); len(s.Tasks) != 0 {
		t.Errorf("it ended twice: %+v", s)
	}
}

func ptr[T any](v T) *T { return &v }

func TestRevise(t *testing.T) {
	b := backlog(task(1, tasks.Queued), task(2, tasks.Blocked, 1), task(3, tasks.Running), task(4, tasks.Done), task(5, tasks.Failed), task(6, tasks.Cancelled))
	for name, c := range map[string]struct {
		r         tasks.Revision
		want      tasks.State
		attempt   int
		withdrawn []string
	}{
		"a new prompt replaces the queued row": {tasks.Revision{ID: 1, Prompt: ptr("else")}, tasks.Queued, 2, []string{"1/1"}},
		"a queued one waits after all":         {tasks.Revision{ID: 1, BlockedBy: &[]int64{3}}, tasks.Blocked, 1, []string{"1/1"}},
		"nothing blocks it any more":           {tasks.Revision{ID: 2, BlockedBy: &[]int64{}}, tasks.Queued, 1, nil},
		"it waits for what is done":            {tasks.Revision{ID: 2, BlockedBy: &[]int64{4}}, tasks.Queued, 1, nil},
		"a blocked one gets a title":           {tasks.Revision{ID: 2, Title: ptr("new")}, tasks.Blocked, 0, nil},
		"a queued one is cancelled":            {tasks.Revision{ID: 1, State: tasks.Cancelled}, tasks.Cancelled, 1, []string{"1/1"}},
		"a blocked one is cancelled":           {tasks.Revision{ID: 2, State: tasks.Cancelled}, tasks.Cancelled, 0, nil},
		"a failed one is cancelled":            {tasks.Revision{ID: 5, State: tasks.Cancelled}, tasks.Cancelled, 1, nil},
		"a failed one runs again":              {tasks.Revision{ID: 5, State: tasks.Blocked}, tasks.Queued, 2, nil},
		"a cancelled one runs again":           {tasks.Revision{ID: 6, State: tasks.Blocked, BlockedBy: &[]int64{3}}, tasks.Blocked, 1, nil},
	} {
		c.r.Trust = event.Owner
		s, err := b.Revise(c.r, noon)
		if err != nil || len(s.Tasks) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := s.Tasks[0]
		if got.State != c.want || got.Attempt != c.attempt || !slices.Equal(s.Withdrawn, c.withdrawn) || (len(s.Inputs) == 1) != (c.want == tasks.Queued) || got.State.Over() != !got.Ended.IsZero() {
			t.Errorf("%s: %+v, withdrawn %v", name, got, s.Withdrawn)
		}
	}
	for _, c := range []struct {
		r    tasks.Revision
		kind event.FaultKind
		want string
	}{
		{tasks.Revision{ID: 9}, event.Missing, "no task 9"},
		{tasks.Revision{ID: 3, Title: ptr("x")}, event.Clash, "task 3 is running"},
		{tasks.Revision{ID: 4, State: tasks.Blocked}, event.Clash, "task 4 is done"},
		{tasks.Revision{ID: 5, Priority: ptr(1)}, event.Clash, "task 5 has failed"},
		{tasks.Revision{ID: 6, State: tasks.Cancelled}, event.Clash, "cancelled already"},
		{tasks.Revision{ID: 1, BlockedBy: &[]int64{2}}, event.Clash, "1 waits for 2 waits for 1"},
		{tasks.Revision{ID: 1, BlockedBy: &[]int64{8}}, event.Missing, "no task 8"},
	} {
		_, err := b.Revise(c.r, noon)
		fault(t, err, c.kind, c.want)
	}
}

// A task that somebody else or a tainted turn has changed no longer counts as the owner's own.
func TestReviseTrust(t *testing.T) {
	mine := task(1, tasks.Blocked, 2)
	mine.Typed = true
	b := backlog(mine, task(2, tasks.Queued))
	change := func(r tasks.Revision) tasks.Task {
		t.Helper()
		r.ID = 1
		s, err := b.Revise(r, noon)
		if err != nil {
			t.Fatal(err)
		}
		return s.Tasks[0]
	}
	if got := change(tasks.Revision{Trust: event.Owner, Priority: ptr(3), NotBefore: ptr(noon)}); !got.Typed || got.Trust != event.Owner || got.Priority != 3 || !got.NotBefore.Equal(noon) {
		t.Errorf("the owner's change of the rank: %+v", got)
	}
	if got := change(tasks.Revision{Trust: event.Owner, Prompt: ptr("else")}); got.Typed || got.Prompt != "else" {
		t.Errorf("a model's prompt counts as typed: %+v", got)
	}
	if got := change(tasks.Revision{Trust: event.Machine, Title: ptr("x")}); got.Trust != event.Machine || got.Typed {
		t.Errorf("a machine's change: %+v", got)
	}
	if got := change(tasks.Revision{Trust: event.Owner, Tainted: true, Title: ptr("x")}); !got.Tainted {
		t.Errorf("a tainted turn's change: %+v", got)
	}
}
