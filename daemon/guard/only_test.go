package guard_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/guard"
	"hob/tools"
)

// The tools that a job is limited to are its only ones, in every mode and whatever else would allow the call; to look at the catalog is
// no use of a tool.
func TestOnlyTheToolsOfAJob(t *testing.T) {
	for _, tc := range []struct {
		tool string
		only []string
		want guard.Verdict
	}{
		{"exec", nil, guard.Allow},
		{"exec", []string{"read", "grep"}, guard.Deny},
		{"grep", []string{"read", "grep"}, guard.Allow},
		{"gre", []string{"read", "grep"}, guard.Deny},
		{tools.Catalog, []string{"read"}, guard.Allow},
	} {
		for _, mode := range []guard.Mode{guard.ModeAsk, guard.ModeOpen} {
			d := guard.Decide(guard.Case{Tool: tc.tool, Intent: tools.Intent{Effect: tools.Read}, Asker: event.Owner, Typed: true, Only: tc.only, Mode: mode})
			if d.Verdict != tc.want {
				t.Errorf("%s of %v, mode %s: %+v", tc.tool, tc.only, mode, d)
			}
			if d.Verdict == guard.Deny && (!strings.Contains(d.Reason, "read, grep") || !strings.Contains(d.Allow, "--tools")) {
				t.Errorf("%s is told: %+v", tc.tool, d)
			}
		}
	}
}
