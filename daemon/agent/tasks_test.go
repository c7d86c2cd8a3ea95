package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/daemon/store"
	"hob/scheduler"
	"hob/tools/tasks"
)

// backlogOf is the rows of the rig's store, which is opened after the tools are made.
type backlogOf struct{ r *harness }

func (b backlogOf) rows() store.Tasks { return b.r.store.Tasks }

func (b backlogOf) Backlog(ctx context.Context, ids ...int64) (tasks.Backlog, error) {
	return b.rows().Backlog(ctx, ids...)
}

func (b backlogOf) Tasks(ctx context.Context, f event.Filter) ([]tasks.Task, error) {
	return b.rows().Tasks(ctx, f)
}
func (b backlogOf) Reserve(ctx context.Context) (int64, error) { return b.rows().Reserve(ctx) }
func (b backlogOf) Serves(ctx context.Context, turn int64) (bool, error) {
	return b.rows().Serves(ctx, turn)
}

func withWork(r *harness) {
	b := backlogOf{r}
	r.with(tasks.NewTodo(), tasks.NewPlan(), tasks.NewTaskAdd(b, event.Prompts{}), tasks.NewTaskList(b), tasks.NewTaskUpdate(b, event.Prompts{}), tasks.NewCompleteTask(b), tasks.NewFailTask(b))
}

// states are those of the tasks, in the order in which they were added.
func (r *harness) states() string {
	r.t.Helper()
	b, err := backlogOf{r}.Backlog(context.Background(), 1, 2, 3, 4, 5)
	if err != nil {
		r.t.Fatal(err)
	}
	var words []string
	for id := int64(1); id <= int64(len(b)); id++ {
		words = append(words, string(b[id].State))
	}
	return strings.Join(words, " ")
}

// Tasks that one turn adds run in sessions of their own, each told what it waited for, and end by the tools that say so.
func TestTasksRunByThemselves(t *testing.T) {
	var told []string
	reply := script(func(last string, r llm.Request) llm.Answer {
		switch {
		case strings.Contains(last, "plan the move"):
			return llmtest.UseAll(
				llmtest.Use("task_add", `{"title": "pack", "prompt": "pack the boxes"}`),
				llmtest.Use("task_add", `{"title": "drive", "prompt": "drive them", "blocked_by": [1]}`),
				llmtest.Use("task_add", `{"title": "rest", "prompt": "rest a bit", "blocked_by": [2]}`),
				llmtest.Use("complete_task", `{"summary": "all is planned"}`))
		case strings.Contains(last, "pack the boxes"):
			return llmtest.Use("complete_task", `{"summary": "12 boxes"}`)
		case strings.Contains(last, "drive them"):
			told = append(told, last)
			return llmtest.Use("fail_task", `{"reason": "there is no van"}`)
		default:
			return llmtest.Say("three tasks are planned")
		}
	})
	bubble(t, reply, func(r *harness) {
		r.ask("plan the move")
		if got := r.states(); got != "done failed blocked" {
			t.Errorf("states: %s", got)
		}
		if len(told) != 1 || !strings.Contains(told[0], "task 1 (pack): 12 boxes") {
			t.Errorf("the second task was told %q", told)
		}
		results := r.results(1) // what is refused is refused first
		contains(t, results[2], "#2 drive | blocked by #1 (queued)")
		contains(t, results[0], "CONFLICT: this turn runs neither a task nor a job")
		r.wantBodies("three tasks are planned\n\n(hob: complete_task: conflict: this turn runs neither a task nor a job)", "12 boxes", "I could not finish this: there is no van.",
			"Task 2 (drive) is failed: there is no van. Blocked by it: task 3 (rest). hob tasks retry 2 runs it once more.")
		for i, v := range r.turns() {
			if want := []string{"main", "task:1", "task:2"}[i]; v.Session != want {
				t.Errorf("turn %d ran in %s, want %s", v.ID, v.Session, want)
			}
		}
	}, withWork)
}

// A task's turn that ends without saying how: what it says is its summary.
func TestTaskEndsInWords(t *testing.T) {
	bubble(t, script(func(last string, _ llm.Request) llm.Answer { return llmtest.Say("said: " + last) }), func(r *harness) {
		err := r.store.Calls.Record(context.Background(), tasks.Add{Task: tasks.Task{ID: 1, Title: "a", Trust: event.Owner, ReplyTo: chat}})
		if err != nil {
			t.Fatal(err)
		}
		r.settle()
		b, err := backlogOf{r}.Backlog(context.Background(), 1)
		if err != nil || b[1].State != tasks.Done || !strings.HasPrefix(b[1].Result, "said: ") {
			t.Errorf("%+v, %v", b[1], err)
		}
	}, withWork)
}

