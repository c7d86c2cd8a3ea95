package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/store"
	"hob/tools"
	"hob/tools/tasks"
)

// add puts a task into the backlog as the tool does: under a reserved number.
func (s *testStore) add(title string, change ...func(*tasks.Task)) int64 {
	s.t.Helper()
	task := tasks.Task{Title: title, Trust: event.Owner, ReplyTo: chat}
	for _, f := range change {
		f(&task)
	}
	err := s.Write(context.Background(), func(tx *store.Tx) (err error) {
		task.ID, err = tx.Reserve("tasks")
		return err
	})
	if err == nil {
		err = s.Calls.Record(context.Background(), tasks.Add{Task: task})
	}
	if err != nil {
		s.t.Fatalf("add %s: %v", title, err)
	}
	return task.ID
}

func after(ids ...int64) func(*tasks.Task) { return func(t *tasks.Task) { t.BlockedBy = ids } }

func (s *testStore) task(id int64) tasks.Task {
	s.t.Helper()
	t, err := s.Tasks.Task(context.Background(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return t
}

// states are those of all tasks, by number.
func (s *testStore) states() string {
	s.t.Helper()
	list, err := s.Tasks.Tasks(context.Background(), event.Filter{})
	if err != nil {
		s.t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b tasks.Task) int { return int(a.ID - b.ID) })
	var words []string
	for _, t := range list {
		words = append(words, string(t.State))
	}
	return strings.Join(words, " ")
}

// finish ends a turn with what it says.
func (s *testStore) finish(id int64, f turn.Finish) {
	s.t.Helper()
	if err := s.Turns.Commit(context.Background(), turn.Commit{Turn: id, End: &f}); err != nil {
		s.t.Fatalf("end turn %d: %v", id, err)
	}
}

// run takes the next turn, wants it to be that of a task, and ends it.
func (s *testStore) run(task int64, f turn.Finish) {
	s.t.Helper()
	id := s.take()
	if got := one[string](s, "SELECT s.key FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", id); got != fmt.Sprint("task:", task) {
		s.t.Fatalf("turn %d runs %s, want task %d", id, got, task)
	}
	if got := s.task(task); got.State != tasks.Running || got.Turn != id {
		s.t.Errorf("task %d while its turn runs: %s, turn %d", task, got.State, got.Turn)
	}
	s.finish(id, f)
}

func done(text string) turn.Finish { return turn.Finish{State: turn.Done, Text: text} }

func failed(why string) turn.Finish { return turn.Finish{State: turn.Failed, Why: why} }

func (s *testStore) notices() []string {
	s.t.Helper()
	var list []string
	for _, o := range s.outs() {
		if strings.HasPrefix(o.Key, "notice:task:") {
			list = append(list, o.Body)
		}
	}
	return list
}

// A chain of tasks runs in its order, each in its own session, with the summaries of those before it, also when hob is killed in between.
func TestTasksRunInOrder(t *testing.T) {
	s := fresh(t)
	a := s.add("collect")
	b := s.add("sort", after(a))
	c := s.add("report", after(a, b))
	if got := s.states(); got != "queued blocked blocked" {
		t.Fatalf("at first: %s", got)
	}
	s.run(a, done("12 files in in/"))
	if got := s.states(); got != "done queued blocked" {
		t.Errorf("after the first: %s", got)
	}
	s = s.crash()
	if got := s.states(); got != "done queued blocked" {
		t.Errorf("after a crash: %s", got)
	}
	s.run(b, done("sorted by month"))
	s = s.crash()
	id := s.take()
	said := one[string](s, "SELECT group_concat(json_extract(p.value, '$.text'), '|') FROM items i, json_each(i.parts) p WHERE i.turn = ?", id)
	for _, want := range []string{"report|", "task 1 (collect): 12 files in in/", "task 2 (sort): sorted by month"} {
		if !strings.Contains(said, want) {
			t.Errorf("the turn is told %q, without %q", said, want)
		}
	}
	if got := one[string](s, "SELECT source || ' ' || ext_id || ' ' || kind || ' ' || rank || ' ' || trust || ' ' || reply_to FROM inbox WHERE turn = ?", id); got != "task 3/1 fire 2 owner chat:1" {
		t.Errorf("inbox row: %s", got)
	}
	if kind, ref := one[string](s, "SELECT kind FROM sessions WHERE key = 'task:3'"), one[string](s, "SELECT reply_ref FROM turns WHERE id = ?", id); kind != "job" || ref != "" {
		t.Errorf("session of kind %q, reply to message %q", kind, ref)
	}
	s.finish(id, done("it is in report.md"))
	if got := s.task(c); got.Result != "it is in report.md" || got.Turn != id || got.Ended.IsZero() || got.Attempt != 1 {
		t.Errorf("%+v", got)
	}
	if s.take() != 0 || one[int](s, "SELECT count(*) FROM inbox WHERE source = 'task'") != 3 {
		t.Error("something ran twice")
	}
	if n := one[int](s, "SELECT count(*) FROM events WHERE type = 'task.finished'"); n != 3 {
		t.Errorf("%d events of an end", n)
	}
}

// A failed task leaves those that wait for it blocked, and the owner is told once; run again and done, it frees them.
func TestTaskFails(t *testing.T) {
	s := fresh(t)
	a := s.add("collect")
	b := s.add("sort", after(a))
	s.run(a, failed("there is no folder in/"))
	if got := s.states(); got != "failed blocked" || s.take() != 0 {
		t.Errorf("after a failure: %s", got)
	}
	want := "Task 1 (collect) is failed: there is no folder in/. Blocked by it: task 2 (sort). hob tasks retry 1 runs it once more."
	if got := s.notices(); len(got) != 1 || got[0] != want {
		t.Errorf("notices: %q", got)
	}
	s = s.crash()
	if err := s.Calls.Record(t.Context(), tasks.Revision{ID: a, State: tasks.Blocked, Trust: event.Owner}); err != nil {
		t.Fatal(err)
	}
	if got := s.task(a); got.State != tasks.Queued || got.Attempt != 2 || got.Result != "" || !got.Ended.IsZero() {
		t.Errorf("run again: %+v", got)
	}
	s.run(a, failed("still none"))
	if got := s.notices(); len(got) != 2 {
		t.Errorf("a second failure: %q", got)
	}
	// The inbox row can be retried as any other; the task goes with it.
	if err := s.Inbox.Retry(t.Context(), one[int64](s, "SELECT seq FROM inbox WHERE ext_id = '1/2'")); err != nil {
		t.Fatal(err)
	}
	s.run(a, done("found it"))
	s.run(b, done("sorted"))
	if got := s.states(); got != "done done" {
		t.Errorf("in the end: %s", got)
	}
}

// A turn that dies ends its task as failed; one that the owner stops ends it as cancelled.
func TestTaskDiesOrIsStopped(t *testing.T) {
	s := fresh(t)
	a := s.add("a")
	s.add("b", after(a))
	for range 3 {
		if s.take() == 0 {
			t.Fatal("it is not taken up again")
		}
		s = s.crash()
	}
	if s.take() != 0 || s.states() != "failed blocked" || len(s.notices()) != 1 || !strings.Contains(s.task(a).Result, "attempts") {
		t.Errorf("dead: %s, %q, %q", s.states(), s.task(a).Result, s.notices())
	}
	c := s.add("c")
	s.run(c, turn.Finish{State: turn.Stopped, Why: "stopped by the owner"})
	if got := s.task(c); got.State != tasks.Cancelled || got.Result != "stopped by the owner" {
		t.Errorf("stopped: %+v", got)
	}
}

// What a turn waits for is no end: its task is parked.
func TestTaskParks(t *testing.T) {
	s := fresh(t)
	a := s.add("a")
	id := s.take()
	err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, Park: &turn.Park{Why: "waiting", On: "c"}, Wait: &turn.Wait{CallID: "c", Kind: tools.ForTimer, Until: s.now().Add(time.Hour)}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.task(a); got.State != tasks.Parked || got.Turn != id {
		t.Errorf("%+v", got)
	}
	if err := s.Calls.Record(t.Context(), tasks.Revision{ID: a, State: tasks.Cancelled, Trust: event.Owner}); err == nil {
		t.Error("a parked task was cancelled under its turn")
	}
	s.later(2 * time.Hour)
	if s.take() != id {
		t.Fatal("it did not go on")
	}
	s.finish(id, done(""))
	if got := s.states(); got != "done" {
		t.Error(got)
	}
}

// The tasks' place in line is that of the oldest; the most important of them takes it. What is not due yet has no place.
func TestPriorityOrders(t *testing.T) {
	s := fresh(t)
	low := s.add("low")
	s.add("later", func(t *tasks.Task) { t.Priority, t.NotBefore = 9, s.now().Add(time.Hour) })
	high := s.add("high", func(t *tasks.Task) { t.Priority = 5 })
	job := message("a job")
	job.Rank, job.Kind, job.Session = event.RankSchedule, event.Fire, "job:x"
	s.accept(job)
	same := s.add("as high", func(t *tasks.Task) { t.Priority = 5 })
	s.run(high, done(""))
	s.run(same, done(""))
	if err := s.Calls.Record(t.Context(), tasks.Revision{ID: low, Priority: ptr(-1), Trust: event.Owner}); err != nil {
		t.Fatal(err) // a changed task goes to the end of the line
	}
	if key := one[string](s, "SELECT s.key FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", s.take()); key != "job:x" {
		t.Errorf("%s came before the job", key)
	}
	s.finish(one[int64](s, "SELECT max(id) FROM turns"), done(""))
	s.run(low, done(""))
	if s.take() != 0 {
		t.Error("a task ran before its time")
	}
	s.later(2 * time.Hour)
	s.run(2, done(""))
}

func ptr[T any](v T) *T { return &v }

// A change takes the queued row out of the inbox and puts in another one; a dropped row cancels its task.
func TestTaskIsChanged(t *testing.T) {
	s := fresh(t)
	a := s.add("a")
	if err := s.Calls.Record(t.Context(), tasks.Revision{ID: a, Prompt: ptr("something else"), Trust: event.Owner}); err != nil {
		t.Fatal(err)
	}
	if got := one[string](s, "SELECT group_concat(ext_id || ' ' || state) FROM inbox"); got != "1/1 dropped,1/2 queued" {
		t.Errorf("inbox: %s", got)
	}
	b := s.add("b")
	for name, r := range map[string]tasks.Revision{
		"a way round": {ID: a, BlockedBy: &[]int64{b}},
		"no task":     {ID: 9, Title: ptr("x")},
	} {
		r.Trust = event.Owner
		if name == "a way round" {
			if err := s.Calls.Record(t.Context(), tasks.Revision{ID: b, BlockedBy: &[]int64{a}, Trust: event.Owner}); err != nil {
				t.Fatal(err)
			}
		}
		if _, ok := event.AsFault(s.Calls.Record(t.Context(), r)); !ok {
			t.Errorf("%s was accepted", name)
		}
	}
	seq := one[int64](s, "SELECT seq FROM inbox WHERE ext_id = '1/2'")
	if err := s.Inbox.Drop(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	if got := s.states(); got != "cancelled blocked" || s.task(a).Result != "dropped by the owner" {
		t.Errorf("dropped: %s, %q", got, s.task(a).Result)
	}
	if err := s.Inbox.Retry(t.Context(), seq); err != nil {
		t.Fatal(err)
	}
	s.run(a, done(""))
	if got := s.states(); got != "done queued" {
		t.Errorf("retried: %s", got)
	}
	if err := s.Calls.Record(t.Context(), tasks.Revision{ID: b, State: tasks.Cancelled, Trust: event.Owner}); err != nil {
		t.Fatal(err)
	}
	if s.states() != "done cancelled" || s.take() != 0 {
		t.Errorf("cancelled: %s", s.states())
	}
}

// Foreign text goes with a task: into its turn, and with its summary into those that waited for it.
func TestTaskTaint(t *testing.T) {
	s := fresh(t)
	a := s.add("a", func(t *tasks.Task) { t.Tainted = true })
	b := s.add("b", after(a))
	c := s.add("c")
	s.run(a, done("what a stranger wrote"))
	for ext, want := range map[string]int{"1/1": 1, "2/1": 1, "3/1": 0} {
		if got := one[int](s, "SELECT tainted FROM inbox WHERE ext_id = ?", ext); got != want {
			t.Errorf("inbox row %s: tainted %d", ext, got)
		}
	}
	d := s.add("d", after(c))
	id := s.take() // c, which reads something foreign
	if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, Taint: "a page"}); err != nil {
		t.Fatal(err)
	}
	s.finish(id, done("x"))
	_ = b
	if !s.task(c).Tainted || !s.task(d).Tainted || one[int](s, "SELECT tainted FROM inbox WHERE ext_id = '4/1'") != 1 {
		t.Errorf("tainted: %v, %v", s.task(c).Tainted, s.task(d).Tainted)
	}
}

