package mcp_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
	"hob/tools"
)

// besides are messages that a server sends by itself while a call runs, and such messages with other parameters than they should have.
func besides() map[string][]json.RawMessage {
	list := map[string][]json.RawMessage{}
	for method, m := range map[string]struct{ id, params string }{
		"elicitation/create":                  {`"id":"s1",`, `{"message":"Which one?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}}}}`},
		"notifications/progress":              {``, `{"progressToken":"TOKEN","progress":1,"total":2,"message":"half-way"}`},
		"notifications/tools/list_changed":    {``, `{}`},
		"notifications/elicitation/complete":  {``, `{"elicitationId":"1"}`},
		"notifications/resources/updated":     {``, `{"uri":"note://one"}`},
		"notifications/message":               {``, `{"level":"info","data":"x"}`},
		"notifications/cancelled":             {``, `{"requestId":1,"reason":"x"}`},
		"notifications/resources/list_change": {``, `{}`}, // no such method
	} {
		say := func(params string) json.RawMessage {
			return json.RawMessage(`{"jsonrpc":"2.0",` + m.id + `"method":"` + method + `","params":` + params + `}`)
		}
		list[method] = []json.RawMessage{say(m.params)}
		for _, wrong := range []string{`null`, `[]`, `7`, `"x"`, `{}`, `{"progressToken":{},"progress":"x","message":7,"requestedSchema":[],"elicitationId":[],"requestId":{},"uri":7}`, `{"progressToken":"another call","progress":-1,"message":"` + strings.Repeat("x", 1<<16) + `"}`} {
			list[method+" malformed"] = append(list[method+" malformed"], say(wrong))
		}
	}
	return list
}

// Whatever is wrong with a message that a server sends by itself, the call ends, it was sent once, the owner is asked at most what the server asked,
// and a server that is sound again works.
func TestMessagesOfServers(t *testing.T) {
	t.Parallel()
	for name, before := range besides() {
		_, malformed := strings.CutSuffix(name, " malformed")
		for _, beside := range []mcptest.Fault{"", mcptest.Cut, mcptest.Double, mcptest.Late, mcptest.Half, mcptest.Oversized, mcptest.Hang} {
			expected := []outcome{works}
			switch {
			case malformed && beside != "", testing.Short() && beside != "":
				continue
			case beside == mcptest.Cut, beside == mcptest.Oversized, beside == mcptest.Hang:
				expected = []outcome{unknown}
			case beside == mcptest.Half, malformed:
				expected = []outcome{works, unknown} // the SDK ends a session over stdio
			}
			t.Run(name+" "+string(beside), func(t *testing.T) {
				t.Parallel()
				sampled(t, func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script) {
					owner := &sayer{answer: "blue"}
					h := start(t, map[string]config.MCPServer{"notes": c}, func(d *mcp.Deps) {
						d.Questions = mcp.Questions{Rows: owner, Answered: func() <-chan struct{} { return nil }, Owner: func() []event.Address { return nil }}
					})
					h.accept("notes")
					tool := h.tool("notes__do")
					script.Before, script.Beside = before, beside
					if beside == mcptest.Hang { // after the message it says nothing more
						script.Faults = map[string]mcptest.Fault{"tools/call": mcptest.Hang}
						h.limit(2 * time.Second)
					}
					s.Play(script)
					if r := h.call(t.Context(), tool, `{}`); !slices.Contains(expected, outcomeOf(r)) || r.Foreign == "" {
						t.Errorf("want %v: %s %s", expected, r.Code, shown(r))
					}
					if n := len(s.Got("tools/call")); n != 1 {
						t.Errorf("the call was sent %d times", n)
					}
					if n := owner.asked.Load(); n > 2 || beside != mcptest.Double && n > 1 && !malformed {
						t.Errorf("the owner was asked %d times", n)
					}
					script.Before, script.Faults = nil, nil
					s.Play(script)
					h.long()
					wantText(t, h.call(t.Context(), tool, `{}`), "ok do")
				})
			})
		}
	}
}

