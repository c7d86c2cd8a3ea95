package agent_test

import (
	"context"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/tools"
)

// A skill that lists tools leaves its turn those, and no other from then on. The next turn has all again.
func TestASkillNarrowsItsTurn(t *testing.T) {
	answers := script(func(last string, _ llm.Request) llm.Answer {
		switch {
		case strings.HasPrefix(last, "begin"), strings.HasPrefix(last, "practise did"):
			return use("look", "around")
		case strings.Contains(last, "practise"):
			return use("practise", "it")
		case strings.HasPrefix(last, "look did"):
			return use("touch", "all")
		}
		return llm.Answer{Text: last}
	})
	intent := tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.MemoryScope}}
	practise := func(context.Context, tools.Call, string) (tools.Result, error) {
		return tools.Result{Content: "practise did it", Skill: &event.Skill{Name: "tidy", Only: []string{"look"}}}, nil
	}
	bubble(t, answers, func(r *harness) {
		r.ask("practise")
		if r.times("look") != 1 || r.times("touch") != 0 || !strings.Contains(r.lastBody(), "tidy") {
			t.Errorf("under the skill: look %d times, touch %d times: %q", r.times("look"), r.times("touch"), r.lastBody())
		}
		r.ask("begin")
		if r.times("look") != 2 || r.times("touch") != 1 {
			t.Errorf("in the next turn: look %d times, touch %d times: %q", r.times("look"), r.times("touch"), r.lastBody())
		}
	}, func(r *harness) {
		r.with(r.tool("look", intent, nil), r.tool("touch", intent, nil), r.tool("practise", intent, practise))
	})
}
