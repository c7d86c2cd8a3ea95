package work_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/work"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func task(id int64, state work.State, blockers ...int64) work.Task {
	t := work.Task{ID: id, Title: fmt.Sprint("t", id), Prompt: "do it", State: state, BlockedBy: blockers, Trust: event.Owner, ReplyTo: "chat:1"}
	if state != work.Blocked && state != "" {
		t.Attempt = 1
	}
	return t
}

func backlog(list ...work.Task) work.Backlog {
	b := work.Backlog{}
	for _, t := range list {
		b[t.ID] = t
	}
	return b
}

func TestCycle(t *testing.T) {
	b := backlog(task(1, work.Queued), task(2, work.Blocked, 1), task(3, work.Blocked, 2, 1), task(4, work.Blocked, 3))
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
	b := backlog(task(1, work.Done), task(2, work.Running), task(3, work.Failed))
	for name, c := range map[string]struct {
		task work.Task
		want work.State
	}{
		"free":                       {task(9, ""), work.Queued},
		"after one that is done":     {task(9, "", 1), work.Queued},
		"after one that runs":        {task(9, "", 1, 2), work.Blocked},
		"after one that failed":      {task(9, "", 3), work.Blocked},
		"as important as can be":     {work.Task{ID: 9, Title: "a", Priority: 100}, work.Queued},
		"with neither time nor rank": {work.Task{ID: 9, Prompt: "a"}, work.Queued},
	} {
		s, err := b.Add(c.task)
		if err != nil || len(s.Tasks) != 1 || s.Tasks[0].State != c.want || (len(s.Inputs) == 1) != (c.want == work.Queued) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	for _, c := range []struct {
		task work.Task
		kind event.FaultKind
		want string
	}{
		{work.Task{ID: 9, Title: " ", Prompt: "\n"}, event.Invalid, "says nothing"},
		{task(9, "", 7), event.Missing, "no task 7"},
		{task(9, "", 1, 2, 1), event.Invalid, "task 1 stands there twice"},
		{task(9, "", 9), event.Clash, "9 waits for 9"},
		{work.Task{ID: 9, Title: "a", Priority: 101}, event.Invalid, "101"},
		{work.Task{ID: 9, Title: "a", Priority: -101}, event.Invalid, "-101"},
		{work.Task{ID: 9, Title: "a", BlockedBy: make([]int64, 51)}, event.Invalid, "51 tasks, at most 50"},
	} {
		_, err := b.Add(c.task)
		fault(t, err, c.kind, c.want)
	}
}

func TestAddFillsIn(t *testing.T) {
	s, err := work.Backlog{}.Add(work.Task{ID: 1, Prompt: "  Sort\tthe photos\nby month  "})
	if err != nil || s.Tasks[0].Title != "Sort the photos" || s.Tasks[0].Prompt != "Sort\tthe photos\nby month" {
		t.Errorf("%+v, %v", s.Tasks, err)
	}
	s, err = work.Backlog{}.Add(work.Task{ID: 1, Title: strings.Repeat("ä", 300)})
	if err != nil || len([]rune(s.Tasks[0].Title)) != work.MostTitle || len([]rune(s.Tasks[0].Prompt)) != 300 {
		t.Errorf("%+v, %v", s.Tasks, err)
	}
}

// What runs a task: who added it, where it answers, when, and what it waited for behind the prompt.
func TestInput(t *testing.T) {
	one, two := task(1, work.Done), task(2, work.Done)
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
	for _, want := range []string{"task 1 (t1): it is in a.md", "task 2 (t2): done, without a word"} {
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
	first, next, later := task(1, work.Running), task(2, work.Blocked, 1), task(3, work.Blocked, 1, 2)
	urgent := task(4, work.Blocked, 1)
	urgent.Priority = 5
	b := backlog(first, next, later, urgent)

	s := b.End(1, work.Outcome{ExtID: "1/1", State: work.Done, Text: "found it", Turn: 7, Tainted: true, At: noon})
	var ran []string
	for _, in := range s.Inputs {
		ran = append(ran, in.ExtID)
	}
	if !slices.Equal(ran, []string{"4/1", "2/1"}) {
		t.Errorf("ran %v, want the important one first and nothing that is still blocked", ran)
	}
	if e := s.Ended; e == nil || e.State != work.Done || e.Result != "found it" || e.Turn != 7 || !e.Ended.Equal(noon) || !e.Tainted || s.Notice != "" {
		t.Errorf("%+v, %q", s.Ended, s.Notice)
	}
	if !strings.Contains(s.Inputs[0].Parts[1].Text, "found it") || !s.Inputs[0].Tainted {
		t.Errorf("the summary is not handed in: %+v", s.Inputs[0])
	}

	s = b.End(1, work.Outcome{ExtID: "1/1", State: work.Failed, Text: "no network", At: noon})
	if len(s.Inputs) != 0 || len(s.Tasks) != 1 {
		t.Errorf("a failure let others run: %+v", s)
	}
	want := "Task 1 (t1) is failed: no network. Blocked by it: task 4 (t4), task 2 (t2), task 3 (t3). hob tasks retry 1 runs it once more."
	if s.Notice != want {
		t.Errorf("notice: %q\nwant    %q", s.Notice, want)
	}
	if s = backlog(first).End(1, work.Outcome{ExtID: "1/1", State: work.Failed}); s.Notice != "" {
		t.Errorf("nobody waits, and the turn has said that it failed; yet: %q", s.Notice)
	}
	for name, o := range map[string]work.Outcome{"an old attempt": {ExtID: "1/0", State: work.Done}, "another task": {ExtID: "5/1", State: work.Done}} {
		if s := b.End(1, o); len(s.Tasks) != 0 {
			t.Errorf("%s ended it: %+v", name, s)
		}
	}
	if s := backlog(task(1, work.Cancelled)).End(1, work.Outcome{ExtID: "1/1", State: work.Done}); len(s.Tasks) != 0 {
		t.Errorf("it ended twice: %+v", s)
	}
}

func ptr[T any](v T) *T { return &v }

func TestRevise(t *testing.T) {
	b := backlog(task(1, work.Queued), task(2, work.Blocked, 1), task(3, work.Running), task(4, work.Done), task(5, work.Failed), task(6, work.Cancelled))
	for name, c := range map[string]struct {
		r         work.Revision
		want      work.State
		attempt   int
		withdrawn []string
	}{
		"a new prompt replaces the queued row": {work.Revision{ID: 1, Prompt: ptr("else")}, work.Queued, 2, []string{"1/1"}},
		"a queued one waits after all":         {work.Revision{ID: 1, BlockedBy: &[]int64{3}}, work.Blocked, 1, []string{"1/1"}},
		"nothing blocks it any more":           {work.Revision{ID: 2, BlockedBy: &[]int64{}}, work.Queued, 1, nil},
		"it waits for what is done":            {work.Revision{ID: 2, BlockedBy: &[]int64{4}}, work.Queued, 1, nil},
		"a blocked one gets a title":           {work.Revision{ID: 2, Title: ptr("new")}, work.Blocked, 0, nil},
		"a queued one is cancelled":            {work.Revision{ID: 1, State: work.Cancelled}, work.Cancelled, 1, []string{"1/1"}},
		"a blocked one is cancelled":           {work.Revision{ID: 2, State: work.Cancelled}, work.Cancelled, 0, nil},
		"a failed one is cancelled":            {work.Revision{ID: 5, State: work.Cancelled}, work.Cancelled, 1, nil},
		"a failed one runs again":              {work.Revision{ID: 5, State: work.Blocked}, work.Queued, 2, nil},
		"a cancelled one runs again":           {work.Revision{ID: 6, State: work.Blocked, BlockedBy: &[]int64{3}}, work.Blocked, 1, nil},
	} {
		c.r.Trust = event.Owner
		s, err := b.Revise(c.r, noon)
		if err != nil || len(s.Tasks) != 1 {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := s.Tasks[0]
		if got.State != c.want || got.Attempt != c.attempt || !slices.Equal(s.Withdrawn, c.withdrawn) || (len(s.Inputs) == 1) != (c.want == work.Queued) || got.State.Over() != !got.Ended.IsZero() {
			t.Errorf("%s: %+v, withdrawn %v", name, got, s.Withdrawn)
		}
	}
	for _, c := range []struct {
		r    work.Revision
		kind event.FaultKind
		want string
	}{
		{work.Revision{ID: 9}, event.Missing, "no task 9"},
		{work.Revision{ID: 3, Title: ptr("x")}, event.Clash, "task 3 is running"},
		{work.Revision{ID: 4, State: work.Blocked}, event.Clash, "task 4 is done"},
		{work.Revision{ID: 5, Priority: ptr(1)}, event.Clash, "task 5 has failed"},
		{work.Revision{ID: 6, State: work.Cancelled}, event.Clash, "cancelled already"},
		{work.Revision{ID: 1, BlockedBy: &[]int64{2}}, event.Clash, "1 waits for 2 waits for 1"},
		{work.Revision{ID: 1, BlockedBy: &[]int64{8}}, event.Missing, "no task 8"},
	} {
		_, err := b.Revise(c.r, noon)
		fault(t, err, c.kind, c.want)
	}
}

// Whoever changes a task answers for it: what somebody else, or a tainted turn, has changed is not the owner's own any more.
func TestReviseTrust(t *testing.T) {
	mine := task(1, work.Blocked, 2)
	mine.Typed = true
	b := backlog(mine, task(2, work.Queued))
	change := func(r work.Revision) work.Task {
		t.Helper()
		r.ID = 1
		s, err := b.Revise(r, noon)
		if err != nil {
			t.Fatal(err)
		}
		return s.Tasks[0]
	}
	if got := change(work.Revision{Trust: event.Owner, Priority: ptr(3), NotBefore: ptr(noon)}); !got.Typed || got.Trust != event.Owner || got.Priority != 3 || !got.NotBefore.Equal(noon) {
		t.Errorf("the owner's change of the rank: %+v", got)
	}
	if got := change(work.Revision{Trust: event.Owner, Prompt: ptr("else")}); got.Typed || got.Prompt != "else" {
		t.Errorf("a model's prompt counts as typed: %+v", got)
	}
	if got := change(work.Revision{Trust: event.Machine, Title: ptr("x")}); got.Trust != event.Machine || got.Typed {
		t.Errorf("a machine's change: %+v", got)
	}
	if got := change(work.Revision{Trust: event.Owner, Tainted: true, Title: ptr("x")}); !got.Tainted {
		t.Errorf("a tainted turn's change: %+v", got)
	}
}