// A session's todo list is replaced as a whole; what cannot be is refused by the rules and by the table.
func TestTodos(t *testing.T) {
	s := fresh(t)
	put := func(list ...tasks.Todo) error {
		return s.Calls.Record(t.Context(), tasks.Todos{Key: "main", List: list})
	}
	if _, ok := event.AsFault(put(tasks.Todo{Content: "a", Status: tasks.Pending})); !ok {
		t.Error("a list of no conversation was kept")
	}
	s.accept(message("hello"))
	id := s.take()
	a, b := tasks.Todo{Content: "a", Status: tasks.InProgress, ActiveForm: "doing a"}, tasks.Todo{Content: "b", Status: tasks.Pending}
	if err := put(a, b); err != nil {
		t.Fatal(err)
	}
	if err := put(a, a); err == nil {
		t.Error("two in progress")
	}
	if err := s.try("UPDATE todos SET status = 'in_progress'"); err == nil {
		t.Error("the table takes two in progress")
	}
	look := s.Tasks
	list, err := look.Todos(t.Context(), 1)
	if err != nil || !slices.Equal(list, []tasks.Todo{a, b}) {
		t.Errorf("%+v, %v", list, err)
	}
	sums, err := look.Tallies(t.Context())
	if err != nil || !slices.Equal(sums, []tasks.Tally{{Session: "main", Doing: "doing a", Total: 2}}) {
		t.Errorf("%+v, %v", sums, err)
	}
	a.Status = tasks.Completed
	if err := put(a); err != nil {
		t.Fatal(err)
	}
	if sums, err = look.Tallies(t.Context()); err != nil || len(sums) != 0 {
		t.Errorf("nothing is left to do, yet status shows %+v, %v", sums, err)
	}
	s.finish(id, done(""))
}

