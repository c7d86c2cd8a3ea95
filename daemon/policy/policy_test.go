package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/tools"
)

// The default table of docs/security.md, cell by cell: the author of the request, and the class of the call. "typed", "granted" and "given" turn ask into allow.
// Nothing turns deny into anything else, except the web for a trigger that has the right.
const table = `
read workspace    | owner allow | tainted allow | others allow
read root-rw      | owner allow | tainted allow | others deny
read root-ro      | owner allow | tainted allow | others deny
read outside      | owner allow | tainted allow | others deny
read scratch      | owner allow | tainted allow | others allow
read foreign      | owner allow | tainted allow | others deny
read sensitive    | owner ask   | tainted ask   | others deny
read state        | owner deny! | tainted deny! | others deny!
write workspace   | owner allow | tainted ask+  | others deny
write root-rw     | owner allow | tainted ask+  | others deny
write root-ro     | owner ask+  | tainted ask+  | others deny
write outside     | owner ask+  | tainted ask+  | others deny
write scratch     | owner allow | tainted allow | others allow
write foreign     | owner allow | tainted ask+  | others deny
write sensitive   | owner ask   | tainted ask   | others deny
write state       | owner deny! | tainted deny! | others deny!
exec sandboxed    | owner allow | tainted ask+  | others deny
exec open         | owner ask+  | tainted ask+  | others deny
exec keys         | owner ask   | tainted ask   | others deny
net public        | owner allow | tainted ask+  | others deny+
net given         | owner allow | tainted allow | others deny+
net private       | owner ask   | tainted ask   | others deny
net unknown       | owner ask+  | tainted ask+  | others deny+
message owner     | owner allow | tainted allow | others deny
message cli:main  | owner allow | tainted allow | others deny
message chat:me   | owner allow | tainted ask+  | others deny+
message chat:from | owner ask+  | tainted allow | others allow
message chat:else | owner ask+  | tainted ask+  | others deny+
schedule looked at | owner allow | tainted allow | others deny
schedule          | owner allow | tainted ask   | others deny
memory            | owner allow | tainted ask   | others deny
config            | owner ask   | tainted deny  | others deny
`

type cell struct {
	what, detail string
	verdict      map[string]string // owner, tainted, others
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
	if len(list) != 32 {
		t.Fatalf("the table has %d rows", len(list))
	}
	return list
}

const scratch = "/ws/.scratch/main"

func (c cell) intent() tools.Intent {
	i := tools.Intent{Effect: tools.Once, Summary: c.what + " " + c.detail}
	if c.what == "read" || c.what == "net" || c.detail == "looked at" {
		i.Effect = tools.Read
	}
	switch c.what {
	case "read", "write":
		i.Scopes = []tools.Scope{tools.Scope("fs-" + c.what)}
		p := tools.Path{Path: "/some/where", Write: c.what == "write", Area: tools.Area(c.detail)}
		switch c.detail {
		case "scratch":
			p.Path = scratch + "/x"
		case "foreign": // another session's scratch folder
			p.Path, p.Area = "/ws/.scratch/main2/x", tools.Scratch
		}
		i.Paths = []tools.Path{p}
	case "exec":
		i.Scopes, i.Sandboxed = []tools.Scope{tools.Exec}, c.detail == "sandboxed"
		if c.detail == "keys" { // run outside the sandbox, in a folder with keys
			i.Paths = []tools.Path{{Path: "/home/.ssh", Area: tools.Sensitive}}
		}
	case "net":
		i.Scopes, i.Hosts, i.Links = []tools.Scope{tools.Net}, []string{"example.org"}, []string{"https://example.org/" + c.detail}
		switch c.detail {
		case "private":
			i.Private = true
		case "unknown":
			i.Hosts, i.Links = nil, nil
		}
	case "message":
		i.Scopes, i.Addresses = []tools.Scope{tools.Messages}, []event.Address{event.Address(c.detail)}
	default:
		i.Scopes = []tools.Scope{tools.Scope(c.what)}
	}
	return i
}

