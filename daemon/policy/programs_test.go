package policy_test

import (
	"testing"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools"
)

// The mode "open" is for people. A program that counts as a known person is judged as in the mode "ask"; one that the owner trusts like himself is not.
func TestOpenModeIsNotForPrograms(t *testing.T) {
	const program event.Address = "endpoint:laptop#1/user:sam"
	for _, c := range cells(t) {
		for _, asker := range []event.Trust{event.Known, event.Public, event.Machine, event.Owner} {
			for _, from := range []event.Address{program, "chat:from", "endpoints:x"} {
				s := policy.Case{Tool: "x", Intent: c.intent(), Asker: asker, Tainted: true, ReplyTo: from, Scratch: scratch, Mode: policy.ModeOpen}
				open := policy.Decide(s).Verdict
				s.Mode = policy.ModeAsk
				ask := policy.Decide(s).Verdict
				if same := asker != event.Owner && from == program; same && open != ask || !same && open == policy.Ask {
					t.Errorf("%s %s of %s at %s: %s, and %s in the mode ask", c.what, c.detail, asker, from, open, ask)
				}
			}
		}
	}
}

// A caller sees a tool in a list if some call of it may be allowed.
func TestOffered(t *testing.T) {
	for _, c := range []struct {
		spec  tools.Spec
		known bool
	}{
		{tools.Spec{Name: "read", Group: "fs"}, true},
		{tools.Spec{Name: "write", Group: "fs"}, true},
		{tools.Spec{Name: "grep", Group: "search"}, true},
		{tools.Spec{Name: "todo", Group: "agent"}, true},
		{tools.Spec{Name: "result_read", Group: "agent"}, true},
		{tools.Spec{Name: "exec", Group: "runtime"}, false},
		{tools.Spec{Name: "web_fetch", Group: "web"}, false},
		{tools.Spec{Name: "cron", Group: "automation"}, false},
		{tools.Spec{Name: "memory_search", Group: "memory"}, false},
		{tools.Spec{Name: "message", Group: "messaging"}, false},
		{tools.Spec{Name: "sessions_list", Group: "sessions"}, false},
		{tools.Spec{Name: "skill", Group: "skills"}, false},
		{tools.Spec{Name: "new", Group: ""}, false},
	} {
		for trust, want := range map[event.Trust]bool{event.Owner: true, event.Known: c.known, event.Public: c.known, event.Machine: c.known} {
			if got := policy.Offered(trust, c.spec); got != want {
				t.Errorf("%s is offered to %s: %v", c.spec.Name, trust, got)
			}
		}
	}
}
