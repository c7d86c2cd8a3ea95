package guard_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hob/daemon/event"
	"hob/daemon/guard"
	"hob/tools"
)

// The default table of the design, written down cell by cell: who asks, and what for. "typed" and "granted" turn a
// question into a yes; nothing turns a no into anything.
const table = `
read workspace    | owner allow | others allow
read root-rw      | owner allow | others deny
read root-ro      | owner allow | others deny
read outside      | owner allow | others deny
read sensitive    | owner ask   | others deny
read state        | owner deny! | others deny!
write workspace   | owner allow | others deny
write root-rw     | owner allow | others deny
write root-ro     | owner ask   | others deny
write outside     | owner ask   | others deny
write sensitive   | owner ask   | others deny
write state       | owner deny! | others deny!
exec sandboxed    | owner allow | others deny
exec open         | owner ask   | others deny
net               | owner ask   | others deny
message owner     | owner allow | others deny
message cli:main  | owner allow | others deny
message chat:me   | owner allow | others deny
message chat:from | owner ask   | others allow
message chat:else | owner ask   | others deny
schedule          | owner allow | others deny
memory            | owner allow | others deny
config            | owner ask   | others deny
`

type cell struct {
	what, detail string
	verdict      map[string]string // owner, others
}

func cells(t *testing.T) []cell {
	t.Helper()
	var list []cell
	for line := range strings.Lines(strings.TrimSpace(table)) {
		parts := strings.Split(line, "|")
		what, detail, _ := strings.Cut(strings.TrimSpace(parts[0]), " ")
		c := cell{what: what, detail: strings.TrimSpace(detail), verdict: map[string]string{}}
		for _, p := range parts[1:] {
			who, v, _ := strings.Cut(strings.TrimSpace(p), " ")
			c.verdict[who] = strings.TrimSpace(v)
		}
		list = append(list, c)
	}
	if len(list) != 23 {
		t.Fatalf("the table has %d rows", len(list))
	}
	return list
}

func (c cell) intent() tools.Intent {
	i := tools.Intent{Summary: c.what + " " + c.detail}
	switch c.what {
	case "read", "write":
		i.Scopes = []tools.Scope{tools.Scope("fs-" + c.what)}
		i.Paths = []tools.Path{{Path: "/some/where", Write: c.what == "write", Area: tools.Area(c.detail)}}
	case "exec":
		i.Scopes, i.Sandboxed = []tools.Scope{tools.Exec}, c.detail == "sandboxed"
	case "net":
		i.Scopes, i.Hosts = []tools.Scope{tools.Net}, []string{"example.org"}
	case "message":
		i.Scopes, i.Addresses = []tools.Scope{tools.Messages}, []event.Address{event.Address(c.detail)}
	default:
		i.Scopes = []tools.Scope{tools.Scope(c.what)}
	}
	return i
}

// setting is everything else that a decision depends on.
type setting struct {
	asker                event.Trust
	mode                 guard.Mode
	typed, granted, safe bool
}

func (c cell) want(s setting) guard.Verdict {
	who := "others"
	if s.asker == event.Owner {
		who = "owner"
	}
	v := c.verdict[who]
	switch {
	case v == "deny!", s.safe && c.what == "exec":
		return guard.Deny
	case s.mode == guard.ModeOpen:
		return guard.Allow
	case v == "ask" && (s.typed || s.granted && guard.Pattern(c.intent()) != ""):
		return guard.Allow
	}
	return guard.Verdict(v)
}

func (c cell) decide(s setting) guard.Decision {
	i := c.intent()
	g := guard.Case{
		Tool: "tool", Intent: i, Asker: s.asker, Typed: s.typed, ReplyTo: "chat:from", Known: []event.Address{"chat:me"}, Mode: s.mode, Safe: s.safe,
		Grants: []guard.Grant{{ID: 1, Tool: "other", Pattern: guard.Pattern(i)}, {ID: 2, Tool: "tool", Pattern: ""}, {ID: 3, Tool: "tool", Pattern: "something else"}},
	}
	if s.granted {
		g.Grants = append(g.Grants, guard.Grant{ID: 7, Tool: "tool", Pattern: guard.Pattern(i)})
	}
	return guard.Decide(g)
}