// setting is everything else that a decision depends on.
type setting struct {
	asker                               event.Trust
	mode                                policy.Mode
	typed, granted, safe                bool
	tainted, weak, rights, child, plans bool // weak: the grant was given to an untainted turn
}

func (c cell) want(s setting) policy.Verdict {
	who := "others"
	switch {
	case s.asker == event.Owner && s.tainted:
		who = "tainted"
	case s.asker == event.Owner:
		who = "owner"
	}
	v, right := strings.CutSuffix(c.verdict[who], "+")
	holds := s.granted && policy.Pattern(c.intent()) != "" && (!s.tainted || !s.weak)
	switch {
	case v == "deny!", s.safe && c.what == "exec", s.plans && c.intent().Effect != tools.Read && c.detail != "owner":
		return policy.Deny
	case s.mode == policy.ModeOpen, s.rights && right:
		return policy.Allow
	case v == "ask" && (s.typed && s.asker == event.Owner || holds):
		return policy.Allow
	case v == "ask" && s.child:
		return policy.Deny
	}
	return policy.Verdict(v)
}

func (c cell) decide(s setting) policy.Decision {
	i := c.intent()
	g := policy.Case{
		Tool: "tool", Intent: i, Asker: s.asker, Tainted: s.tainted, Typed: s.typed, ReplyTo: "chat:from", Known: []event.Address{"chat:me"}, Mode: s.mode, Safe: s.safe,
		Given: []string{"https://example.org/given"}, Scratch: scratch, Child: s.child, Plan: s.plans,
		Grants: []policy.Grant{{ID: 1, Tool: "other", Pattern: policy.Pattern(i)}, {ID: 2, Tool: "tool", Pattern: ""}, {ID: 3, Tool: "tool", Pattern: "something else"}},
	}
	if s.granted {
		g.Grants = append(g.Grants, policy.Grant{ID: 7, Tool: "tool", Pattern: policy.Pattern(i), Tainted: !s.weak})
	}
	if s.rights {
		for _, r := range []string{"exec", "net", "write:/some", "write:/ws", "message:chat:else", "message:chat:from", "message:chat:me"} {
			right, err := policy.ParseRight(r)
			if err != nil {
				panic(err)
			}
			g.Rights = append(g.Rights, right)
		}
	}
	return policy.Decide(g)
}

func TestTable(t *testing.T) {
	n := 0
	for _, c := range cells(t) {
		for _, asker := range []event.Trust{event.Owner, event.Known, event.Public, event.Machine} {
			for bits := range 512 {
				is := func(n int) bool { return bits&(1<<n) != 0 }
				s := setting{asker: asker, mode: policy.ModeAsk, typed: is(0), granted: is(1), safe: is(2), tainted: is(4), weak: is(5), rights: is(6), child: is(7), plans: is(8)}
				if is(3) {
					s.mode = policy.ModeOpen
				}
				d := c.decide(s)
				n++
				want := c.want(s)
				if asker == event.Machine && c.detail == "owner" && s.mode == policy.ModeAsk {
					want = policy.Allow // a machine's message may be passed on to the owner
				}
				if d.Verdict != want {
					t.Fatalf("%s %s, asked by %+v: %s (%s), want %s", c.what, c.detail, s, d.Verdict, d.Reason, want)
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
	if n != 32*4*512 {
		t.Errorf("%d cases", n)
	}
}

// In plan mode a call may run only if it reads, or touches nothing but the conversation.
func TestPlanMode(t *testing.T) {
	for name, tc := range map[string]struct {
		i    tools.Intent
		want policy.Verdict
	}{
		"a read":                           {tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}}, policy.Allow},
		"a note in the conversation":       {tools.Intent{Effect: tools.Keyed}, policy.Allow},
		"a write in the workspace":         {tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSWrite}}, policy.Deny},
		"a job":                            {tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Schedule}}, policy.Deny},
		"a command in the sandbox":         {tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}, Sandboxed: true}, policy.Deny},
		"a message to the owner":           {tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Messages}, Addresses: []event.Address{event.ToOwner}}, policy.Allow},
		"a message to somebody else":       {tools.Intent{Effect: tools.Keyed, Scopes: []tools.Scope{tools.Messages}, Addresses: []event.Address{event.ToOwner, "chat:x"}}, policy.Deny},
		"a page of the web":                {tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.Net}, Hosts: []string{"example.org"}, Links: []string{"https://example.org/"}}, policy.Allow},
		"a page of a private network asks": {tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.Net}, Hosts: []string{"nas"}, Private: true}, policy.Ask},
	} {
		if d := policy.Decide(policy.Case{Tool: "t", Intent: tc.i, Asker: event.Owner, Plan: true, Mode: policy.ModeAsk}); d.Verdict != tc.want {
			t.Errorf("%s: %+v, want %s", name, d, tc.want)
		}
	}
}

