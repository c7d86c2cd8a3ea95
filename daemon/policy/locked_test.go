package policy_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools"
)

// A file that the owner has locked is changed only with the owner's word, in every mode and whatever rights a trigger has.
func TestLockedFiles(t *testing.T) {
	const path = "/ws/AGENTS.md"
	write := tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: path, Write: true, Area: tools.Workspace}}}
	all := []policy.Right{{Kind: "write", To: "/ws"}, {Kind: "exec"}}
	for name, tc := range map[string]struct {
		c    policy.Case
		want policy.Verdict
	}{
		"the owner's turn":       {policy.Case{}, policy.Ask},
		"open mode":              {policy.Case{Mode: policy.ModeOpen}, policy.Ask},
		"a job with every right": {policy.Case{Rights: all}, policy.Ask},
		"a command":              {policy.Case{Tool: "exec", Intent: tools.Intent{Scopes: []tools.Scope{tools.Exec}, Sandboxed: true, Paths: write.Paths}}, policy.Ask},
		"a tainted turn":         {policy.Case{Tainted: true}, policy.Ask},
		"somebody else":          {policy.Case{Asker: event.Known}, policy.Deny},
		"a sub-agent":            {policy.Case{Child: true}, policy.Deny},
		"the owner typed it":     {policy.Case{Typed: true}, policy.Allow},
		"the owner said always":  {policy.Case{Grants: []policy.Grant{{ID: 1, Tool: "write", Pattern: policy.Pattern(write)}}}, policy.Allow},
	} {
		c := tc.c
		c.Locked = []string{path}
		if c.Tool == "" {
			c.Tool, c.Intent = "write", write
		}
		if c.Asker == "" {
			c.Asker = event.Owner
		}
		if c.Mode == "" {
			c.Mode = policy.ModeAsk
		}
		d := policy.Decide(c)
		if d.Verdict != tc.want || d.Verdict == policy.Ask && !c.Tainted && !strings.Contains(d.Reason, path+" says agent-modification: false") {
			t.Errorf("%s: %+v, want %s", name, d, tc.want)
		}
	}
}

// A call that the owner confirms one by one, such as the removal of a fact, is granted neither for good nor for a turn. A grant that is stored
// from before does not apply.
func TestConfirmedOneByOne(t *testing.T) {
	i := tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.MemoryScope, tools.FSWrite}, Paths: []tools.Path{{Path: "/ws/MEMORY.md", Write: true, Area: tools.Workspace}}}
	stored := policy.Grant{ID: 1, Tool: "memory_forget", Pattern: policy.Pattern(i)}
	i.Confirm = "it cannot be brought back"
	d := policy.Decide(policy.Case{Tool: "memory_forget", Intent: i, Asker: event.Owner, Mode: policy.ModeAsk, Grants: []policy.Grant{stored}})
	if d.Verdict != policy.Ask || d.Reason != i.Confirm {
		t.Errorf("with a stored grant: %+v", d)
	}
	if p := policy.Pattern(i); p != "" {
		t.Errorf("it can be granted for good: %q", p)
	}
	if policy.Ordinary(i) {
		t.Error("it can be allowed for a turn")
	}
}
