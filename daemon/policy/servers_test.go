package policy_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools"
)

// Who may call an MCP server: the owner's untainted turn. A tainted one asks, unless the owner has cleared the call. A job needs the right of
// exactly this server. Nobody else may, whatever they are given.
func TestServers(t *testing.T) {
	t.Parallel()
	notes := []policy.Right{{Kind: "mcp", To: "notes"}}
	call := tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.MCP}, Server: "notes", Summary: "x"}
	cleared := call
	cleared.Cleared = true
	for name, tc := range map[string]struct {
		c    policy.Case
		want policy.Verdict
	}{
		"the owner":                         {policy.Case{Intent: call, Asker: event.Owner}, policy.Allow},
		"the owner, tainted":                {policy.Case{Intent: call, Asker: event.Owner, Tainted: true}, policy.Ask},
		"the owner, tainted, typed":         {policy.Case{Intent: call, Asker: event.Owner, Tainted: true, Typed: true}, policy.Allow},
		"the owner, tainted, cleared":       {policy.Case{Intent: cleared, Asker: event.Owner, Tainted: true}, policy.Allow},
		"the owner's sub-agent, tainted":    {policy.Case{Intent: call, Asker: event.Owner, Tainted: true, Child: true}, policy.Deny},
		"a job with the right":              {policy.Case{Intent: call, Asker: event.Owner, Tainted: true, Rights: notes}, policy.Allow},
		"a job with another right":          {policy.Case{Intent: call, Asker: event.Owner, Tainted: true, Rights: []policy.Right{{Kind: "mcp", To: "note"}, {Kind: "exec"}, {Kind: "net"}}}, policy.Ask},
		"a webhook":                         {policy.Case{Intent: cleared, Asker: event.Machine}, policy.Deny},
		"a webhook with the right":          {policy.Case{Intent: cleared, Asker: event.Machine, Rights: notes}, policy.Deny},
		"a known person":                    {policy.Case{Intent: cleared, Asker: event.Known}, policy.Deny},
		"a known person's job, somehow":     {policy.Case{Intent: cleared, Asker: event.Known, Rights: notes}, policy.Deny},
		"a stranger":                        {policy.Case{Intent: cleared, Asker: event.Public}, policy.Deny},
		"in safe mode":                      {policy.Case{Intent: cleared, Asker: event.Owner, Safe: true}, policy.Deny},
		"while a plan is made":              {policy.Case{Intent: call, Asker: event.Owner, Plan: true}, policy.Deny},
		"a tool that reads, while planning": {policy.Case{Intent: tools.Intent{Effect: tools.Read, Scopes: call.Scopes, Server: "notes"}, Asker: event.Owner, Plan: true}, policy.Allow},
	} {
		tc.c.Tool, tc.c.Mode = "notes__add", policy.ModeAsk
		if d := policy.Decide(tc.c); d.Verdict != tc.want || d.Reason == "" {
			t.Errorf("%s: %+v, want %s", name, d, tc.want)
		}
	}
	// What "always" would allow is said as it is: the server may get anything.
	if p := policy.Pattern(call); !strings.Contains(p, `send anything that hob knows to the MCP server "notes"`) {
		t.Errorf("the pattern is %q", p)
	}
	// Nothing that foreign text starts gets the right.
	if _, err := policy.RightsOfOthers("mcp:notes", nil); err == nil {
		t.Error("a watch gets the right to an MCP server")
	}
	if list, err := policy.Rights("mcp:notes", nil); err != nil || len(list) != 1 || list[0] != "mcp:notes" {
		t.Errorf("rights %v, %v", list, err)
	}
}