// A right covers exactly what it names.
func TestRightsAreExact(t *testing.T) {
	write := func(paths ...string) tools.Intent {
		i := tools.Intent{Effect: tools.Checkable, Scopes: []tools.Scope{tools.FSWrite}}
		for _, p := range paths {
			i.Paths = append(i.Paths, tools.Path{Path: p, Write: true, Area: tools.Outside})
		}
		return i
	}
	net := func(hosts ...string) tools.Intent {
		return tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.Net}, Hosts: hosts, Links: []string{"https://x/"}}
	}
	for name, tc := range map[string]struct {
		right string
		i     tools.Intent
		want  policy.Verdict
	}{
		"below the folder":              {"write:/srv/a", write("/srv/a/b/c"), policy.Allow},
		"the folder itself":             {"write:/srv/a", write("/srv/a"), policy.Allow},
		"a folder of a longer name":     {"write:/srv/a", write("/srv/ab"), policy.Ask},
		"one path of two":               {"write:/srv/a", write("/srv/a/x", "/etc/x"), policy.Ask},
		"the host":                      {"net:example.org", net("example.org"), policy.Allow},
		"a host below it":               {"net:example.org", net("a.example.org"), policy.Ask},
		"one host of two":               {"net:example.org", net("example.org", "other.org"), policy.Ask},
		"another kind":                  {"exec", net("example.org"), policy.Ask},
		"a right to write does not run": {"write:/", tools.Intent{Effect: tools.Once, Scopes: []tools.Scope{tools.Exec}}, policy.Ask},
	} {
		r, err := policy.ParseRight(tc.right)
		if err != nil {
			t.Fatal(err)
		}
		if r.String() != tc.right {
			t.Errorf("%s is written as %s", tc.right, r)
		}
		d := policy.Decide(policy.Case{Tool: "t", Intent: tc.i, Asker: event.Owner, Tainted: true, Rights: []policy.Right{r}, Mode: policy.ModeAsk})
		if d.Verdict != tc.want {
			t.Errorf("%s: %+v, want %s", name, d, tc.want)
		}
	}
	for _, bad := range []string{"", "exec:x", "write", "write:rel", "read", "read:rel", "net:", "message", "config", "all", "write:"} {
		if r, err := policy.ParseRight(bad); err == nil {
			t.Errorf("%q was taken as %+v", bad, r)
		}
	}
}

