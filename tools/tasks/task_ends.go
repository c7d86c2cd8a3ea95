package tasks

import (
	"context"
	"strings"

	"hob/daemon/text"
	"hob/tools"
)

// CompleteInput is the input of complete_task.
type CompleteInput struct {
	Summary string `json:"summary" jsonschema:"what was done and found, for the owner and the tasks that wait for this" min:"1" max:"20000"`
}

// FailInput is the input of fail_task.
type FailInput struct {
	Reason string `json:"reason" jsonschema:"why it could not be done" min:"1" max:"4000"`
}

// EndOutput is the output of both.
type EndOutput struct {
	State string `json:"state" jsonschema:"done or failed"`
	Text  string `json:"text" jsonschema:"the summary or the reason"`
}

// NewCompleteTask builds the tool complete_task, which ends the turn of a task or job as done.
func NewCompleteTask(b Rows) tools.Tool {
	e := ending{b}
	return tools.New[CompleteInput, EndOutput](tools.Spec{
		Name: "complete_task", Group: group, Terminal: true, Positional: "summary", Example: "'The report is in reports/may.md.'",
		Description: "End this task or job as done. The summary is its result; nothing runs after it.",
	}, func(ctx context.Context, call tools.Call, in CompleteInput) (tools.Intent, error) {
		return e.intent(ctx, call, "complete_task", in.Summary)
	}, func(ctx context.Context, call tools.Call, in CompleteInput, _ tools.Intent) (tools.Result, error) {
		return e.run(ctx, call, tools.End{Text: strings.TrimSpace(in.Summary)})
	})
}

// NewFailTask builds the tool fail_task, which ends the turn of a task or job as failed.
func NewFailTask(b Rows) tools.Tool {
	e := ending{b}
	return tools.New[FailInput, EndOutput](tools.Spec{
		Name: "fail_task", Group: group, Terminal: true, Positional: "reason", Example: "'The site does not answer.'",
		Description: "End this task or job as failed, with the reason. What waits for it stays blocked, and the owner is told.",
	}, func(ctx context.Context, call tools.Call, in FailInput) (tools.Intent, error) {
		return e.intent(ctx, call, "fail_task", in.Reason)
	}, func(ctx context.Context, call tools.Call, in FailInput, _ tools.Intent) (tools.Result, error) {
		return e.run(ctx, call, tools.End{Failed: true, Text: strings.TrimSpace(in.Reason)})
	})
}

// ending implements both tools.
type ending struct{ backlog Rows }

// intent refuses an empty text, and turns that serve no task. Nobody needs to approve the end of a
// turn, so it needs no scopes.
func (e ending) intent(ctx context.Context, call tools.Call, name, text string) (tools.Intent, error) {
	if strings.TrimSpace(text) == "" {
		return tools.Intent{}, tools.Refuse(tools.Validation, "", "%s: the text is empty", name)
	}
	if err := e.serves(ctx, call); err != nil {
		return tools.Intent{}, err
	}
	raw, err := canonical(name, text)
	return tools.Intent{Effect: tools.Keyed, Summary: name + ": " + brief(text), Canonical: raw}, err
}

// serves refuses to end a turn of a conversation: it has no task that could have an outcome.
func (e ending) serves(ctx context.Context, call tools.Call) error {
	yes, err := e.backlog.Serves(ctx, call.Turn)
	if err == nil && !yes {
		err = tools.Refuse(tools.Conflict, "answer in words instead", "this turn runs neither a task nor a job")
	}
	return err
}

// run ends the turn through Result.Next. The store records the outcome of the task in the same
// commit.
func (e ending) run(_ context.Context, _ tools.Call, end tools.End) (tools.Result, error) {
	state := "done"
	if end.Failed {
		state = "failed"
	}
	return tools.Result{Content: state + ": " + end.Text, Data: EndOutput{State: state, Text: end.Text}, Next: end}, nil
}

// brief shortens a text to one line of 80 characters.
func brief(s string) string { return text.Line(s, 80) }
