package daemon_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/mcp/mcptest"
)

// hanging is a daemon with an accepted MCP server that no longer answers a method. The thread waits a moment for it, not 5 s (package agent
// tests the 5 s).
func hanging(t *testing.T, method, config string) (*running, *mcptest.Server) {
	t.Helper()
	script := mcptest.Script{Tools: []json.RawMessage{mcptest.Tool("go", "Goes.")}}
	server := mcptest.New(t, script)
	r, _ := listen(t, fmt.Sprintf("[mcp.servers.srv]\nurl = %q\n%s", server.URL, config), caller, func(o *daemon.Options) { o.ParkCallsAfter(50 * time.Millisecond) })
	r.plug("srv")
	script.Faults = map[string]mcptest.Fault{method: mcptest.Hang}
	server.Play(script)
	return r, server
}

// inStuck posts a message in the conversation "stuck".
func (r *running) inStuck(text string) event.Receipt {
	r.t.Helper()
	receipt, err := r.client.Post(r.t.Context(), client.Message{Session: "stuck", Text: text})
	if err != nil {
		r.t.Fatal(err)
	}
	return receipt
}

// stuck returns the first turn of that conversation.
func (r *running) stuck() api.Turn {
	r.t.Helper()
	list, err := client.List(r.t.Context(), r.client, api.Turns, event.Filter{Limit: 100})
	if err != nil {
		r.t.Fatal(err)
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Session == "stuck" {
			return list[i]
		}
	}
	return api.Turn{}
}

// V3: a server that never answers a call, its start or its list holds up nobody in the whole process: the turn parks, another conversation is
// answered, and /stop ends the call.
func TestAHangingServerHoldsUpNobody(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"tools/call", "server/discover", "tools/list"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			r, server := hanging(t, method, "")
			before := len(server.Got(method))
			r.inStuck("call srv__go")
			r.until("the turn parks", func() bool { return r.stuck().State == "waiting" })
			if v := r.stuck(); v.Why != "waiting for the answer of srv__go" {
				t.Errorf("it waits, because %q", v.Why)
			}
			r.until("the server is asked", func() bool { return len(server.Got(method)) > before })
			if got := r.say("hello"); !strings.HasSuffix(got, " hello") || r.stuck().State != "waiting" {
				t.Errorf("meanwhile: %q, the turn is %s", got, r.stuck().State)
			}
			receipt := r.inStuck("/stop")
			got := r.wait(receipt.Event, func(e *event.Event, _ int64) bool { return e.Type == "command.done" && e.Inbox == receipt.Inbox }, receipt.Inbox)
			if !strings.Contains(got, "Stopped 1 call that waited for its answer.") {
				t.Errorf("/stop: %q", got)
			}
			r.until("the turn ends", func() bool { return r.stuck().State == "stopped" })
			if got := r.say("hello"); !strings.HasSuffix(got, " hello") {
				t.Errorf("afterwards: %q", got)
			}
		})
	}
}

// V3: a call that hangs ends by the time that its server has, and the turn goes on with that.
func TestAHangingCallEndsByItsOwnLimit(t *testing.T) {
	t.Parallel()
	r, _ := hanging(t, "tools/call", "timeout = \"1s\"\n")
	receipt := r.inStuck("call srv__go")
	got := r.wait(receipt.Event, func(e *event.Event, turn int64) bool { return e.Type == "turn.finished" && e.Turn == turn }, receipt.Inbox)
	if !strings.Contains(got, "more than 1s") || r.stuck().State != "done" {
		t.Errorf("said %q, the turn is %s", got, r.stuck().State)
	}
}
