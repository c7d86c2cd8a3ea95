package fsguard_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/fsguard"
)

func TestFrontMatter(t *testing.T) {
	for name, c := range map[string]struct {
		text               string
		contextual, locked bool
		fault, rest        string
	}{
		"none":                     {"be brief\n", false, false, "", "be brief\n"},
		"empty":                    {"", false, false, "", ""},
		"contextual":               {"---\nloading: contextual\n---\nlong", true, false, "", "long"},
		"locked":                   {"---\nagent-modification: false\n---\nx", false, true, "", "x"},
		"both, as others write it": {"\uFEFF---\r\ntags: [a, b]\r\n  - nested\r\n# note\r\nLoading: \"contextual\" # why\r\nAgent-Modification: No\r\n---\r\nx", true, true, "", "x"},
		"open":                     {"---\nagent-modification: true\nloading: always\n---\nx", false, false, "", "x"},
		"another end":              {"---\nagent-modification: false\n...\nx", false, true, "", "x"},
		"an unknown value locks":   {"---\nagent-modification: perhaps\n---\nx", false, true, `"perhaps" is unknown`, "x"},
		"twice, the stricter":      {"---\nagent-modification: false\nagent-modification: true\n---\nx", false, true, "", "x"},
		"an unknown loading":       {"---\nloading: lazy\n---\nx", false, false, `"lazy" is unknown`, "x"},
		"no key":                   {"---\nhello\n---\nx", false, false, "line 2", "x"},
		"never closed":             {"---\nagent-modification: false\nloading: contextual\n", false, true, "no closing line", "---\nagent-modification: false\nloading: contextual\n"},
		"too long":                 {"---\n" + strings.Repeat("a: b\n", 2000) + "---\nx", false, false, "no closing line", "---\n" + strings.Repeat("a: b\n", 2000) + "---\nx"},
		"not at the beginning":     {"x\n---\nagent-modification: false\n---\n", false, false, "", "x\n---\nagent-modification: false\n---\n"},
	} {
		f, rest := fsguard.Front([]byte(c.text))
		if f.Contextual != c.contextual || f.Locked != c.locked || !strings.Contains(f.Fault, c.fault) || (f.Fault == "") != (c.fault == "") || string(rest) != c.rest {
			t.Errorf("%s: %+v and %.80q", name, f, rest)
		}
	}
}

// A locked file is locked under every name, and it is said when a name could be taken from it.
func TestLocks(t *testing.T) {
	home := t.TempDir()
	ws := filepath.Join(home, "ws")
	g, err := fsguard.New(fsguard.Config{Workspace: ws, State: filepath.Join(home, "state"), Home: home})
	must(t, errors.Join(err, os.MkdirAll(filepath.Join(ws, "notes"), 0o700)))
	put := func(name, text string) string {
		path := filepath.Join(ws, name)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const lock = "---\nagent-modification: false\n---\nx"
	agents, soul := put("AGENTS.md", lock), put("SOUL.md", "x")
	put("notes.md", lock) // no workspace file
	if list := fsguard.Locks(g); len(list) != 1 || list[0].Name != "AGENTS.md" || list[0].Loose {
		t.Errorf("locks %+v", list)
	}
	must(t, os.Symlink("../AGENTS.md", filepath.Join(ws, "notes", "link.md")))
	for _, name := range []string{"AGENTS.md", "notes/link.md", "notes/../AGENTS.md"} {
		p, err := g.Resolve("", name)
		if err != nil || !fsguard.Locked(g, p.Path) {
			t.Errorf("%s is open: %v", name, err)
		}
	}
	if fsguard.Locked(g, soul) || fsguard.Locked(g, filepath.Join(ws, "notes.md")) || fsguard.Locked(g, filepath.Join(ws, "new.md")) {
		t.Error("what nobody locked is locked")
	}
	hard := filepath.Join(ws, "notes", "hard.md")
	must(t, os.Link(agents, hard))
	if list := fsguard.Locks(g); !fsguard.Locked(g, hard) || len(list) != 1 || !list[0].Loose {
		t.Errorf("a hard link: %+v", list)
	}
	must(t, errors.Join(os.Remove(hard), os.Rename(agents, filepath.Join(ws, "notes", "agents.md")), os.Symlink("notes/agents.md", agents)))
	if list := fsguard.Locks(g); len(list) != 1 || !list[0].Loose || !fsguard.Locked(g, filepath.Join(ws, "notes", "agents.md")) {
		t.Errorf("a workspace file that is a link: %+v", list)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
