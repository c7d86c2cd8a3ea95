package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/tools"
	"hob/tools/tasks"
)

// book is a backlog in memory; writing is the store's, and tested there.
type book struct {
	all    tasks.Backlog
	serves bool
	gave   int64 // the number given out last
	err    error
}

func (b *book) Backlog(context.Context, ...int64) (tasks.Backlog, error) { return b.all, b.err }
func (b *book) Tasks(_ context.Context, f event.Filter) ([]tasks.Task, error) {
	var list []tasks.Task
	for _, t := range b.all {
		if f.State == "" || f.State == string(t.State) {
			list = append(list, t)
		}
	}
	return tasks.Sorted(list)[:min(len(list), f.Limit)], b.err
}

func (b *book) Reserve(context.Context) (int64, error) {
	b.gave = int64(len(b.all)) + 1
	return b.gave, b.err
}
func (b *book) Serves(context.Context, int64) (bool, error) { return b.serves, b.err }

func newBook() *book {
	return &book{all: tasks.Backlog{
		1: {ID: 1, Title: "collect", Prompt: "collect it", State: tasks.Queued, Attempt: 1, NotBefore: toolNoon.Add(24 * time.Hour)},
		2: {ID: 2, Title: "sort", Prompt: "sort it", State: tasks.Blocked, BlockedBy: []int64{1, 3}, Priority: 5},
		3: {ID: 3, Title: "look", Prompt: "look", State: tasks.Done, Attempt: 1, Result: "nothing new"},
	}}
}

var toolNoon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func call(args string) tools.Call {
	return tools.Call{ID: "t1_1", Turn: 1, Session: 7, Key: "main", Args: json.RawMessage(args), Trust: event.Owner, ReplyTo: "chat:1", Zone: "Europe/Berlin", Now: toolNoon}
}

// do judges and runs a call, as the dispatcher does.
func do(t *testing.T, tool tools.Tool, c tools.Call) tools.Result {
	t.Helper()
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		return tools.ErrorResult(err)
	}
	if len(intent.Canonical) == 0 || intent.Summary == "" {
		t.Errorf("%s: the permission rules are shown nothing: %+v", tool.Spec().Name, intent)
	}
	res, err := tool.Run(t.Context(), c, intent)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// refused wants an error result of a kind that says something.
func refused(t *testing.T, res tools.Result, code tools.Code, part string) {
	t.Helper()
	if !res.IsError || res.Code != code || !strings.Contains(res.Content, part) {
		t.Errorf("%s %q, want %s with %q", res.Code, res.Content, code, part)
	}
}

// only is the one change of a result.
func only[T any](t *testing.T, res tools.Result) T {
	t.Helper()
	var none T
	if len(res.Changes) != 1 {
		t.Fatalf("%d changes: %s", len(res.Changes), res.Content)
	}
	c, ok := res.Changes[0].(T)
	if !ok {
		t.Errorf("a %T, want a %T", res.Changes[0], none)
	}
	return c
}

func TestTodo(t *testing.T) {
	res := do(t, tasks.NewTodo(), call(`{"todos": [{"content": "a", "status": "completed"}, {"content": "b", "status": "in_progress", "activeForm": "doing b"}, {"content": "c", "status": "pending"}]}`))
	if want := "1 of 3 done; now: doing b\n[x] a\n[>] b\n[ ] c"; res.Content != want {
		t.Errorf("%q, want %q", res.Content, want)
	}
	if c := only[tasks.Todos](t, res); c.Session != 7 || c.Key != "main" || len(c.List) != 3 || c.List[1].ActiveForm != "doing b" {
		t.Errorf("%+v", c)
	}
	if c := only[tasks.Todos](t, do(t, tasks.NewTodo(), call(`{"todos": []}`))); len(c.List) != 0 {
		t.Errorf("an empty list clears it: %+v", c)
	}
	for args, part := range map[string]string{
		`{"todos": [{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}]}`: "2 are in_progress, at most one may be",
		`{"todos": [{"content": "a", "status": "doing"}]}`:                                                  "status",
		`{"todos": [{"content": "", "status": "pending"}]}`:                                                 "content",
		`{}`: "todos",
	} {
		refused(t, do(t, tasks.NewTodo(), call(args)), tools.Validation, part)
	}
}

