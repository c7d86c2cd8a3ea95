package policy_test

import (
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools"
)

// The owner's turns read in accounts, tainted ones too. A tainted turn asks before it changes something there, unless its job has the right of exactly
// this account. Nobody else may do either, whatever they are given.
func TestAccounts(t *testing.T) {
	t.Parallel()
	rights := func(list ...string) (out []policy.Right) {
		for _, s := range list {
			r, err := policy.ParseRight(s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, r)
		}
		return out
	}
	read := tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.AccountRead}, Accounts: []string{"caldav"}}
	write := tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.AccountWrite}, Accounts: []string{"caldav"}}
	invites := write
	invites.Confirm = "it invites a@example.org"
	both := rights("account:caldav:write", "account:caldav")
	for name, tc := range map[string]struct {
		c    policy.Case
		want policy.Verdict
	}{
		"the owner reads":                   {policy.Case{Intent: read, Asker: event.Owner}, policy.Allow},
		"the owner reads, tainted":          {policy.Case{Intent: read, Asker: event.Owner, Tainted: true}, policy.Allow},
		"a known person reads":              {policy.Case{Intent: read, Asker: event.Known}, policy.Deny},
		"a webhook reads with a right":      {policy.Case{Intent: read, Asker: event.Machine, Rights: both}, policy.Deny},
		"the owner writes":                  {policy.Case{Intent: write, Asker: event.Owner}, policy.Allow},
		"the owner writes, tainted":         {policy.Case{Intent: write, Asker: event.Owner, Tainted: true}, policy.Ask},
		"a job writes, tainted":             {policy.Case{Intent: write, Asker: event.Owner, Tainted: true, Rights: both}, policy.Allow},
		"with the right to read only":       {policy.Case{Intent: write, Asker: event.Owner, Tainted: true, Rights: rights("account:caldav")}, policy.Ask},
		"with the right of another account": {policy.Case{Intent: write, Asker: event.Owner, Tainted: true, Rights: rights("account:google:write", "exec", "net", "mcp:caldav")}, policy.Ask},
		"a webhook writes with the right":   {policy.Case{Intent: write, Asker: event.Machine, Rights: both}, policy.Deny},
		"an invitation":                     {policy.Case{Intent: invites, Asker: event.Owner}, policy.Ask},
		"an invitation with the right":      {policy.Case{Intent: invites, Asker: event.Owner, Rights: both}, policy.Ask},
		"an invitation in open mode":        {policy.Case{Intent: invites, Asker: event.Owner, Mode: policy.ModeOpen}, policy.Ask},
		"an invitation that is typed":       {policy.Case{Intent: invites, Asker: event.Owner, Typed: true}, policy.Allow},
		"a write while planning":            {policy.Case{Intent: write, Asker: event.Owner, Plan: true}, policy.Deny},
		"a sub-agent writes, tainted":       {policy.Case{Intent: write, Asker: event.Owner, Tainted: true, Child: true}, policy.Deny},
	} {
		tc.c.Tool = "calendar_x"
		if tc.c.Mode == "" {
			tc.c.Mode = policy.ModeAsk
		}
		if d := policy.Decide(tc.c); d.Verdict != tc.want || d.Reason == "" {
			t.Errorf("%s: %+v, want %s", name, d, tc.want)
		}
	}
	if p := policy.Pattern(invites); p != "" {
		t.Errorf("an invitation may be granted for ever: %q", p)
	}
	for _, bad := range []string{"account", "account:", "account:caldav:read", "account:a b", "account:caldav:write:x"} {
		if _, err := policy.ParseRight(bad); err == nil {
			t.Errorf("%q is a right", bad)
		}
	}
	if _, err := policy.RightsOfOthers("account:caldav", nil); err == nil {
		t.Error("a watch gets the right to an account")
	}
	if list, err := policy.Rights("account:caldav:write", nil); err != nil || len(list) != 1 || list[0] != "account:caldav:write" {
		t.Errorf("rights %v, %v", list, err)
	}
}
