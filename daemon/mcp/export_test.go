package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/config"
	"hob/daemon/oauth"
	"hob/daemon/sys"
	"hob/tools"
)

// Pin turns what a server lists into what the owner is asked to accept, and returns its hash.
func Pin(c config.MCPServer, list []*sdk.Tool) (Pinned, string, error) {
	p, err := pin("one", reachOf(c, false), list)
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
	p, err := pin(name, reachOf(v.conf, v.free), list)
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

// ReadLines reads what a program writes to its standard output, in pieces. It returns the messages as JSON, and what is no message.
func ReadLines(pieces ...[]byte) (list, skipped []string) {
	reads := make([]io.Reader, len(pieces))
	for i, one := range pieces {
		reads[i] = bytes.NewReader(one)
	}
	svc := NewService(Deps{Clock: sys.RealClock()})
	p := &program{frame: svc.Limits.Frame, in: newGauge(io.NopCloser(io.MultiReader(reads...)), svc), stray: &strays{}, note: func(string, []byte) {}}
	p.stray.log = func(text string) { skipped = append(skipped, text) }
	l := &lines{p: p, in: bufio.NewReader(p.in)}
	for id := range int64(10) {
		l.sent.Store(id, callMethod)
	}
	for {
		m, err := l.Read(context.Background())
		if err != nil {
			return list, skipped
		}
		raw, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			panic(err)
		}
		list = append(list, string(raw))
	}
}

// Mended brings a message of a server into the form of the protocol. It is the answer to a request of this method.
func Mended(method string, raw []byte) []byte {
	return mended(raw, func(int64) string { return method })
}
