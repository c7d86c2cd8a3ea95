package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
)

func field(name, kind, title, about string) json.RawMessage {
	raw, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{name: map[string]any{"type": kind, "title": title, "description": about}}})
	if err != nil {
		panic(err)
	}
	return raw
}

// A form that wants a secret is declined, in whichever of its words that shows; others are not.
func TestSecretFields(t *testing.T) {
	for _, words := range []string{
		"password", "Password", "user_password", "passWord", "pass word", "PASS-PHRASE", "API key", "apiKey", "api_key", "api-key", "Your key", "access token", "token", "client secret",
		"card", "credit card number", "PIN", "cvv", "OTP", "one-time code", "2FA", "seed phrase", "session cookie", "private key", "Passwort", "Kennwort", "contraseña", "mot de passe", "пароль", "密码",
		"p\u200bassword", "pass\u00adword", "pa\u0301ssword", "IBAN", "credentials", "bearer",
	} {
		for at, schema := range map[string]json.RawMessage{
			"name": field(words, "string", "", ""), "title": field("value", "string", words, ""), "description": field("value", "string", "", "please give "+words+" here"), "a number": field(words, "number", "", ""),
		} {
			if strings.ContainsAny(words, "\u200b\u00ad") && (at == "name" || at == "a number") {
				continue // such a name is refused anyway
			}
			if asks, err := mcp.AsksSecret("Hello", schema); err != nil || !asks {
				t.Errorf("%q as %s is asked for (%v)", words, at, err)
			}
		}
	}
	if asks, _ := mcp.AsksSecret("Type your password", field("value", "string", "", "")); !asks {
		t.Error("a message that asks for a password is shown")
	}
	for _, words := range []string{"keyboard", "monkey", "colour", "pinned", "discard", "cardinal", "tangent", "postal code", "name", "a passage", "compass"} {
		if asks, err := mcp.AsksSecret("Hello", field("value", "string", words, words)); err != nil || asks {
			t.Errorf("%q is not asked for (%v)", words, err)
		}
	}
	choice := json.RawMessage(`{"type": "object", "properties": {"key": {"type": "string", "enum": ["major", "minor"]}}}`)
	if asks, err := mcp.AsksSecret("Which key?", choice); err != nil || asks {
		t.Errorf("a choice among fixed values: %v", err)
	}
}

// The owner's words become the values of the form, or an error that he can read.
func TestReadForm(t *testing.T) {
	two := `{"type": "object", "required": ["name"], "properties": {"name": {"type": "string", "minLength": 2}, "age": {"type": "integer", "minimum": 0}}}`
	one := func(f string) string { return `{"type": "object", "required": ["x"], "properties": {"x": ` + f + `}}` }
	for _, c := range []struct {
		schema, answer string
		want           map[string]any
	}{
		{one(`{"type": "string"}`), "blue: a colour", map[string]any{"x": "blue: a colour"}},
		{one(`{"type": "number"}`), "2.5", map[string]any{"x": 2.5}},
		{one(`{"type": "integer"}`), "2.5", nil},
		{one(`{"type": "number"}`), "two", nil},
		{one(`{"type": "boolean"}`), "YES", map[string]any{"x": true}},
		{one(`{"type": "boolean"}`), "no", map[string]any{"x": false}},
		{one(`{"type": "boolean"}`), "perhaps", nil},
		{one(`{"type": "string", "enum": ["Red", "Blue"]}`), "blue", map[string]any{"x": "Blue"}},
		{one(`{"type": "string", "enum": ["Red", "Blue"]}`), "green", nil},
		{one(`{"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}`), "r", map[string]any{"x": "r"}},
		{one(`{"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}`), "a, B", map[string]any{"x": []any{"a", "b"}}},
		{one(`{"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}`), "a, c", nil},
		{one(`{"type": "string", "maxLength": 3}`), "long", nil},
		{two, "Name: Sam\n\n- age: 40", map[string]any{"name": "Sam", "age": 40.0}},
		{two, "name: Sam", map[string]any{"name": "Sam"}},
		{two, "age: 40", nil},
		{two, "name: Sam\nage: -1", nil},
		{two, "name: Sam\nheight: 2", nil},
		{two, "Sam", nil},
		{two, "", nil},
		{two, "ok", nil},
		{`{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}`, "OK", map[string]any{}},
	} {
		got, err := mcp.ReadForm(json.RawMessage(c.schema), c.answer)
		if (err == nil) != (c.want != nil) || !cmp.Equal(got, c.want) {
			t.Errorf("%s: %q: %v, %v", c.schema, c.answer, got, err)
		}
	}
	many := map[string]any{}
	for i := range 21 {
		many[fmt.Sprint("f", i)] = map[string]any{"type": "string"}
	}
	raw, err := json.Marshal(map[string]any{"type": "object", "properties": many})
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range []string{string(raw), `{"type": "object", "properties": {"a\u200b": {"type": "string"}}}`, `[]`} {
		if _, err := mcp.ReadForm(json.RawMessage(schema), "x"); err == nil {
			t.Errorf("%.80s is read", schema)
		}
	}
}

