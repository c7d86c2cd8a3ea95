package agent_test

import (
	"context"
	"testing"

	"hob/daemon/llm/llmtest"
	"hob/tools"
)

// TestTheAuditSaysWhatTheGateDidNotSee (U42): the gate denied nothing where a call names what is not there, has wrong arguments or no tool. The
// warnings of a command are in its row, also when nobody was asked.
func TestTheAuditSaysWhatTheGateDidNotSee(t *testing.T) {
	calls := llmtest.UseAll(use("nothere", "x"), use("missing", "x"), llmtest.Use("look", `{"wat": 1}`), use("secret", "x"), use("careful", "x"))
	bubble(t, llmtest.InOrder(calls, llmtest.Say("done")), func(r *harness) {
		r.ask("go")
		audit := r.turn(1).Audit
		if len(audit) != 5 {
			t.Fatalf("%+v", audit)
		}
		for _, a := range audit {
			want := map[string][3]string{
				"nothere": {"not judged", "NOT_FOUND"}, "missing": {"not judged", "NOT_FOUND"}, "look": {"not judged", "VALIDATION_ERROR"},
				"secret": {"deny", "PERMISSION_DENIED"}, "careful": {"allow", "ok", "removes folders; is in a hurry"},
			}[a.Tool]
			if got := [3]string{a.Decision, a.Outcome, a.Warnings}; got != want {
				t.Errorf("%s: %q, want %q", a.Tool, got, want)
			}
		}
	}, func(r *harness) {
		r.with(
			tools.New[args, nothing](tools.Spec{Name: "missing", Group: "test", Description: "Needs something."},
				func(context.Context, tools.Call, args) (tools.Intent, error) {
					return tools.Intent{}, tools.Refuse(tools.NotFound, "", "there is no job x")
				}, r.run("missing", nil)),
			r.tool("secret", tools.Intent{Effect: tools.Read, Denied: "it is hob's own"}, nil),
			r.tool("careful", tools.Intent{Effect: tools.Read, Warnings: []string{"removes folders", "is in a hurry"}}, nil),
		)
	})
}
