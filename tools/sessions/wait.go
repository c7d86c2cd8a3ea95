package sessions

import (
	"context"
	"slices"
	"strings"
	"time"

	"hob/tools"
)

// mostWait is the longest wait.
const mostWait = 366 * 24 * time.Hour

// WaitInput is the input of wait_task: exactly one of its fields.
type WaitInput struct {
	Until string `json:"until,omitempty" jsonschema:"a time: RFC 3339, or HH:MM"`
	For   string `json:"for,omitempty" jsonschema:"a duration: 10m, 2h, 3d"`
	Event string `json:"event,omitempty" jsonschema:"an event type such as turn.finished, or type:key"`
}

// WaitOutput is the output of wait_task. The end of the wait becomes the result of the call later.
type WaitOutput struct {
	Until time.Time `json:"until,omitzero" jsonschema:"of a time: when the turn goes on"`
	Event string    `json:"event,omitempty" jsonschema:"of an event: what it waits for"`
}

// NewWaitTask builds the tool wait_task, which parks the turn until a time or an event. events are
// the types of hob's event stream; it refuses others, because their wait would never end.
func NewWaitTask(events []string) tools.Tool {
	w := waiter{events}
	return tools.New[WaitInput, WaitOutput](tools.Spec{
		Name: "wait_task", Group: "sessions", Terminal: true, Positional: "until", Example: "--for 10m",
		Description: "Park this turn until a time, for a while, or until an event; it goes on by itself, also days later.",
	}, w.intent, w.run)
}

// waiter implements wait_task.
type waiter struct{ events []string }

// intent checks the input early.
func (w waiter) intent(_ context.Context, call tools.Call, in WaitInput) (tools.Intent, error) {
	if _, err := w.wait(call, in); err != nil {
		return tools.Intent{}, err
	}
	canonical, err := tools.CanonicalCall("wait_task", in)
	return tools.Intent{
		Effect: tools.Keyed, Scopes: []tools.Scope{tools.Sessions}, Summary: "wait: " + in.Until + in.For + in.Event, Canonical: canonical,
	}, err
}

// run parks the turn through Result.Next.
func (w waiter) run(_ context.Context, call tools.Call, in WaitInput, _ tools.Intent) (tools.Result, error) {
	wait, err := w.wait(call, in)
	if err != nil {
		return tools.Result{}, err
	}
	content := "waiting for " + wait.Subject
	if wait.Kind == tools.ForTimer {
		content = "waiting until " + call.Shown(wait.Until)
	}
	return tools.Result{Content: content, Data: WaitOutput{Until: wait.Until, Event: wait.Subject}, Next: wait}, nil
}

// wait checks the input and returns the wait.
func (w waiter) wait(call tools.Call, in WaitInput) (tools.Wait, error) {
	given := 0
	for _, f := range []string{in.Until, in.For, in.Event} {
		if f != "" {
			given++
		}
	}
	if given != 1 {
		return tools.Wait{}, tools.Refuse(tools.Validation, `for instance {"for": "10m"}`, "wait_task: want exactly one of until, for and event, got %d", given)
	}
	if in.Event != "" {
		return w.event(in.Event)
	}
	until, err := tools.Instant(in.Until, call.Now, call.Zone)
	if in.For != "" {
		var d time.Duration
		d, err = tools.Duration(in.For)
		until = call.Now.Add(d)
	}
	if err != nil {
		return tools.Wait{}, tools.Refuse(tools.Validation, "", "%v", err)
	}
	switch left := until.Sub(call.Now); {
	case left <= 0:
		return tools.Wait{}, tools.Refuse(tools.Validation, "", "%s is in the past; it is %s now", in.Until+in.For, call.Shown(call.Now))
	case left > mostWait:
		return tools.Wait{}, tools.Refuse(tools.Validation, "add a job with cron instead", "a turn waits for at most a year")
	}
	return tools.Wait{Kind: tools.ForTimer, Until: until}, nil
}

// event returns the wait for an event, "type" or "type:key".
func (w waiter) event(subject string) (tools.Wait, error) {
	kind, key, keyed := strings.Cut(subject, ":")
	if keyed && key == "" {
		return tools.Wait{}, tools.Refuse(tools.Validation, "", "event: the key after the colon is missing")
	}
	if !slices.Contains(w.events, kind) {
		return tools.Wait{}, tools.Refuse(tools.Validation, tools.Instead(kind, w.events, len(w.events)), "event: there is no event type %q", shortID(kind))
	}
	return tools.Wait{Kind: tools.ForEvent, Subject: subject}, nil
}
