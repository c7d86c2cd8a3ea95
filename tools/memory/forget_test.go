package memory_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/memory"
)

// forget is the tool memory_forget over a fixture, and the call of it that the owner has confirmed.
func (m *memo) forget(t testing.TB, what string) (tools.Intent, tools.Result) {
	t.Helper()
	g, err := fsguard.New(fsguard.Config{Workspace: m.space, State: filepath.Join(m.dir, "state"), Home: m.dir})
	must(t, err)
	tool := memory.NewForget(g, new(memory.Facts))
	c := m.call
	c.Args, err = json.Marshal(memory.ForgetInput{What: what})
	must(t, err)
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		return intent, tools.ErrorResult(err)
	}
	res, err := tool.Run(t.Context(), c, intent)
	must(t, err)
	return intent, res
}

func TestForget(t *testing.T) {
	const before = "# Memory\n\n- 2026-01-01: The door code is 4711. (from main, turn 1)\n- Anna: 3 May\n  and a cake\n- Anna: 030-1234\n- ~~Old: x~~ (superseded 2026-01-02)\n\nA line of text.\n"
	for _, c := range []struct{ name, what, gone, says string }{
		{"by its words", "the door code", "- 2026-01-01: The door code is 4711. (from main, turn 1)\n", "forgotten: The door code is 4711. (line 3 of MEMORY.md)"},
		{"by all its words", "code of the door", "- 2026-01-01: The door code is 4711. (from main, turn 1)\n", "line 3"},
		{"in another order", "my code door", "- 2026-01-01: The door code is 4711. (from main, turn 1)\n", "line 3"},
		{"equal beats inside", "Anna: 030-1234", "- Anna: 030-1234\n", "line 6"},
		{"all its lines", "cake", "- Anna: 3 May\n  and a cake\n", "forgotten: Anna: 3 May and a cake"},
		{"crossed out", "old: x", "- ~~Old: x~~ (superseded 2026-01-02)\n", "line 7"},
		{"plain text", "line of text", "A line of text.\n", "line 9"},
		{"by its place", "MEMORY.md:5", "- Anna: 3 May\n  and a cake\n", "line 4"},
		{"several", "Anna", "", "2 facts of the memory have that: nothing was removed\n  MEMORY.md:4: Anna: 3 May and a cake\n  MEMORY.md:6: Anna: 030-1234\nhint: name one by its file and line: forget MEMORY.md:4"},
		{"none, but near", "Anna's dog", "", "nothing about that: nothing was removed\n  MEMORY.md:4"},
		{"none at all", "zebra", "", "memory_search shows"},
		{"a heading", "MEMORY.md:1", "", "line 1 of MEMORY.md holds no fact"},
		{"no such line", "MEMORY.md:99", "", "line 99 of MEMORY.md holds no fact"},
		{"no such file", "memory/x.md:1", "", "there is no memory/x.md"},
		{"not of the memory", "../config.md:1", "", "not a file of the memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemo(t)
			m.put(t, "MEMORY.md", before)
			intent, res := m.forget(t, c.what)
			if got, want := m.text(t, "MEMORY.md"), strings.Replace(before, c.gone, "", 1); got != want || !strings.Contains(res.Content, c.says) || res.IsError != (c.gone == "") {
				t.Errorf("%s\n%q, want\n%q", res.Content, got, want)
			}
			if (intent.Confirm != "") != (c.gone != "") {
				t.Errorf("the owner must confirm what is removed, and nothing else: %+v", intent)
			}
		})
	}
}

// What the owner has confirmed is removed, and nothing that has taken its place meanwhile.
func TestForgetRemovesWhatWasConfirmed(t *testing.T) {
	m := newMemo(t)
	m.put(t, "MEMORY.md", "- a fact\n")
	g, err := fsguard.New(fsguard.Config{Workspace: m.space, State: filepath.Join(m.dir, "state"), Home: m.dir})
	must(t, err)
	tool := memory.NewForget(g, new(memory.Facts))
	c := m.call
	c.Args = json.RawMessage(`{"what": "MEMORY.md:1"}`)
	intent, err := tool.Intent(t.Context(), c)
	must(t, err)
	m.put(t, "MEMORY.md", "- another\n- a fact\n")
	res, err := tool.Run(t.Context(), c, intent)
	must(t, err)
	if m.text(t, "MEMORY.md") != "- another\n" {
		t.Errorf("%s\n%s", res.Content, m.text(t, "MEMORY.md"))
	}
	if res, err = tool.Run(t.Context(), c, intent); err != nil || res.Code != tools.Conflict || m.text(t, "MEMORY.md") != "- another\n" {
		t.Errorf("%v %s\n%s", err, res.Content, m.text(t, "MEMORY.md"))
	}
}

// A list with foreign text says where it comes from.
func TestForgetTaintsByWhatItShows(t *testing.T) {
	m := newMemo(t)
	m.put(t, "MEMORY.md", "- evil twin\n")
	m.put(t, fsguard.ForeignMemory, "- evil plan\n")
	if _, res := m.forget(t, "evil"); !strings.Contains(res.Content, "plan") || res.Foreign == "" {
		t.Errorf("%+v", res)
	}
	if _, res := m.forget(t, "twin"); res.Foreign != "" {
		t.Errorf("%+v", res)
	}
}
