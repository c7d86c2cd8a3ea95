package tasks

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/daemon/event"
	"hob/tools"
)

// AddInput is the input of task_add.
type AddInput struct {
	Title     string  `json:"title,omitempty" jsonschema:"a few words; default: the prompt's first line" max:"200"`
	Prompt    string  `json:"prompt,omitempty" jsonschema:"what to do, in full: the task does not see this conversation; default: the title"`
	BlockedBy []int64 `json:"blocked_by,omitempty" jsonschema:"numbers of tasks that must be done first; their summaries are handed in" max:"50"`
	NotBefore string  `json:"not_before,omitempty" jsonschema:"RFC 3339, HH:MM or a duration from now"`
	Priority  int     `json:"priority,omitempty" jsonschema:"the higher runs first; default 0" min:"-100" max:"100"`
	Plain     *bool   `json:"plain,omitempty" jsonschema:"never ask a model"`
}

// UpdateInput is the input of task_update.
type UpdateInput struct {
	ID        int64   `json:"id" jsonschema:"the task's number" min:"1"`
	Title     string  `json:"title,omitempty" jsonschema:"a new title" max:"200"`
	Prompt    string  `json:"prompt,omitempty" jsonschema:"a new prompt"`
	BlockedBy []int64 `json:"blocked_by,omitempty" jsonschema:"all tasks that it waits for; [] for none" max:"50"`
	NotBefore string  `json:"not_before,omitempty" jsonschema:"RFC 3339, HH:MM, a duration from now, or now"`
	Priority  *int    `json:"priority,omitempty" jsonschema:"the higher runs first" min:"-100" max:"100"`
	Plain     *bool   `json:"plain,omitempty" jsonschema:"never ask a model"`
	State     string  `json:"state,omitempty" jsonschema:"cancelled ends it; blocked lets one that failed or was cancelled run again" enum:"cancelled,blocked"`
}

// ListInput is the input of task_list.
type ListInput struct {
	State string `json:"state,omitempty" jsonschema:"which; open: all that have not ended; default all" enum:"open,blocked,queued,held,running,parked,done,failed,cancelled"`
	Limit int    `json:"limit,omitempty" jsonschema:"at most this many" default:"50" min:"1" max:"1000"`
}

// TasksOutput is the output of all three.
type TasksOutput struct {
	Tasks []Task `json:"tasks" jsonschema:"the tasks concerned"`
}

// NewTaskAdd builds the tool task_add, which adds a task that runs later in a session of its own.
func NewTaskAdd(b Rows, p event.Prompts) tools.Tool {
	t := taskTools{b, p}
	return tools.New[AddInput, TasksOutput](tools.Spec{
		Name: "task_add", Group: group, Positional: "title", Example: "'Sort the photos' --prompt 'Sort ~/Pictures/in by month.'",
		Description: "Add a task to the backlog. It runs in its own session, by itself, once all tasks it waits for are done.",
	}, t.addIntent, t.add)
}

// NewTaskList builds the tool task_list.
func NewTaskList(b Rows) tools.Tool {
	t := taskTools{backlog: b}
	return tools.New[ListInput, TasksOutput](tools.Spec{
		Name: "task_list", Group: group, ReadOnly: true, Positional: "state", Example: "open",
		Description: "The backlog: tasks with state, what blocks them, and what they came to. Open ones first, as they will run.",
	}, listIntent, t.list)
}

// NewTaskUpdate builds the tool task_update.
func NewTaskUpdate(b Rows, p event.Prompts) tools.Tool {
	t := taskTools{b, p}
	return tools.New[UpdateInput, TasksOutput](tools.Spec{
		Name: "task_update", Group: group, Positional: "id", Example: "3 --priority 10",
		Description: "Change a task that does not run yet, cancel it, or let one that failed run again.",
	}, t.updateIntent, t.update)
}

// taskTools implements the three tools.
type taskTools struct {
	backlog Rows
	prompts event.Prompts
}

// addIntent needs the scope schedule, because a task acts later without supervision.
func (t taskTools) addIntent(_ context.Context, call tools.Call, in AddInput) (tools.Intent, error) {
	if _, err := instant(call, in.NotBefore); err != nil {
		return tools.Intent{}, err
	}
	if strings.TrimSpace(in.Title+in.Prompt) == "" {
		return tools.Intent{}, tools.Refuse(tools.Validation, "a title, a prompt or both", "title: the task says nothing")
	}
	summary := "add a task: " + brief(in.Title)
	if in.Prompt != "" {
		summary += ": " + brief(in.Prompt)
	}
	raw, err := canonical("task_add", in)
	return tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Schedule}, Summary: summary, Canonical: raw}, err
}

