package policy_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools"
)

// A job that is limited to some tools may call no others, in every mode and whatever else would allow the call. Reading the catalog does
// not count as using a tool.
func TestOnlyTheToolsOfAJob(t *testing.T) {
	for _, tc := range []struct {
		tool string
		only []string
		want policy.Verdict
	}{
		{"exec", nil, policy.Allow},
		{"exec", []string{"read", "grep"}, policy.Deny},
		{"grep", []string{"read", "grep"}, policy.Allow},
		{"gre", []string{"read", "grep"}, policy.Deny},
		{tools.CatalogTool, []string{"read"}, policy.Allow},
	} {
		for _, mode := range []policy.Mode{policy.ModeAsk, policy.ModeOpen} {
			d := policy.Decide(policy.Case{Tool: tc.tool, Intent: tools.Intent{Effect: tools.Read}, Asker: event.Owner, Typed: true, Only: tc.only, Mode: mode})
			if d.Verdict != tc.want {
				t.Errorf("%s of %v, mode %s: %+v", tc.tool, tc.only, mode, d)
			}
			if d.Verdict == policy.Deny && (!strings.Contains(d.Reason, "read, grep") || !strings.Contains(d.Allow, "--tools")) {
				t.Errorf("%s is told: %+v", tc.tool, d)
			}
		}
	}
}

// A run with limits cannot remove them: not by changing its own job, nor by making one without limits.
func TestLimitsAreNotLifted(t *testing.T) {
	change, look := tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Schedule}}, tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.Schedule}}
	for _, tc := range []struct {
		name    string
		intent  tools.Intent
		limited bool
		asker   event.Trust
		want    policy.Verdict
	}{
		{"a change", change, true, event.Owner, policy.Ask},
		{"a look", look, true, event.Owner, policy.Allow},
		{"of a run without limits", change, false, event.Owner, policy.Allow},
		{"of somebody else's", change, true, event.Machine, policy.Deny},
	} {
		c := policy.Case{Tool: "cron", Intent: tc.intent, Asker: tc.asker, Limited: tc.limited, Only: []string{"cron"}, Mode: policy.ModeAsk}
		if d := policy.Decide(c); d.Verdict != tc.want || d.Verdict == policy.Ask && !strings.Contains(d.Reason, "limits") {
			t.Errorf("%s: %+v", tc.name, d)
		}
		if c.Child = true; tc.want == policy.Ask && policy.Decide(c).Verdict != policy.Deny {
			t.Errorf("%s: a sub-agent may ask", tc.name)
		}
	}
}