// The run of a watch reads the workspace and what its rights name, as foreign text. Rights never cover secrets.
func TestRightToRead(t *testing.T) {
	file := func(path string, area tools.Area) tools.Path { return tools.Path{Path: path, Area: area} }
	for name, tc := range map[string]struct {
		paths []tools.Path
		want  policy.Verdict
	}{
		"below the folder":      {[]tools.Path{file("/srv/a/b", tools.Outside)}, policy.Allow},
		"and the workspace":     {[]tools.Path{file("/srv/a/b", tools.RootRO), file("/ws/x", tools.Workspace)}, policy.Allow},
		"beside the folder":     {[]tools.Path{file("/srv/ab", tools.Outside)}, policy.Deny},
		"one of two":            {[]tools.Path{file("/srv/a/b", tools.Outside), file("/etc/passwd", tools.Outside)}, policy.Deny},
		"a secret in it":        {[]tools.Path{file("/srv/a/.env", tools.Sensitive)}, policy.Deny},
		"another one's scratch": {[]tools.Path{file("/srv/a/.scratch/other/x", tools.Scratch)}, policy.Deny},
	} {
		right, err := policy.ParseRight("read:/srv/a")
		if err != nil {
			t.Fatal(err)
		}
		i := tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: tc.paths}
		c := policy.Case{Tool: "read", Intent: i, Asker: event.Machine, Tainted: true, Scratch: "/ws/.scratch/w", Rights: []policy.Right{right}, Mode: policy.ModeAsk}
		if d := policy.Decide(c); d.Verdict != tc.want {
			t.Errorf("%s: %+v, want %s", name, d, tc.want)
		}
		i.Scopes, i.Paths = []tools.Scope{tools.FSWrite}, []tools.Path{{Path: "/srv/a/b", Write: true, Area: tools.Outside}}
		c.Intent = i
		if d := policy.Decide(c); d.Verdict != policy.Deny {
			t.Errorf("a right to read writes: %+v", d)
		}
	}
}

// T12: after foreign text, reading what is guarded asks; before that it does not. No yes for the turn covers it.
func TestGuardedReads(t *testing.T) {
	c := policy.Case{
		Tool: "read", Asker: event.Owner, Mode: policy.ModeAsk,
		Intent: tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{{Path: "/h/.x", Area: tools.Outside, Guarded: true}}},
	}
	for _, tainted := range []bool{false, true} {
		c.Tainted = tainted
		if d := policy.Decide(c); (d.Verdict == policy.Ask) != tainted || policy.Ordinary(c.Intent) {
			t.Errorf("tainted %v: %+v", tainted, d)
		}
	}
	c.Rights = []policy.Right{{Kind: "read", To: "/h"}}
	if d := policy.Decide(c); d.Verdict != policy.Allow {
		t.Errorf("a job with the right to read: %+v", d)
	}
}

// A glob opens the files that it names, not their folder.
func TestRightToReadAGlob(t *testing.T) {
	for path, want := range map[string]policy.Verdict{
		"/home/a/x.pdf": policy.Allow, "/home/a": policy.Deny, "/home/a/diary.txt": policy.Deny, "/home/a/d/x.pdf": policy.Deny, "/home/b/x.pdf": policy.Deny,
		"/n/a.md": policy.Allow, "/n/d/e/a.md": policy.Allow, "/n/a.txt": policy.Deny, "/n/.git/a.md": policy.Deny, "/n": policy.Deny,
	} {
		c := policy.Case{
			Tool: "read", Intent: tools.Intent{Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{{Path: path, Area: tools.Outside}}},
			Asker: event.Machine, Tainted: true, Rights: []policy.Right{{Kind: "read", To: "/home/a/*.pdf"}, {Kind: "read", To: "/n/**/*.md"}}, Mode: policy.ModeAsk,
		}
		if d := policy.Decide(c); d.Verdict != want {
			t.Errorf("%s: %+v, want %s", path, d, want)
		}
		c.Intent.Paths[0].Area = tools.Sensitive
		if d := policy.Decide(c); d.Verdict != policy.Deny {
			t.Errorf("%s with secrets: %+v", path, d)
		}
		c.Intent.Paths[0] = tools.Path{Path: path, Area: tools.Outside, Write: true}
		c.Intent.Scopes, c.Rights = []tools.Scope{tools.FSWrite}, []policy.Right{{Kind: "write", To: "/home/a/*.pdf"}}
		if c.Asker = event.Owner; policy.Decide(c).Verdict != policy.Ask {
			t.Errorf("%s: a glob of what may be written", path)
		}
	}
}