func TestTable(t *testing.T) {
	n := 0
	for _, c := range cells(t) {
		for _, asker := range []event.Trust{event.Owner, event.Known, event.Public, event.Machine} {
			for bits := range 16 {
				s := setting{asker: asker, mode: guard.ModeAsk, typed: bits&1 != 0, granted: bits&2 != 0, safe: bits&4 != 0}
				if bits&8 != 0 {
					s.mode = guard.ModeOpen
				}
				d := c.decide(s)
				n++
				if want := c.want(s); d.Verdict != want {
					t.Errorf("%s %s, asked by %+v: %s (%s), want %s", c.what, c.detail, s, d.Verdict, d.Reason, want)
				}
				if d.Reason == "" {
					t.Errorf("%s %s, asked by %+v: no reason", c.what, c.detail, s)
				}
				if d.Grant != 0 && d.Grant != 7 {
					t.Errorf("%s %s: grant %d was taken for it", c.what, c.detail, d.Grant)
				}
			}
		}
	}
	if n != 23*4*16 {
		t.Errorf("%d cases", n)
	}
}

// An unknown asker, an unknown scope and an unknown mode are never milder than the strictest known one.
func TestUnknownsAreStrict(t *testing.T) {
	shell := tools.Intent{Scopes: []tools.Scope{tools.Exec}}
	if d := guard.Decide(guard.Case{Intent: shell, Asker: "somebody", Mode: guard.ModeAsk}); d.Verdict != guard.Deny {
		t.Errorf("an unknown asker: %+v", d)
	}
	odd := tools.Intent{Scopes: []tools.Scope{"teleport"}}
	if d := guard.Decide(guard.Case{Intent: odd, Asker: event.Owner, Mode: guard.ModeAsk}); d.Verdict != guard.Ask {
		t.Errorf("an unknown scope: %+v", d)
	}
	if d := guard.Decide(guard.Case{Intent: odd, Asker: event.Known, Mode: guard.ModeAsk}); d.Verdict != guard.Deny {
		t.Errorf("an unknown scope of somebody else: %+v", d)
	}
	if d := guard.Decide(guard.Case{Intent: shell, Asker: event.Owner, Mode: "lenient"}); d.Verdict != guard.Ask {
		t.Errorf("an unknown mode: %+v", d)
	}
	area := tools.Intent{Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{{Path: "/x", Area: "moon"}}}
	if d := guard.Decide(guard.Case{Intent: area, Asker: event.Owner, Mode: guard.ModeAsk}); d.Verdict != guard.Ask {
		t.Errorf("an unknown area: %+v", d)
	}
}

func TestDeniedInEveryMode(t *testing.T) {
	i := tools.Intent{Scopes: []tools.Scope{tools.Exec}, Sandboxed: true, Denied: "it would remove the root folder"}
	for _, mode := range []guard.Mode{guard.ModeAsk, guard.ModeOpen} {
		d := guard.Decide(guard.Case{Tool: "exec", Intent: i, Asker: event.Owner, Typed: true, Mode: mode, Grants: []guard.Grant{{ID: 1, Tool: "exec", Pattern: guard.Pattern(i)}}})
		if d.Verdict != guard.Deny || d.Reason != i.Denied {
			t.Errorf("mode %s: %+v", mode, d)
		}
	}
}