func TestPlan(t *testing.T) {
	plans := func(c tools.Call, plan bool) tools.Call {
		c.Plan = plan
		return c
	}
	enter, leave := `{"action": "enter"}`, `{"action": "exit", "summary": "I will sort them."}`
	if c := only[tasks.Planning](t, do(t, tasks.NewPlan(), call(enter))); c.Session != 7 {
		t.Errorf("%+v", c)
	}
	res := do(t, tasks.NewPlan(), plans(call(leave), true))
	wait, ok := res.Next.(tools.Wait)
	if !ok || wait.Kind != tools.ForQuestion || !wait.Until.Equal(toolNoon.Add(7*24*time.Hour)) || len(res.Changes) != 0 {
		t.Fatalf("%+v", res)
	}
	if !strings.Contains(wait.Ask.Text, "I will sort them.") || !slices.Equal(wait.Ask.Options, []string{"Approve", "Keep planning"}) || !tasks.Approved(wait.Ask.Options[0]) || tasks.Approved(wait.Ask.Options[1]) {
		t.Errorf("%+v", wait.Ask)
	}
	stranger := call(enter)
	stranger.Trust = event.Known
	for _, c := range []struct {
		call tools.Call
		code tools.Code
		part string
	}{
		{call(leave), tools.Conflict, "not in plan mode"},
		{plans(call(enter), true), tools.Conflict, "in plan mode already"},
		{plans(call(`{"action": "exit"}`), true), tools.Validation, "summary: it is missing"},
		{call(`{"action": "enter", "summary": "x"}`), tools.Validation, "nothing to approve yet"},
		{stranger, tools.Denied, "only the owner's"},
	} {
		refused(t, do(t, tasks.NewPlan(), c.call), c.code, c.part)
	}
}

func TestTaskAdd(t *testing.T) {
	b := newBook()
	c := call(`{"title": "report", "prompt": "write it down", "blocked_by": [2], "not_before": "17:00", "priority": 3}`)
	c.Tainted = true
	res := do(t, tasks.NewTaskAdd(b, event.Prompts{}), c)
	if want := "added: #4 report | blocked by #2 (blocked) | priority 3 | not before Sat 2026-11-21 17:00"; res.Content != want {
		t.Errorf("%q, want %q", res.Content, want)
	}
	got := only[tasks.Add](t, res).Task
	if got.ID != 4 || got.Prompt != "write it down" || got.Trust != event.Owner || !got.Tainted || got.Typed || got.ReplyTo != "chat:1" || !got.NotBefore.Equal(toolNoon.Add(4*time.Hour)) {
		t.Errorf("%+v", got)
	}
	typed := call(`{"prompt": "say: tea"}`)
	typed.Typed, typed.ReplyTo = true, event.CLI
	if got = only[tasks.Add](t, do(t, tasks.NewTaskAdd(b, event.Prompts{}), typed)).Task; !got.Typed || got.ReplyTo != event.ToOwner {
		t.Errorf("from the command line: %+v", got)
	}
	b.gave = 0
	for args, want := range map[string]tools.Code{
		`{}`:                                        tools.Validation,
		`{"title": " "}`:                            tools.Validation,
		`{"title": "x", "blocked_by": [9]}`:         tools.NotFound,
		`{"title": "x", "blocked_by": [1, 1]}`:      tools.Validation,
		`{"title": "x", "not_before": "someday"}`:   tools.Validation,
		`{"title": "x", "priority": 1000}`:          tools.Validation,
		`{"title": "x", "blocked_by": ["sort it"]}`: tools.Validation,
	} {
		refused(t, do(t, tasks.NewTaskAdd(b, event.Prompts{}), call(args)), want, "")
	}
	if b.gave != 0 {
		t.Error("a number was spent on a task that cannot be")
	}
	b.err = errors.New("the disk is gone")
	refused(t, do(t, tasks.NewTaskAdd(b, event.Prompts{}), call(`{"title": "x"}`)), tools.Unknown, "the disk is gone")
}

func TestTaskList(t *testing.T) {
	b := newBook()
	res := do(t, tasks.NewTaskList(b), call(`{}`))
	want := "#2 sort | blocked by #1 (queued) | priority 5\n#1 collect | queued | not before Sun 2026-11-22 13:00\n#3 look | done | nothing new"
	if res.Content != want || res.Foreign != "" || len(res.Data.(tasks.TasksOutput).Tasks) != 3 {
		t.Errorf("%q, foreign %q, want\n%q", res.Content, res.Foreign, want)
	}
	if res = do(t, tasks.NewTaskList(b), call(`{"state": "failed"}`)); res.Content != "there are no tasks" {
		t.Error(res.Content)
	}
	if res = do(t, tasks.NewTaskList(b), call(`{"limit": 1}`)); strings.Contains(res.Content, "collect") {
		t.Error(res.Content)
	}
	tainted := b.all[3]
	tainted.Tainted = true
	b.all[3] = tainted
	if res = do(t, tasks.NewTaskList(b), call(`{}`)); res.Foreign == "" {
		t.Error("a tainted summary is read without a word about it")
	}
	refused(t, do(t, tasks.NewTaskList(b), call(`{"state": "lost"}`)), tools.Validation, "state")
	if !tasks.NewTaskList(b).Spec().ReadOnly {
		t.Error("plan mode is kept from looking at the backlog")
	}
}