func TestForeign(t *testing.T) {
	file := func(why string, scopes ...tools.Scope) tools.Intent {
		return tools.Intent{Scopes: scopes, Paths: []tools.Path{{Path: "/a"}, {Path: "/b", Foreign: why}}}
	}
	for name, tc := range map[string]struct {
		i    tools.Intent
		want string
	}{
		"a file of the owner's":             {file("", tools.FSRead), ""},
		"an attachment":                     {file("attachment", tools.FSRead), "attachment: /b"},
		"one that is read to be changed":    {file("attachment", tools.FSRead, tools.FSWrite), "attachment: /b"},
		"one that is only written":          {file("outside the roots", tools.FSWrite), ""},
		"a command that runs in its folder": {file("outside the roots", tools.Exec), ""},
		"what a tool says of itself":        {tools.Intent{Foreign: "web: x"}, "web: x"},
		"nothing":                           {tools.Intent{}, ""},
	} {
		if got := policy.ForeignSource(tc.i); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// An unknown asker, scope or mode is never less strict than the strictest known one.
func TestUnknownsAreStrict(t *testing.T) {
	shell := tools.Intent{Scopes: []tools.Scope{tools.Exec}}
	if d := policy.Decide(policy.Case{Intent: shell, Asker: "somebody", Mode: policy.ModeAsk}); d.Verdict != policy.Deny {
		t.Errorf("an unknown asker: %+v", d)
	}
	odd := tools.Intent{Scopes: []tools.Scope{"teleport"}}
	if d := policy.Decide(policy.Case{Intent: odd, Asker: event.Owner, Mode: policy.ModeAsk}); d.Verdict != policy.Ask {
		t.Errorf("an unknown scope: %+v", d)
	}
	if d := policy.Decide(policy.Case{Intent: odd, Asker: event.Known, Mode: policy.ModeAsk}); d.Verdict != policy.Deny {
		t.Errorf("an unknown scope of somebody else: %+v", d)
	}
	if d := policy.Decide(policy.Case{Intent: shell, Asker: event.Owner, Mode: "lenient"}); d.Verdict != policy.Ask {
		t.Errorf("an unknown mode: %+v", d)
	}
	area := tools.Intent{Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{{Path: "/x", Area: "moon"}}}
	if d := policy.Decide(policy.Case{Intent: area, Asker: event.Owner, Mode: policy.ModeAsk}); d.Verdict != policy.Ask {
		t.Errorf("an unknown area: %+v", d)
	}
}

func TestDeniedInEveryMode(t *testing.T) {
	i := tools.Intent{Scopes: []tools.Scope{tools.Exec}, Sandboxed: true, Denied: "it would remove the root folder"}
	for _, mode := range []policy.Mode{policy.ModeAsk, policy.ModeOpen} {
		d := policy.Decide(policy.Case{Tool: "exec", Intent: i, Asker: event.Owner, Typed: true, Mode: mode, Grants: []policy.Grant{{ID: 1, Tool: "exec", Pattern: policy.Pattern(i)}}})
		if d.Verdict != policy.Deny || d.Reason != i.Denied {
			t.Errorf("mode %s: %+v", mode, d)
		}
	}
}

// Each question and denial that a setting could allow names that setting.
func TestQuestionsSayWhatWouldAllowThem(t *testing.T) {
	for _, tc := range []struct {
		i    tools.Intent
		want string
	}{
		{tools.Intent{Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/srv/x", Write: true, Area: tools.Outside}}}, `[tools] roots = ["/srv/x:rw"]`},
		{tools.Intent{Scopes: []tools.Scope{tools.Messages}, Addresses: []event.Address{"chat:else"}}, ""}, // no hint: [owner] addresses would make this address an owner
	} {
		d := policy.Decide(policy.Case{Intent: tc.i, Asker: event.Owner, Mode: policy.ModeAsk})
		if d.Verdict != policy.Ask || d.Allow != tc.want {
			t.Errorf("%+v: %+v", tc.i.Scopes, d)
		}
	}
}

// "Always" never covers the shell as such: two commands never share a pattern.
func TestPatternsAreExact(t *testing.T) {
	exec := func(s string) string {
		return policy.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Exec}, Summary: "run: " + s, Canonical: []byte(s)})
	}
	if exec("ls") == exec("ls -l") || exec("ls") == "" {
		t.Errorf("patterns %q and %q", exec("ls"), exec("ls -l"))
	}
	long := strings.Repeat("x", 2000)
	a := policy.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Exec}, Summary: "run: echo " + long[:80] + "…", Canonical: []byte("echo " + long + "; df")})
	b := policy.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Exec}, Summary: "run: echo " + long[:80] + "…", Canonical: []byte("echo " + long + "; rm -rf /")})
	if a == b {
		t.Error("two commands whose summaries were cut share a pattern: allowing one for good would allow the other")
	}
	two := policy.Pattern(tools.Intent{Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/a"}, {Path: "/b"}}})
	one := policy.Pattern(tools.Intent{Scopes: []tools.Scope{tools.FSWrite}, Paths: []tools.Path{{Path: "/a"}}})
	if one == two {
		t.Error("a call that touches a second path matches the grant for the first one")
	}
	if p := policy.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Config}}); p != "" {
		t.Errorf("a change of hob itself may be granted for good: %q", p)
	}
	both := policy.Pattern(tools.Intent{Scopes: []tools.Scope{tools.FSRead, tools.Net}, Paths: []tools.Path{{Path: "/secret"}}, Hosts: []string{"example.org"}})
	host := policy.Pattern(tools.Intent{Scopes: []tools.Scope{tools.Net}, Hosts: []string{"example.org"}})
	if both == host {
		t.Error("a call that reads a file and sends it matches the grant for the host alone")
	}
}