// Only the owner's yes to the plan ends plan mode, in the commit of the answer; the session's turns know.
func TestPlan(t *testing.T) {
	s := fresh(t)
	s.accept(message("hello"))
	id := s.take()
	planning := func() bool {
		t.Helper()
		got, err := s.Turns.Turn(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return got.Plan
	}
	if planning() {
		t.Error("it plans from the start")
	}
	if err := s.Calls.Record(t.Context(), tasks.Planning{Session: 1}, tasks.Planning{Session: 1}); err != nil || !planning() {
		t.Fatalf("enter: %v", err)
	}
	for i, c := range []struct {
		tool, answer string
		want         bool
	}{{"plan", "Keep planning", true}, {"ask", "Approve", true}, {"plan", "Approve", false}} {
		call := fmt.Sprint("c", i)
		err := s.Turns.Commit(t.Context(), turn.Commit{
			Turn: id, Items: []llm.Item{{Session: 1, Turn: id, Role: llm.Assistant, Kind: llm.CallItem, CallID: call, Tool: c.tool, Args: []byte("{}"), Trust: event.Owner, Source: "model"}},
			Steps:    []turn.Step{{N: i + 1, Kind: turn.ToolStep, State: turn.StepParked, CallID: call, Tool: c.tool}},
			Question: &turn.Question{Subject: turn.AboutAsk, Turn: id, CallID: call, Tool: c.tool, Text: "May I?", Options: []string{tasks.Approve, tasks.KeepPlanning}, Until: s.now().Add(time.Hour), To: chat},
			Wait:     &turn.Wait{CallID: call, Kind: tools.ForQuestion, Question: turn.Asks}, Park: &turn.Park{Why: "waiting", On: call},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.accept(message(c.answer))
		if got := planning(); got != c.want {
			t.Errorf("%s answered with %q: plan mode %v", c.tool, c.answer, got)
		}
		if s.take() != id {
			t.Fatal("the answer did not wake the turn")
		}
		if err := s.Turns.Commit(t.Context(), turn.Commit{Turn: id, Steps: []turn.Step{{N: i + 1, Kind: turn.ToolStep, State: turn.StepDone, CallID: call, Tool: c.tool}}}); err != nil {
			t.Fatal(err)
		}
	}
}

// Impossible rows of the backlog cannot be stored.
func TestImpossibleTasks(t *testing.T) {
	s := fresh(t)
	s.add("a")
	for name, query := range map[string]string{
		"an unknown state":          "UPDATE tasks SET state = 'running'",
		"done without an end":       "UPDATE tasks SET state = 'done'",
		"an end before it is done":  "UPDATE tasks SET ended = 5",
		"queued without an attempt": "UPDATE tasks SET attempt = 0",
		"no title":                  "UPDATE tasks SET title = ''",
		"blockers that are no list": "UPDATE tasks SET blocked_by = '7'",
		"unknown trust":             "UPDATE tasks SET trust = 'root'",
		"a todo of no session":      "INSERT INTO todos (session, n, content, status) VALUES (99, 1, 'x', 'pending')",
		"a plan of no session":      "INSERT INTO plans (session, since) VALUES (99, 1)",
	} {
		if s.try(query) == nil {
			t.Errorf("stored: %s", name)
		}
	}
}

// Lists show the open ones first, as they will run, then what has ended, the newest first.
func TestTaskRows(t *testing.T) {
	s := fresh(t)
	a := s.add("a")
	s.run(a, done("1"))
	b := s.add("b")
	s.run(b, done("2"))
	c := s.add("c")
	d := s.add("d", func(t *tasks.Task) { t.Priority = 1 })
	look := s.Tasks
	for f, want := range map[event.Filter][]int64{
		{}:                {d, c, b, a},
		{State: "open"}:   {d, c},
		{State: "done"}:   {b, a},
		{Limit: 1}:        {d},
		{State: "failed"}: nil,
	} {
		list, err := look.Tasks(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var ids []int64
		for _, k := range list {
			ids = append(ids, k.ID)
		}
		if !slices.Equal(ids, want) {
			t.Errorf("%+v: %v, want %v", f, ids, want)
		}
	}
	if _, err := look.Task(t.Context(), 99); err == nil {
		t.Error("there is no task 99")
	}
	for id, want := range map[int64]bool{1: true, 99: false} {
		if got, err := look.Serves(t.Context(), id); err != nil || got != want {
			t.Errorf("turn %d serves a task: %v, %v", id, got, err)
		}
	}
}
