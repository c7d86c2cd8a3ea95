package policy_test

import (
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools"
)

// TestASkillNarrowsAndNeverGrants compares each decision with and without a running skill: it is the same for tools that the skill leaves,
// and a denial for the others, in both modes.
func TestASkillNarrowsAndNeverGrants(t *testing.T) {
	var none *policy.Narrowed
	one := none.With("tidy", []string{"read", "exec"})
	both := one.With("other", []string{"exec", "write"})
	nothing := none.With("silent", []string{})
	intents := map[string]tools.Intent{
		"read":  {Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{{Path: "/w/a", Area: tools.Workspace}}},
		"write": {Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/w/a", Write: true, Area: tools.Workspace}}},
		"exec":  {Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}},
		"skill": {Effect: tools.Read}, "tool": {Effect: tools.Read}, "result_read": {Effect: tools.Read},
	}
	for _, c := range []struct {
		narrowed *policy.Narrowed
		leaves   map[string]bool
	}{
		{one, map[string]bool{"read": true, "exec": true}},
		{both, map[string]bool{"exec": true}},
		{nothing, nil},
	} {
		for name, i := range intents {
			for _, mode := range []policy.Mode{policy.ModeAsk, policy.ModeOpen} {
				free := policy.Case{Tool: name, Intent: i, Asker: event.Owner, Mode: mode}
				held := free
				held.Narrowed = c.narrowed
				before, after := policy.Decide(free), policy.Decide(held)
				always := name == "skill" || name == "tool" || name == "result_read"
				if c.leaves[name] || always {
					if before != after {
						t.Errorf("%s under %+v in %s: %+v, without it %+v", name, c.narrowed, mode, after, before)
					}
				} else if after.Verdict != policy.Deny {
					t.Errorf("%s under %+v in %s: %+v", name, c.narrowed, mode, after)
				}
			}
		}
	}
}
