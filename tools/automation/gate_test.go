package automation_test

import (
	"slices"
	"strings"
	"testing"

	"hob/scheduler"
	"hob/tools"
	"hob/tools/automation"
)

// A gate runs by itself: the call that sets one touches what the gate does.
func TestGateIsJudged(t *testing.T) {
	touches := tools.Intent{
		Scopes: []tools.Scope{tools.Exec, tools.Net, tools.Schedule}, Sandboxed: true, Paths: []tools.Path{{Path: "/w", Write: true, Area: tools.Workspace}},
		Hosts: []string{"example.org"}, Links: []string{"https://example.org/"}, Private: true, Warnings: []string{"sudo"}, Denied: "never",
	}
	for args, c := range map[string]struct {
		gate    string
		network bool
	}{
		`{"action":"add","schedule":"every 1h","prompt":"x","gate":"date"}`:                         {"date", false},
		`{"action":"add","schedule":"every 1h","prompt":"x","gate":"date","allow":"exec, net"}`:     {"date", true},
		`{"action":"add","schedule":"every 1h","prompt":"x","gate":"date","allow":"net:a.example"}`: {"date", false},
		`{"action":"update","name":"morning","gate":"url:https://example.org"}`:                     {"url:https://example.org", false},
		`{"action":"update","name":"nets","gate":"none"}`:                                           {"none", true},
		`{"action":"update","name":"nets","gate":"date","allow":"exec"}`:                            {"date", false},
		`{"action":"add","schedule":"every 1h","prompt":"x"}`:                                       {},
		`{"action":"pause","name":"morning","gate":"date"}`:                                         {},
	} {
		b := newBook()
		b.list = append(b.list, scheduler.View{ID: 11, Name: "nets", Allow: []string{"net"}})
		b.touches = touches
		i, err := automation.NewCron(b, b).Intent(t.Context(), call(args, ""))
		if err != nil || b.gate != c.gate || b.network != c.network {
			t.Errorf("%s: gate %q, network %v, %v", args, b.gate, b.network, err)
			continue
		}
		if c.gate == "" {
			if slices.Contains(i.Scopes, tools.Exec) || i.Denied != "" {
				t.Errorf("%s: %+v", args, i)
			}
			continue
		}
		if n := len(i.Scopes); !slices.Contains(i.Scopes, tools.Exec) || !slices.Contains(i.Scopes, tools.Net) || slices.Index(i.Scopes, tools.Schedule) != slices.Index(slices.Compact(slices.Clone(i.Scopes)), tools.Schedule) || n > 4 {
			t.Errorf("%s: scopes %v", args, i.Scopes)
		}
		if !i.Sandboxed || !i.Private || i.Denied != "never" || len(i.Paths) != 1 || i.Hosts[0] != "example.org" || len(i.Links) != 1 || !slices.Contains(i.Warnings, "sudo") || i.Effect != tools.Keyed {
			t.Errorf("%s: %+v", args, i)
		}
	}
}

func TestGateIsTold(t *testing.T) {
	b := newBook()
	b.list[0].Gate = "exit:test -e go\nurl:https://example.org"
	res := do(t, b, call(`{"action":"update","name":"morning","gate":"date"}`, ""))
	if b.draft.GateText != "date" || !strings.Contains(res.Content, "runs only if its gate opens: exit:test -e go url:https://example.org") {
		t.Errorf("%q: %s", b.draft.GateText, res.Content)
	}
	if res := do(t, b, call(`{"action":"list"}`, "")); !strings.Contains(res.Content, "1-5, gated |") || strings.Count(res.Content, "gated") != 1 {
		t.Errorf("%s", res.Content)
	}
}