// Each question and denial that the config could allow names what would allow it.
func TestQuestionsSayWhatWouldAllowThem(t *testing.T) {
	for _, tc := range []struct {
		i    tools.Intent
		want string
	}{
		{tools.Intent{Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/srv/x", Write: true, Area: tools.Outside}}}, `[tools] roots = ["/srv/x:rw"]`},
		{tools.Intent{Scopes: []tools.Scope{tools.Messages}, Addresses: []event.Address{"chat:else"}}, `[owner] addresses = ["chat:else"]`},
	} {
		d := guard.Decide(guard.Case{Intent: tc.i, Asker: event.Owner, Mode: guard.ModeAsk})
		if d.Verdict != guard.Ask || !strings.Contains(d.Allow, tc.want) {
			t.Errorf("%+v: %+v", tc.i.Scopes, d)
		}
	}
}

// "Always" is never a bare shell: two commands never share a pattern.
func TestPatternsAreExact(t *testing.T) {
	exec := func(s string) string {
		return guard.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Exec}, Summary: "run: " + s, Canonical: []byte(s)})
	}
	if exec("ls") == exec("ls -l") || exec("ls") == "" {
		t.Errorf("patterns %q and %q", exec("ls"), exec("ls -l"))
	}
	long := strings.Repeat("x", 2000)
	a := guard.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Exec}, Summary: "run: echo " + long[:80] + "…", Canonical: []byte("echo " + long + "; df")})
	b := guard.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Exec}, Summary: "run: echo " + long[:80] + "…", Canonical: []byte("echo " + long + "; rm -rf /")})
	if a == b {
		t.Error("two commands whose summaries were cut share a pattern: allowing one for good would allow the other")
	}
	two := guard.Pattern(tools.Intent{Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/a"}, {Path: "/b"}}})
	one := guard.Pattern(tools.Intent{Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/a"}}})
	if one == two {
		t.Error("a call that touches a second path matches the grant for the first one")
	}
	if p := guard.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Config}}); p != "" {
		t.Errorf("a change of hob itself may be granted for good: %q", p)
	}
	both := guard.Pattern(tools.Intent{Scopes: []tools.Scope{tools.FSRead, tools.Net}, Paths: []tools.Path{{Path: "/secret"}}, Hosts: []string{"example.org"}})
	host := guard.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Net}, Hosts: []string{"example.org"}})
	if both == host {
		t.Error("a call that reads a file and sends it matches the grant for the host alone")
	}
}

// With more scopes, paths or addresses a decision never becomes milder.
func TestMoreIsNeverMilder(t *testing.T) {
	all := cells(t)
	order := map[guard.Verdict]int{guard.Allow: 0, guard.Ask: 1, guard.Deny: 2}
	rapid.Check(t, func(t *rapid.T) {
		a, b := all[rapid.IntRange(0, len(all)-1).Draw(t, "a")], all[rapid.IntRange(0, len(all)-1).Draw(t, "b")]
		x, y := a.intent(), b.intent()
		sum := tools.Intent{
			Scopes: append(append([]tools.Scope{}, x.Scopes...), y.Scopes...), Paths: append(append([]tools.Path{}, x.Paths...), y.Paths...),
			Addresses: append(append([]event.Address{}, x.Addresses...), y.Addresses...), Sandboxed: x.Sandboxed && y.Sandboxed,
		}
		asker := rapid.SampledFrom([]event.Trust{event.Owner, event.Known, event.Public, event.Machine}).Draw(t, "asker")
		decide := func(i tools.Intent) int {
			return order[guard.Decide(guard.Case{Tool: "tool", Intent: i, Asker: asker, ReplyTo: "chat:from", Known: []event.Address{"chat:me"}, Mode: guard.ModeAsk}).Verdict]
		}
		if got := decide(sum); got < decide(x) && x.Sandboxed == sum.Sandboxed || got < decide(y) && y.Sandboxed == sum.Sandboxed {
			t.Fatalf("%s and %s together: %d, alone %d and %d", fmt.Sprint(a.what, a.detail), fmt.Sprint(b.what, b.detail), got, decide(x), decide(y))
		}
	})
}