// asks records the calls that questions are asked for, and has no answer.
type asks struct {
	mcp.Asking
	mu    sync.Mutex
	calls []string
}

func (a *asks) AskForServer(_ context.Context, q api.MCPQuestion) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, q.CallID)
	return 1, nil
}

func (*asks) ServerAnswer(context.Context, int64) (string, bool, bool, error) {
	return "", false, false, nil
}

func (*asks) CloseForServer(context.Context, int64) error { return nil }

func (a *asks) seen() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.calls)
}

// While two calls are under way, a question that names none is not asked: it could show up in the wrong conversation. One that came as the answer to
// a call belongs to that call.
func TestWhoseQuestion(t *testing.T) {
	t.Parallel()
	ask := map[string]any{"method": "elicitation/create", "params": map[string]any{"message": "Which one?", "requestedSchema": field("colour", "string", "", "")}}
	request := mcptest.Raw(map[string]any{"jsonrpc": "2.0", "id": "s1", "method": ask["method"], "params": ask["params"]})
	script := one(func(s *mcptest.Script) {
		s.Old = true
		s.Tools = append(s.Tools, mcptest.Tool("more", "Asks."))
		s.Results = map[string]json.RawMessage{"more": mcptest.Raw(map[string]any{"resultType": "input_required", "inputRequests": map[string]any{"it": ask}, "requestState": "1"})}
		s.Before = []json.RawMessage{request}
		s.Faults = map[string]mcptest.Fault{"tools/call": mcptest.Hang}
	})
	s := mcptest.New(t, script)
	owner := &asks{Asking: quietAsker{}}
	h := start(t, map[string]config.MCPServer{"notes": {URL: s.URL, Timeout: time.Minute}}, func(d *mcp.Deps) {
		d.Questions = mcp.Questions{Rows: owner, Answered: func() <-chan struct{} { return nil }, Owner: func() []event.Address { return nil }}
	})
	h.accept("notes")
	ctx, stop := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	answers := func() (n int) {
		for _, m := range s.Got("") {
			n += strings.Count(string(m), `"action":"cancel"`)
		}
		return n
	}
	for n := 1; n <= 2; n++ {
		calls.Go(func() { h.call(ctx, h.tool("notes__do"), `{}`) })
		h.until("the question has an answer", func() bool { return answers() == n })
	}
	if got := owner.seen(); !slices.Equal(got, []string{"t1_1"}) {
		t.Errorf("the owner was asked for %q", got)
	}
	script.Before, script.Faults = nil, nil
	s.Play(script)
	h.call(t.Context(), h.tool("notes__more"), `{}`)
	if got := owner.seen(); len(got) < 2 || slices.ContainsFunc(got[1:], func(id string) bool { return id != "t1_3" }) {
		t.Errorf("the questions of the third call were asked for %q", got[1:])
	}
	stop()
	calls.Wait()
}
