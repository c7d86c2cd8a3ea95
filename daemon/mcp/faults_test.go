package mcp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
	"hob/tools"
)

// outcome is what a fault may lead to.
type outcome string

const (
	works   outcome = "works"   // as if nothing had been wrong
	refused outcome = "refused" // an error, and the call certainly had no effect
	unknown outcome = "unknown" // an error that says that the effect is not known
	answer  outcome = "answer"  // the server's own error, or a result that is its own fault
)

// faults are all faults with what comes of them at a call, and at a message before it.
func faults() map[mcptest.Fault]struct{ call, start []outcome } {
	list := map[mcptest.Fault]struct{ call, start []outcome }{}
	add := func(call, start []outcome, all ...mcptest.Fault) {
		for _, f := range all {
			list[f] = struct{ call, start []outcome }{call, start}
		}
	}
	only := func(o ...outcome) []outcome { return o }
	// Broken or missing answers.
	add(only(unknown), only(refused, works), mcptest.Hang, mcptest.Die, mcptest.Cut, mcptest.Garbage, mcptest.Half, mcptest.Oversized, mcptest.Endless, mcptest.Flood, mcptest.Pings)
	add(only(unknown, works), only(refused, works), mcptest.Deep)
	// Answers of the wrong form.
	add(only(works), only(refused, works, answer), mcptest.Null, mcptest.Neither)
	add(only(works), only(works), mcptest.Noise, mcptest.Unversion, mcptest.TextID, mcptest.Batch)
	add(only(works), only(refused, works), mcptest.Text, mcptest.Array)
	// Harmless ones.
	add(only(works), only(works), mcptest.Double, mcptest.Stray, mcptest.Late, mcptest.Reversed, mcptest.Asks, mcptest.Bare)
	add(only(answer), only(refused, works), mcptest.Failed, mcptest.Both)
	return list
}

// Whatever a server does with a message, the call ends. It ends with an error that says whether the server may have carried it out, it was
// sent once at most, and the next call of a server that is sound again works.
func TestFaults(t *testing.T) {
	t.Parallel()
	for fault, want := range faults() {
		for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call"} {
			if testing.Short() && method != "tools/call" {
				continue
			}
			t.Run(string(fault)+" at "+method, func(t *testing.T) {
				t.Parallel()
				sampled(t, func(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script) {
					if script.Old != (method != "server/discover") && method != "tools/list" && method != "tools/call" {
						t.Skip("this revision does not have the message")
					}
					expected := want.start
					if method == "tools/call" {
						expected = want.call
					}
					fails(t, s, c, script, method, fault, expected)
				})
			})
		}
	}
}

// fails plays one fault.
func fails(t *testing.T, s *mcptest.Server, c config.MCPServer, script mcptest.Script, method string, fault mcptest.Fault, expected []outcome) {
	t.Helper()
	h := start(t, map[string]config.MCPServer{"notes": c}, func(d *mcp.Deps) {
		if method == "server/discover" || slices.Contains(silent(), fault) {
			d.Limits.Hello = 500 * time.Millisecond
		}
	})
	h.accept("notes")
	tool := h.tool("notes__do")
	script.Faults = map[string]mcptest.Fault{method: fault}
	s.Play(script)
	h.short(fault)
	r := h.call(t.Context(), tool, `{}`)
	if got := outcomeOf(r); !slices.Contains(expected, got) {
		t.Errorf("want %v, got %s: %s %s", expected, got, r.Code, shown(r))
	}
	sent := len(s.Got("tools/call"))
	switch {
	case sent > 1:
		t.Errorf("the call was sent %d times", sent)
	case sent == 0 && r.Code == tools.OutcomeUnknown:
		t.Error("a call that was never sent is said to have an unknown effect")
	case sent == 1 && r.IsError && r.Code != tools.OutcomeUnknown && fault != mcptest.Failed && fault != mcptest.Both:
		t.Errorf("a call that was sent may have had an effect: %s %s", r.Code, shown(r))
	}
	if r.Foreign == "" && r.Code != tools.Conflict {
		t.Errorf("what the server said is not foreign: %s", shown(r))
	}
	if len(r.Content) > 16<<10 {
		t.Errorf("the error has %d bytes", len(r.Content))
	}
	if r.Code == tools.Conflict {
		return // it sent an empty list, about which the owner was asked
	}
	// The server is sound again.
	script.Faults = nil
	s.Play(script)
	h.long()
	wantText(t, h.call(t.Context(), tool, `{}`), "ok do")
}

func outcomeOf(r tools.Result) outcome {
	switch {
	case !r.IsError:
		return works
	case r.Code == tools.OutcomeUnknown:
		return unknown
	case r.Code == tools.IO:
		return refused
	default:
		return answer
	}
}

func shown(r tools.Result) string { return r.Content[:min(len(r.Content), 500)] }

// V8: a call without a usable answer says why: the limit, the status, the type of the content, or that the program has ended.
func TestACallSaysWhyItHasNoAnswer(t *testing.T) {
	t.Parallel()
	const large = "it sends too much: an answer of more than 8 MB"
	for name, c := range map[string]struct {
		way   string
		fault mcptest.Fault
		says  string
	}{
		"a large message":    {"stdio", mcptest.Oversized, large},
		"a large body":       {"http", mcptest.Oversized, large},
		"no message":         {"http", mcptest.Garbage, "its answer does not have the form of the protocol"},
		"it dies":            {"stdio", mcptest.Die, "it ended before it answered"},
		"status 500":         {"http", mcptest.HTTP500, "it answered “500 Internal Server Error”"},
		"status 404":         {"http", mcptest.HTTP404, "it answered “404 Not Found”"},
		"it sends elsewhere": {"http", mcptest.Redirect, "it answered “307 Temporary Redirect”"},
		"a web page":         {"http", mcptest.Page, "it answered with content of the type “text/html”, not with JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			through(t, c.way, false, func(t *testing.T, s *mcptest.Server, conf config.MCPServer, script mcptest.Script) {
				h := start(t, map[string]config.MCPServer{"notes": conf}, func(d *mcp.Deps) { d.Limits.Frame, d.Limits.Burst = 8<<20, 32<<20 })
				h.accept("notes")
				tool := h.tool("notes__do")
				script.Faults = map[string]mcptest.Fault{"tools/call": c.fault}
				s.Play(script)
				if r := h.call(t.Context(), tool, `{}`); r.Code != tools.OutcomeUnknown || !strings.Contains(r.Content, c.says) {
					t.Errorf("%s: %s, want %q", r.Code, shown(r), c.says)
				}
			})
		})
	}
}