// Reading resources meets the same faults as a call. It changes nothing, so no effect of it is unknown.
func TestFaultsOfResources(t *testing.T) {
	t.Parallel()
	for fault, want := range faults() {
		for _, method := range []string{"resources/list", "resources/templates/list", "resources/read"} {
			if testing.Short() && (method != "resources/read" || !slices.Contains([]mcptest.Fault{mcptest.Die, mcptest.Null, mcptest.Failed, mcptest.Text}, fault)) {
				continue
			}
			t.Run(string(fault)+" at "+method, func(t *testing.T) {
				t.Parallel()
				sampled(t, func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script) {
					h := start(t, map[string]config.MCPServer{"notes": c})
					h.accept("notes")
					script.Faults = map[string]mcptest.Fault{method: fault}
					s.Play(script)
					h.short(fault)
					read := func() tools.Result {
						call := tools.Call{ID: "t1_1", Turn: 1, Key: "main"}
						if method == "resources/read" {
							return must(t)(h.Read(t.Context(), call, "notes", "note://one"))
						}
						return must(t)(h.Resources(t.Context(), call, "notes"))
					}
					r := read()
					got, expected := outcomeOf(r), slices.Clone(want.call)
					if slices.Contains(expected, unknown) || method == "resources/templates/list" || fault == mcptest.Text || fault == mcptest.Array {
						expected = append(expected, refused)
					}
					if method == "resources/templates/list" {
						expected = append(expected, works) // a server need not have them
					}
					if got == unknown || !slices.Contains(expected, got) || r.Foreign == "" || len(r.Content) > 16<<10 {
						t.Errorf("want %v, got %s: %s %s", expected, got, r.Code, shown(r))
					}
					script.Faults = nil
					s.Play(script)
					h.long()
					wantText(t, read(), "note")
				})
			})
		}
	}
}

func must(t *testing.T) func(tools.Result, error) tools.Result {
	return func(r tools.Result, err error) tools.Result {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// Answers that come in another order than the calls reach the right calls.
func TestAnswersInAnotherOrder(t *testing.T) {
	t.Parallel()
	over(t, func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script) {
		script.Tools = append(script.Tools, mcptest.Tool("slow", "Takes long."))
		script.Faults = map[string]mcptest.Fault{"tools/call slow": mcptest.Held}
		s.Play(script)
		h := start(t, map[string]config.MCPServer{"notes": c})
		h.accept("notes")
		slow, quick := h.tool("notes__slow"), h.tool("notes__do")
		done := make(chan tools.Result, 1)
		go func() { done <- h.call(t.Context(), slow, `{}`) }()
		h.until("the server has the first call", func() bool { return len(s.Got("tools/call")) == 1 })
		wantText(t, h.call(t.Context(), quick, `{}`), "ok do")
		s.Go()
		wantText(t, <-done, "ok slow")
	})
}

// Whatever a server does with the news that a call was stopped, the call is over at once, and the next one works.
func TestFaultsOfCancel(t *testing.T) {
	t.Parallel()
	for _, fault := range []mcptest.Fault{mcptest.Hang, mcptest.Die, mcptest.Held} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			over(t, func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script) {
				h := start(t, map[string]config.MCPServer{"notes": c})
				h.accept("notes")
				tool := h.tool("notes__do")
				script.Faults = map[string]mcptest.Fault{"tools/call": mcptest.Hang, "notifications/cancelled": fault}
				if fault == mcptest.Held { // the answer comes after the end of the call
					script.Faults = map[string]mcptest.Fault{"tools/call": mcptest.Held}
				}
				s.Play(script)
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan tools.Result, 1)
				go func() { done <- h.call(ctx, tool, `{}`) }()
				h.until("the server has the call", func() bool { return len(s.Got("tools/call")) == 1 })
				stop()
				if r := <-done; r.Code != tools.Cancelled {
					t.Errorf("%s", shown(r))
				}
				s.Go()
				script.Faults = nil
				s.Play(script)
				h.until("the next call works", func() bool { return outcomeOf(h.call(t.Context(), tool, `{}`)) == works })
			})
		})
	}
}