// More scopes, paths or addresses never make a decision less strict.
func TestMoreIsNeverMilder(t *testing.T) {
	all := cells(t)
	order := map[policy.Verdict]int{policy.Allow: 0, policy.Ask: 1, policy.Deny: 2}
	rapid.Check(t, func(t *rapid.T) {
		a, b := all[rapid.IntRange(0, len(all)-1).Draw(t, "a")], all[rapid.IntRange(0, len(all)-1).Draw(t, "b")]
		x, y := a.intent(), b.intent()
		sum := tools.Intent{
			Scopes: append(append([]tools.Scope{}, x.Scopes...), y.Scopes...), Paths: append(append([]tools.Path{}, x.Paths...), y.Paths...),
			Addresses: append(append([]event.Address{}, x.Addresses...), y.Addresses...), Sandboxed: x.Sandboxed && y.Sandboxed,
		}
		asker := rapid.SampledFrom([]event.Trust{event.Owner, event.Known, event.Public, event.Machine}).Draw(t, "asker")
		decide := func(i tools.Intent) int {
			return order[policy.Decide(policy.Case{Tool: "tool", Intent: i, Asker: asker, ReplyTo: "chat:from", Known: []event.Address{"chat:me"}, Mode: policy.ModeAsk}).Verdict]
		}
		if got := decide(sum); got < decide(x) && x.Sandboxed == sum.Sandboxed || got < decide(y) && y.Sandboxed == sum.Sandboxed {
			t.Fatalf("%s and %s together: %d, alone %d and %d", fmt.Sprint(a.what, a.detail), fmt.Sprint(b.what, b.detail), got, decide(x), decide(y))
		}
	})
}
