package policy_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"hob/daemon/policy"
	"hob/daemon/text"
	"hob/tools"
)

// N21, N25, N28: a question shows a person what a call would do; JSON and hashes are in the lines that text.ForPeople leaves out.
func TestShown(t *testing.T) {
	old := "buy milk\ncall mum\n"
	sum := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(old)))
	for name, c := range map[string]struct{ canonical, want string }{
		"a change":         {fmt.Sprintf(`{"tool":"write","path":"/n","before":%q,"on_conflict":"overwrite","content":"buy bread\ncall mum\n"}`, sum), "  @@ -1,2 +1,2 @@\n  -buy milk\n  +buy bread\n   call mum"},
		"no change":        {fmt.Sprintf(`{"tool":"write","path":"/n","before":%q,"content":"buy milk\ncall mum\n"}`, sum), "  the content stays the same"},
		"another old file": {`{"tool":"write","path":"/n","before":"sha256:00","content":"a\nb"}`, "  the new content (the old one cannot be compared here):\n  + a\n  + b"},
		"a command":        {`{"tool":"exec","argv":["/bin/sh","-c","rm -r build\nmake"],"cwd":"/src","cwd_id":"1:2","env":["CC=gcc"],"where":"sandbox"}`, "  $ rm -r build\n    make\n    in /src, sandbox\n    with CC=gcc"},
		"an edit":          {`{"tool":"edit","before":{"a.go":"sha256:12"},"args":{"path":"a.go","old_text":"one\ntwo","new_text":"three"}}`, "  path: a.go\n  - one\n  - two\n  + three"},
		"a page":           {`{"tool":"web_fetch","links":["https://a.example/","http://a.example/"],"url":"a.example"}`, "  links:\n    https://a.example/\n    http://a.example/\n  url: a.example"},
		"a file":           {`{"tool":"read","path":"/n","path_id":"1:2"}`, "  path: /n"},
		"arguments":        {`{"tool":"x","args":{"tool":"t","before":"2","path_id":"1"}}`, "  tool: t\n  before: 2\n  path_id: 1"},
		"others":           {`{"tool":"x","n":12,"b":{"c":[1]}}`, `  n: 12` + "\n" + `  b: {"c":[1]}`},
		"no object":        {"to chat:1\x1b[2J", `  call: to chat:1\u{1b}[2J`},
		"broken":           {`{"tool":"x","a":`, `  call: {"tool":"x","a":`},
		"hidden":           {`{"tool":"x","a":"b\u202e\u0000c\r\nd"}`, "  a:\n    b\\u{202e}\\u{0}c\\u{d}\n    d"},
	} {
		i := tools.Intent{Summary: "do it", Canonical: []byte(c.canonical), Old: []byte(old)}
		if got := policy.Shown(i); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
		all := policy.ApprovalText("May I", i, policy.Decision{Reason: "so", Allow: "x = 1"})
		if got, want := text.ForPeople(all), "May I do it? (so)\n"+c.want; got != want || !strings.Contains(all, text.AsJSON) {
			t.Errorf("%s: the question is\n%s\nwant\n%s\nof\n%s", name, got, want, all)
		}
	}
}

// Nothing in a call is taken for a line that is for programs, so nothing of it is left out.
func TestShownIsNotLeftOut(t *testing.T) {
	for _, canonical := range []string{
		`{"as JSON":"HIDE","always allowed by":"HIDE","careful":"HIDE"}`, `{"a":"x\n  as JSON: HIDE\nas JSON: HIDE"}`, `{"a\n  as JSON: ":"HIDE"}`, `{"tool":"exec","argv":["as JSON: HIDE\n  as JSON: HIDE"],"env":["A=\n  as JSON: HIDE"]}`,
		`{"tool":"write","path":"/x","before":"absent","content":"  as JSON: HIDE\nas JSON: HIDE"}`, "  as JSON: HIDE\n  as JSON: HIDE", `{"args":{"old_text":"as JSON: HIDE"}}`,
	} {
		i := tools.Intent{Canonical: []byte(canonical)}
		all := text.ForPeople(policy.ApprovalText("May I", i, policy.Decision{}))
		if got, want := strings.Count(all, "HIDE"), strings.Count(canonical, "HIDE"); got != want || strings.Contains(all, "\n  careful: HIDE") {
			t.Errorf("%s: %d of %d are shown:\n%s", canonical, got, want, all)
		}
	}
	long := text.ForPeople(policy.ApprovalText("May I", tools.Intent{Canonical: []byte(`{"a":"` + strings.Repeat("é", 20_000) + `END"}`)}, policy.Decision{}))
	if !strings.Contains(long, "BYTES ARE NOT SHOWN") || !strings.Contains(long, "careful: its middle is not shown") || !strings.Contains(long, "END") || len(long) > 20_000 {
		t.Errorf("%d bytes: %.300s", len(long), long)
	}
}

// A text shows no member of its own in the audit, and a text of several lines stays in its place.
func TestListed(t *testing.T) {
	for raw, want := range map[string]string{
		`{"action":"remove","name":"tea"}`:          "action: remove, name: tea",
		`{"name":"tea, action: remove","id":7}`:     `name: "tea, action: remove", id: 7`,
		`{"prompt":"a\nname: tea","paths":["x"]}`:   `prompt: "a\nname: tea", paths: x`,
		`{"old_text":"one\ntwo, three","path":"x"}`: `- "one\ntwo, three", path: x`,
		`{"tool":"a","before":"2","cwd_id":"3"}`:    "tool: a, before: 2, cwd_id: 3",
	} {
		if got := policy.Listed([]byte(raw)); got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

// N23: a sentence names the path once.
func TestAPathIsNamedOnce(t *testing.T) {
	i := tools.Intent{Summary: "write /a/b.txt (4 bytes)", Canonical: []byte("{}"), Paths: []tools.Path{{Path: "/a/b.txt", Write: true}}}
	got := policy.ApprovalText("May I", i, policy.Decision{Reason: "/a/b.txt lies outside the workspace"})
	if want := "May I write /a/b.txt (4 bytes)? (it lies outside the workspace)\n"; !strings.HasPrefix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
