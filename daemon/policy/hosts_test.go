package policy_test

import (
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools"
)

// T8: a yes for good to a GET, and a job's right, are for one port of a private host, and say that addresses carry data.
func TestGrantsOfHosts(t *testing.T) {
	get := func(host string) tools.Intent {
		return tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.Net}, Hosts: []string{host}, Private: true}
	}
	pattern := policy.Bound(get("127.0.0.1:8000"))
	if !strings.Contains(pattern, `"127.0.0.1:8000"`) || !strings.Contains(pattern, "send it anything in addresses") {
		t.Errorf("it grants %s", pattern)
	}
	for host, want := range map[string]policy.Verdict{"127.0.0.1:8000": policy.Allow, "127.0.0.1:4620": policy.Ask, "127.0.0.1:80": policy.Ask, "localhost:8000": policy.Ask} {
		c := policy.Case{Tool: "http", Intent: get(host), Asker: event.Owner, Tainted: true, Mode: policy.ModeAsk, Grants: []policy.Grant{{ID: 1, Tool: "http", Pattern: pattern, Tainted: true}}}
		if d := policy.Decide(c); d.Verdict != want {
			t.Errorf("granted, %s: %+v, want %s", host, d, want)
		}
	}
	for _, c := range []struct {
		right, host string
		want        policy.Verdict
	}{
		{"net:nas", "nas:80", policy.Allow},
		{"net:nas", "nas:443", policy.Allow},
		{"net:nas", "nas:8080", policy.Ask},
		{"net:nas:8080", "nas:8080", policy.Allow},
		{"net:nas:8080", "nas:80", policy.Ask},
		{"net:[::1]:8080", "[::1]:8080", policy.Allow},
		{"net", "nas:80", policy.Ask},
		{"net:example.org", "example.org:80", policy.Ask},
	} {
		r, err := policy.ParseRight(c.right)
		if err != nil {
			t.Fatal(err)
		}
		d := policy.Decide(policy.Case{Tool: "http", Intent: get(c.host), Asker: event.Owner, Mode: policy.ModeAsk, Rights: []policy.Right{r}})
		if d.Verdict != c.want {
			t.Errorf("right %s, %s: %+v, want %s", c.right, c.host, d, c.want)
		}
	}
}

// Q2: what a turn that has read foreign text can be granted says who and which; a tool of a server only if it just reads.
func TestBound(t *testing.T) {
	path := []tools.Path{{Path: "/a", Write: true}}
	for name, c := range map[string]struct {
		i    tools.Intent
		want bool
	}{
		"a command":                   {tools.Intent{Scopes: []tools.Scope{tools.Exec, tools.Net}, Summary: "run: ls"}, true},
		"a file":                      {tools.Intent{Scopes: []tools.Scope{tools.FSWrite}, Paths: path}, true},
		"a file that is only read":    {tools.Intent{Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/a"}}}, false},
		"a file and the memory":       {tools.Intent{Scopes: []tools.Scope{tools.FSWrite, tools.MemoryScope}, Paths: path}, false},
		"a file, to an unknown host":  {tools.Intent{Scopes: []tools.Scope{tools.FSWrite, tools.Net}, Paths: path}, false},
		"a mail":                      {tools.Intent{Scopes: []tools.Scope{tools.AccountWrite, tools.Messages}, Accounts: []string{"gmail"}, Addresses: []event.Address{"mail:a@example.org"}}, true},
		"a change of an account":      {tools.Intent{Scopes: []tools.Scope{tools.AccountWrite}, Accounts: []string{"gmail"}}, false},
		"a server's tool that reads":  {tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.MCP}, Server: "bank"}, true},
		"a server's tool":             {tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.MCP}, Server: "bank"}, false},
		"a server's tool with a host": {tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.MCP, tools.Net}, Server: "bank", Hosts: []string{"a.example"}}, false},
		"confirmed each time":         {tools.Intent{Scopes: []tools.Scope{tools.FSWrite}, Paths: path, Confirm: "it is final"}, false},
		"no scope":                    {tools.Intent{}, false},
	} {
		if got := policy.Bound(c.i); (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
