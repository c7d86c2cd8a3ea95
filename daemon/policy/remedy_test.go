package policy_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools"
)

// TestRemedyEndsItsSentence (U65): what would always allow a call of a conversation that has read foreign text ends the line "always allowed
// by: ", and is no order of its own.
func TestRemedyEndsItsSentence(t *testing.T) {
	for name, i := range map[string]tools.Intent{
		"a command":              {Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}},
		"a change of an account": {Effect: tools.Keyed, Scopes: []tools.Scope{tools.AccountWrite}, Accounts: []string{"caldav"}},
	} {
		i.Summary, i.Canonical = name, []byte("{}")
		d := policy.Decide(policy.Case{Intent: i, Asker: event.Owner, Tainted: true, Tool: "x", Mode: policy.ModeAsk})
		text := policy.ApprovalText("May I", i, d)
		if d.Verdict != policy.Ask || !strings.Contains(text, "\n  always allowed by: a conversation without foreign text (/clean or /new begins one), or --allow ") {
			t.Errorf("%s: %+v\n%s", name, d, text)
		}
	}
}