func TestTaskUpdate(t *testing.T) {
	b := newBook()
	r := only[tasks.Revision](t, do(t, tasks.NewTaskUpdate(b, event.Prompts{}), call(`{"id": 1, "title": "new", "prompt": "p", "blocked_by": [], "not_before": "now", "priority": 0}`)))
	if *r.Title != "new" || *r.Prompt != "p" || len(*r.BlockedBy) != 0 || !r.NotBefore.IsZero() || *r.Priority != 0 || r.Trust != event.Owner {
		t.Errorf("%+v", r)
	}
	r = only[tasks.Revision](t, do(t, tasks.NewTaskUpdate(b, event.Prompts{}), call(`{"id": 2, "priority": -1}`)))
	if r.Title != nil || r.Prompt != nil || r.BlockedBy != nil || r.NotBefore != nil || *r.Priority != -1 || r.State != "" {
		t.Errorf("what was not named is changed: %+v", r)
	}
	res := do(t, tasks.NewTaskUpdate(b, event.Prompts{}), call(`{"id": 1, "state": "cancelled"}`))
	if want := "cancelled: #1 collect | cancelled\nstill blocked by it: task 2 (sort)"; res.Content != want {
		t.Errorf("%q, want %q", res.Content, want)
	}
	for _, c := range []struct {
		args string
		code tools.Code
		part string
	}{
		{`{"id": 1}`, tools.Validation, "nothing to change"},
		{`{"title": "x"}`, tools.Validation, "id"},
		{`{"id": 9, "title": "x"}`, tools.NotFound, "no task 9"},
		{`{"id": 1, "blocked_by": [2]}`, tools.Conflict, "1 waits for 2 waits for 1"},
		{`{"id": 3, "title": "x"}`, tools.Conflict, "task 3 is done"},
		{`{"id": 1, "state": "done"}`, tools.Validation, "state"},
	} {
		refused(t, do(t, tasks.NewTaskUpdate(b, event.Prompts{}), call(c.args)), c.code, c.part)
	}
}

// Adding and changing is of the schedule's scope, which a tainted turn is asked about; looking is a read.
func TestIntents(t *testing.T) {
	b := newBook()
	b.serves = true
	for _, c := range []struct {
		tool   tools.Tool
		args   string
		effect tools.Effect
		scopes []tools.Scope
	}{
		{tasks.NewTodo(), `{"todos": []}`, tools.Keyed, nil},
		{tasks.NewPlan(), `{"action": "enter"}`, tools.Keyed, nil},
		{tasks.NewTaskAdd(b, event.Prompts{}), `{"title": "x"}`, tools.Keyed, []tools.Scope{tools.Schedule}},
		{tasks.NewTaskUpdate(b, event.Prompts{}), `{"id": 1, "priority": 1}`, tools.Keyed, []tools.Scope{tools.Schedule}},
		{tasks.NewTaskList(b), `{}`, tools.Read, nil},
		{tasks.NewCompleteTask(b), `{"summary": "x"}`, tools.Keyed, nil},
		{tasks.NewFailTask(b), `{"reason": "x"}`, tools.Keyed, nil},
	} {
		i, err := c.tool.Intent(t.Context(), call(c.args))
		if err != nil || i.Effect != c.effect || !slices.Equal(i.Scopes, c.scopes) {
			t.Errorf("%s: %s %v, %v", c.tool.Spec().Name, i.Effect, i.Scopes, err)
		}
	}
}

func TestEnds(t *testing.T) {
	b := &book{serves: true}
	for _, c := range []struct {
		tool tools.Tool
		args string
		want tools.End
	}{
		{tasks.NewCompleteTask(b), `{"summary": " it is in a.md "}`, tools.End{Text: "it is in a.md"}},
		{tasks.NewFailTask(b), `{"reason": "no network"}`, tools.End{Failed: true, Text: "no network"}},
	} {
		res := do(t, c.tool, call(c.args))
		if res.Next != c.want || !c.tool.Spec().Terminal {
			t.Errorf("%s: %+v", c.tool.Spec().Name, res)
		}
		refused(t, do(t, c.tool, call(`{}`)), tools.Validation, "")
		refused(t, do(t, c.tool, call(strings.Replace(c.args, c.want.Text, "  ", 1))), tools.Validation, "the text is empty")
		b.serves = false
		refused(t, do(t, c.tool, call(c.args)), tools.Conflict, "neither a task nor a job")
		b.serves = true
	}
}
