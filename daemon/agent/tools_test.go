package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
	"hob/tools"
)

type args struct {
	What string `json:"what,omitempty" jsonschema:"anything"`
}

type nothing struct{}

// runner is what a tool of the rig does.
type runner func(ctx context.Context, call tools.Call, what string) (tools.Result, error)

// tool makes a tool that counts its runs. Its canonical bytes are its name and its argument.
func (r *harness) tool(name string, intent tools.Intent, run runner) tools.Tool {
	return tools.New[args, nothing](tools.Spec{Name: name, Group: "test", Core: true, Description: "A tool of the test."}, r.intent(name, intent, nil), r.run(name, run))
}

func (r *harness) intent(name string, i tools.Intent, more func() string) func(context.Context, tools.Call, args) (tools.Intent, error) {
	return func(_ context.Context, _ tools.Call, in args) (tools.Intent, error) {
		made := i
		made.Summary = name + " " + in.What
		made.Canonical = []byte(name + "\x00" + in.What)
		if more != nil {
			made.Canonical = append(made.Canonical, more()...)
		}
		return made, nil
	}
}

func (r *harness) run(name string, run runner) func(context.Context, tools.Call, args, tools.Intent) (tools.Result, error) {
	return func(ctx context.Context, call tools.Call, in args, _ tools.Intent) (tools.Result, error) {
		r.mu.Lock()
		r.ran[name]++
		r.mu.Unlock()
		if run == nil {
			return tools.Result{Content: name + " did " + in.What}, nil
		}
		return run(ctx, call, in.What)
	}
}

func (r *harness) with(list ...tools.Tool) {
	for _, t := range list {
		r.list = slices.DeleteFunc(r.list, func(o tools.Tool) bool { return o.Spec().Name == t.Spec().Name })
		r.list = append(r.list, t)
	}
}

func (r *harness) times(tool string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ran[tool]
}

// use is an answer that calls a tool of the rig.
func use(tool, what string) llm.Answer {
	b, err := json.Marshal(args{What: what})
	if err != nil {
		panic(err)
	}
	return llmtest.Use(tool, string(b))
}

// script answers by the newest message of the request, as its text.
func script(f func(last string, r llm.Request) llm.Answer) llmtest.Reply {
	return llmtest.Always(func(r llm.Request) llm.Answer {
		m := r.Messages[len(r.Messages)-1]
		return f(event.TextOf(m.Parts), r)
	})
}

// valid fails the test when a request could not be sent to a real model: a call without its result, a result without its call.
func valid(t *testing.T, requests []llm.Request) {
	t.Helper()
	for n, req := range requests {
		open := map[string]bool{}
		for _, m := range req.Messages {
			if m.Role != llm.ToolRole && len(open) > 0 {
				t.Errorf("request %d: a %s message comes before the results of %v", n, m.Role, open)
			}
			for _, c := range m.Calls {
				open[c.ID] = true
			}
			if m.Role == llm.ToolRole {
				if !open[m.CallID] {
					t.Errorf("request %d: a result of %s without its call", n, m.CallID)
				}
				delete(open, m.CallID)
			}
		}
		if len(open) > 0 {
			t.Errorf("request %d: no result for %v", n, open)
		}
	}
}