// In the turn of a job the same tools set the outcome of its fire.
func TestJobEndsByTool(t *testing.T) {
	for call, want := range map[string]string{`complete_task {"summary": "well"}`: "done ran", `fail_task {"reason": "no"}`: "done failed no"} {
		tool, args, _ := strings.Cut(call, " ")
		bubble(t, llmtest.InOrder(llmtest.Use(tool, args)), func(r *harness) {
			j, _, err := scheduler.New(scheduler.Draft{Name: "j", Cron: "0 * * * *", Prompt: "do it", Trust: event.Owner, Deliver: "chat:1"}, time.UTC, r.clock.Wall())
			if err != nil {
				t.Fatal(err)
			}
			ctx := context.Background()
			if err := r.store.Calls.Record(ctx, scheduler.Put{Job: j}); err != nil {
				t.Fatal(err)
			}
			if j, err = r.store.Jobs.JobNamed(ctx, "j"); err != nil {
				t.Fatal(err)
			}
			if err := r.store.Calls.Record(ctx, scheduler.RunNow{Job: j, In: scheduler.ByHand(j, "x", r.clock.Wall())}); err != nil {
				t.Fatal(err)
			}
			r.settle()
			fires, err := r.rows().FireRows(ctx, event.Filter{})
			if err != nil || len(fires) != 1 {
				t.Fatalf("%+v, %v", fires, err)
			}
			if got := strings.TrimSpace(fmt.Sprint(fires[0].State, " ", fires[0].Outcome, " ", strings.TrimPrefix(fires[0].Reason, "run by hand"))); got != want {
				t.Errorf("%s: the fire is %q, want %q", tool, got, want)
			}
		}, withWork)
	}
}

// A plan is approved with the command that approves calls, too; a no is a word like any other and keeps planning.
func TestAPlanIsApprovedLikeACall(t *testing.T) {
	reply := llmtest.InOrder(
		llmtest.Use("plan", `{"action": "enter"}`), llmtest.Use("plan", `{"action": "exit", "summary": "I will note it."}`),
		llmtest.Use("plan", `{"action": "exit", "summary": "I will note it once."}`), use("note", "as approved"), llmtest.Say("noted"),
	)
	bubble(t, reply, func(r *harness) {
		r.ask("note it")
		r.ask("/deny " + r.code())
		contains(t, r.lastBody(), "I will note it once.")
		r.ask("/approve " + r.code())
		if r.times("note") != 1 || r.lastBody() != "noted" {
			t.Errorf("noted %d times, said %q", r.times("note"), r.lastBody())
		}
	}, withWork)
}

// Plan mode: what changes something is refused until the owner approves the plan, and words of his are no approval.
func TestPlanMode(t *testing.T) {
	reply := llmtest.InOrder(
		llmtest.Use("plan", `{"action": "enter"}`),
		llmtest.UseAll(use("note", "too early"), use("look", "around")),
		llmtest.Use("plan", `{"action": "exit", "summary": "I will note it."}`),
		llmtest.Use("plan", `{"action": "exit", "summary": "I will note it twice."}`),
		use("note", "as approved"),
		llmtest.Say("noted"),
	)
	bubble(t, reply, func(r *harness) {
		r.ask("note it")
		contains(t, r.lastBody(), "My plan:\nI will note it.\n\n1. Approve\n2. Keep planning")
		r.ask("yes, but twice")
		contains(t, r.lastBody(), "I will note it twice.")
		if r.times("note") != 0 {
			t.Error("it acted before the plan was approved")
		}
		r.ask("approve")
		got := r.results(1)
		contains(t, got[1], "PERMISSION_DENIED")
		contains(t, got[1], "exit")
		contains(t, got[2], "look did around")
		contains(t, got[3], "the owner answered: yes, but twice")
		contains(t, got[5], "note did as approved")
		if r.times("note") != 1 || r.lastBody() != "noted\n\n(hob: note: permission denied: this conversation is in plan mode: nothing may change)" {
			t.Errorf("noted %d times, said %q", r.times("note"), r.lastBody())
		}
	}, withWork)
}
