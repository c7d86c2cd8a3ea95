package mcp

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/config"
	"hob/daemon/oauth"
	"hob/daemon/sys"
	"hob/tools"
)

// Pin turns what a server lists into what the owner is asked to accept, and returns its hash.
func Pin(c config.MCPServer, list []*sdk.Tool) (Pinned, string, error) {
	p, err := pin(reachOf(c, false), list)
	if err != nil {
		return p, "", err
	}
	raw, err := tools.Canonical(p)
	return p, hashOf(raw), err
}

// Diff lists what changed from one list to the next.
func Diff(was *Pinned, now Pinned) []string { return diff(was, now) }

// Within lets the tests wait for a value that comes too late.
func Within(ctx context.Context, spawn *sys.Group, late func(string), f func() (string, error)) (string, error) {
	return within(ctx, spawn, late, f)
}

// OpenLink is the link of the open sign-in of a server; "": there is none.
func OpenLink(ctx context.Context, s *Service, name string) string {
	v, err := s.find(name)
	if err != nil || v.account == nil {
		return ""
	}
	return v.account.Link(ctx)
}

// AskSignIn is the question of a turn that needs a sign-in.
func AskSignIn(in oauth.SignIn) string {
	r, _ := askSignIn(tools.Call{Turn: 1}, "notes", &refusal{signIn: in})
	return r.Next.(tools.Wait).Ask.Text
}

// AsksSecret says whether a form would be declined.
func AsksSecret(message string, schema json.RawMessage) (bool, error) {
	s, names, err := fieldsOf(schema)
	return err == nil && asksSecret(message, s, names), err
}

// ReadForm reads an answer.
func ReadForm(schema json.RawMessage, answer string) (map[string]any, error) {
	s, names, err := fieldsOf(schema)
	if err != nil {
		return nil, err
	}
	return readForm(s, names, answer)
}

// Cleared lists the tools of a server that tainted turns may call without asking, when the owner has accepted its list under a config.
func Cleared(c *config.Snapshot, name string, list []*sdk.Tool) (names []string, goes string, err error) {
	v := newServer(&Service{}, name, c)
	p, err := pin(reachOf(v.conf, v.free), list)
	for _, d := range v.defs(decision{hash: "x", list: func() Pinned { return p }}, false) {
		if d.Cleared {
			names = append(names, d.Name)
		}
	}
	return names, v.goes(), err
}

// Compare compares a value with the schema of a tool's results.
func Compare(schema json.RawMessage, value any) (fits bool, err error) {
	s, _, err := comparison(schema)
	return err == nil && s.Validate(value) == nil, err
}

// OddLine returns a line of a program's output that can be no part of JSON; "" for others.
func OddLine(line string) string { return oddLine([]byte(line)) }