// add plans the new task. The store writes it with the result.
func (t taskTools) add(ctx context.Context, call tools.Call, in AddInput, _ tools.Intent) (tools.Result, error) {
	after, err := instant(call, in.NotBefore)
	if err != nil {
		return tools.Result{}, err
	}
	b, err := t.backlog.Backlog(ctx, in.BlockedBy...)
	if err != nil {
		return tools.Result{}, err
	}
	task := Task{
		ID: unnumbered, Title: in.Title, Prompt: in.Prompt, BlockedBy: in.BlockedBy, NotBefore: after, Priority: in.Priority, Trust: call.Trust,
		Tainted: call.Tainted, Typed: call.Typed && !call.Tainted, ReplyTo: answersTo(call.ReplyTo), Created: call.Now,
	}
	if task.Plain, err = t.prompts.Plain(task.prompt(), in.Plain, "", false); err != nil {
		return tools.Result{}, refusal(err)
	}
	if _, err := b.Add(task); err != nil { // check before a number is used up
		return tools.Result{}, refusal(err)
	}
	if task.ID, err = t.backlog.Reserve(ctx); err != nil {
		return tools.Result{}, err
	}
	step, err := b.Add(task)
	if err != nil {
		return tools.Result{}, refusal(err)
	}
	return t.needing(changed("added: ", b, step.Tasks[0], Add{Task: task}, call), task), nil
}

// needing adds to a result that the task needs a model, if none is connected.
func (t taskTools) needing(res tools.Result, task Task) tools.Result {
	if t.prompts.Lacks(task.prompt(), task.Plain) {
		res.Content += "\n" + event.NeedsModel
	}
	return res
}

// unnumbered replaces the number of a task that has none yet. No task has this number.
const unnumbered = -1

// answersTo returns the reply address of a task: the chat where it was added. For the local API it
// is the owner, wherever the owner is then.
func answersTo(reply event.Address) event.Address {
	if reply == "" || reply.Channel() == event.CLI.Channel() {
		return event.ToOwner
	}
	return reply
}

// changed is the result of a change, with the task in its new state.
func changed(what string, b Backlog, task Task, c Change, call tools.Call) tools.Result {
	return tools.Result{Content: what + line(b, task, call), Data: TasksOutput{Tasks: []Task{task}}, Changes: []tools.Change{c}}
}

// listIntent reads hob's own rows only.
func listIntent(_ context.Context, _ tools.Call, in ListInput) (tools.Intent, error) {
	raw, err := canonical("task_list", in)
	return tools.Intent{Effect: tools.Read, Summary: strings.TrimSpace("list tasks " + in.State), Canonical: raw}, err
}

// list formats the tasks. It reads the tasks that they wait for as well, to name the open ones.
func (t taskTools) list(ctx context.Context, call tools.Call, in ListInput, _ tools.Intent) (tools.Result, error) {
	list, err := t.backlog.Tasks(ctx, event.Filter{State: in.State, Limit: in.Limit})
	if err != nil {
		return tools.Result{}, err
	}
	res := tools.Result{Content: "there are no tasks", Data: TasksOutput{Tasks: list}}
	var ids []int64
	foreign := false
	for _, task := range list {
		ids = append(ids, task.ID)
		foreign = foreign || task.Tainted
	}
	if foreign {
		res.Foreign = "tasks with foreign text in them"
	}
	b, err := t.backlog.Backlog(ctx, ids...)
	if err != nil || len(list) == 0 {
		return res, err
	}
	lines := make([]string, len(list))
	for i, task := range list {
		lines[i] = line(b, task, call)
	}
	res.Content = strings.Join(lines, "\n")
	return res, nil
}

