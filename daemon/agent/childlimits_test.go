package agent_test

import (
	"context"
	"fmt"
	"testing"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/llm/llmtest"
)

// All of a family share the requests of one turn, and spend for the parent.
func TestBudgetOfChildren(t *testing.T) {
	n := 0
	bubble(t, parentAndChild(spawns(task(map[string]any{"prompt": "p"})), func(context.Context, string, llm.Request) (llm.Answer, error) {
		n++
		return use("read", fmt.Sprint(n)), nil
	}), func(r *harness) {
		r.ask("go")
		r.wantStates(turn.Done, turn.Failed)
		contains(t, r.lastBody(), "did not finish: it needed more than 4 model requests") // half of what the parent's one leaves of ten
		if n != 4 {
			t.Errorf("it made %d requests", n)
		}
		b := r.budget()
		if len(b.Sources) != 1 || b.Sources[0].Source != "main" {
			t.Errorf("spent for %+v", b.Sources)
		}
	}, withSubagents, func(r *harness) { r.limits.Requests = 10 })
}

func TestResumeAndModel(t *testing.T) {
	small := llmtest.NewScript(llmtest.Always(func(q llm.Request) llm.Answer {
		return llmtest.Say(fmt.Sprint("small read ", len(q.Messages)))
	})).As(llm.Info{Provider: "p", Model: "small", Context: 100_000, MaxOutput: 1000})
	bubble(t, parentAndChild(func(_ context.Context, last string, _ llm.Request) (llm.Answer, error) {
		switch last {
		case "go":
			return task(map[string]any{"prompt": "p"}), nil
		case "again":
			return task(map[string]any{"prompt": "and?", "resume": "t1_1", "model": "small"}), nil
		case "no":
			return task(map[string]any{"prompt": "and?", "resume": "t9_9"}), nil
		case "what":
			return task(map[string]any{"prompt": "p", "model": "huge"}), nil
		}
		return llmtest.Say("heard: " + last), nil
	}, usable("found")), func(r *harness) {
		r.ask("go")
		r.ask("again")
		r.wantStates(turn.Done, turn.Done, turn.Done, turn.Done)
		if r.lastBody() != "heard: small read 3" || r.turns()[3].Session != "child:t1_1" {
			t.Errorf("it says %q in %s", r.lastBody(), r.turns()[3].Session)
		}
		r.ask("no")
		contains(t, r.lastBody(), "there is: t1_1")
		r.ask("what")
		contains(t, r.lastBody(), "there is small")
		r.wantStates(turn.Done, turn.Done, turn.Done, turn.Done, turn.Done, turn.Done)
	}, withSubagents, func(r *harness) { r.small = small })
}