// updateIntent needs the scope schedule, like addIntent.
func (t taskTools) updateIntent(_ context.Context, call tools.Call, in UpdateInput) (tools.Intent, error) {
	if _, err := revision(call, in); err != nil {
		return tools.Intent{}, err
	}
	summary := "change task " + strconv.FormatInt(in.ID, 10)
	switch State(in.State) {
	case Cancelled:
		summary = "cancel task " + strconv.FormatInt(in.ID, 10)
	case Blocked:
		summary = "run task " + strconv.FormatInt(in.ID, 10) + " again"
	}
	if in.Prompt != "" {
		summary += ": " + brief(in.Prompt)
	}
	raw, err := canonical("task_update", in)
	return tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Schedule}, Summary: summary, Canonical: raw}, err
}

// revision converts the input of task_update.
func revision(call tools.Call, in UpdateInput) (Revision, error) {
	r := Revision{ID: in.ID, State: State(in.State), Priority: in.Priority, Trust: call.Trust, Tainted: call.Tainted, Typed: call.Typed && !call.Tainted}
	if in.Title != "" {
		r.Title = &in.Title
	}
	if in.Prompt != "" {
		r.Prompt = &in.Prompt
	}
	if in.BlockedBy != nil {
		r.BlockedBy = &in.BlockedBy
	}
	if in.NotBefore != "" {
		after, err := instant(call, in.NotBefore)
		if err != nil {
			return r, err
		}
		r.NotBefore = &after
	}
	if r.Title == nil && r.Prompt == nil && r.BlockedBy == nil && r.NotBefore == nil && r.Priority == nil && r.State == "" && in.Plain == nil {
		return r, tools.Refuse(tools.Validation, "title, prompt, blocked_by, not_before, priority, plain or state", "task_update: nothing to change is given")
	}
	return r, nil
}

// update plans the change of a task. The store writes it with the result.
func (t taskTools) update(ctx context.Context, call tools.Call, in UpdateInput, _ tools.Intent) (tools.Result, error) {
	r, err := revision(call, in)
	if err != nil {
		return tools.Result{}, err
	}
	b, err := t.backlog.Backlog(ctx, append(slices.Clone(in.BlockedBy), in.ID)...)
	if err != nil {
		return tools.Result{}, err
	}
	if old := b[in.ID]; in.Prompt != "" || in.Plain != nil {
		plain, err := t.prompts.Plain(cmp.Or(strings.TrimSpace(in.Prompt), old.Prompt), in.Plain, old.Prompt, old.Plain)
		if err != nil {
			return tools.Result{}, refusal(err)
		}
		r.Plain = &plain
	}
	step, err := b.Revise(r, call.Now)
	if err != nil {
		return tools.Result{}, refusal(err)
	}
	task := step.Tasks[0]
	what := "changed: "
	if task.State == Cancelled {
		what = "cancelled: "
	}
	res := t.needing(changed(what, b, task, r, call), task)
	if task.Tainted {
		res.Foreign = "a task with foreign text in it"
	}
	if waiting := b.Waiting(task.ID); task.State == Cancelled && len(waiting) > 0 {
		names := make([]string, len(waiting))
		for i, w := range waiting {
			names[i] = w.Name()
		}
		res.Content += "\nstill blocked by it: " + strings.Join(names, ", ")
	}
	return res, nil
}

// instant parses the time before which a task does not run. "" and "now" mean no such time.
func instant(call tools.Call, text string) (time.Time, error) {
	if text == "" || text == "now" {
		return time.Time{}, nil
	}
	t, err := tools.Instant(text, call.Now, call.Zone)
	if err != nil {
		return t, tools.Refuse(tools.Validation, "", "not_before: %v", err)
	}
	return t, nil
}

// line formats a task as one line.
func line(b Backlog, t Task, call tools.Call) string {
	text := fmt.Sprintf("#%d %s | %s%s", t.ID, t.Title, t.State, event.PlainMark(t.Plain && !t.State.Over()))
	if t.State == Blocked {
		var open []string
		for _, id := range t.BlockedBy {
			if b[id].State != Done {
				open = append(open, fmt.Sprintf("#%d (%s)", id, b[id].State))
			}
		}
		text += " by " + strings.Join(open, ", ")
	}
	if t.Priority != 0 {
		text += fmt.Sprintf(" | priority %d", t.Priority)
	}
	if !t.State.Over() && t.NotBefore.After(call.Now) {
		loc, err := tools.Zone(call.Zone)
		if err != nil {
			loc = time.UTC
		}
		text += " | not before " + t.NotBefore.In(loc).Format("Mon 2006-01-02 15:04")
	}
	if t.Result != "" {
		text += " | " + brief(t.Result)
	}
	return text
}
