package skills_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/event"
)

// TestUnknownToolsAreNamed: a name that hob does not have is no fault, because the format is that of other agents too.
func TestUnknownToolsAreNamed(t *testing.T) {
	w := newWorld(t)
	w.put("one/SKILL.md", "---\nname: one\ndescription: d\nallowed-tools: Read frobnicate git__status Bash(git:*) WebFetch KillShell\n---\nText.\n")
	want := []string{"frobnicate", "killshell"}
	for _, from := range []string{"one", filepath.Join(w.dir, "one")} {
		v, err := w.Check(t.Context(), api.SkillSource{From: from})
		if err != nil || v.Problem != "" || !slices.Equal(v.Unknown, want) {
			t.Errorf("%s: unknown are %q, want %q: %+v, %v", from, v.Unknown, want, v, err)
		}
	}
	w.good("two")
	if v, err := w.Show(t.Context(), "two"); err != nil || len(v.Unknown) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestAPathThatIsNoFolderIsNamedWhole names the whole path, for a check and for adding.
func TestAPathThatIsNoFolderIsNamedWhole(t *testing.T) {
	w := newWorld(t)
	w.put("file", "x")
	for name, want := range map[string]string{"no such/folder": "there is no folder PATH", "file": "PATH is a file, not a folder"} {
		from := api.SkillSource{From: filepath.Join(w.dir, name)}
		want = strings.ReplaceAll(want, "PATH", from.From)
		if v, err := w.Check(t.Context(), from); err != nil || v.Problem != want {
			t.Errorf("check: %q, %v; want %q", v.Problem, err, want)
		}
		_, err := w.Add(t.Context(), from)
		if f, ok := event.AsFault(err); !ok || f.Text != want || f.Hint == "" {
			t.Errorf("add: %v; want %q", err, want)
		}
	}
}

// TestShowHasWhatTheOwnerIsToTrust shows the text of a skill, from its folder or else from the copy in use, and counts each file that can
// run, wherever it is.
func TestShowHasWhatTheOwnerIsToTrust(t *testing.T) {
	w := newWorld(t)
	w.good("one")
	for path, text := range map[string]string{"run.sh": "echo", "Install.PS1": "x", "tool": "#!/bin/sh\n", "program": "x", "scripts/notes": "x", "references/more.md": "x", "LICENSE": "x"} {
		w.put("one/"+path, text)
	}
	must(t, os.Chmod(filepath.Join(w.dir, "one", "program"), 0o700)) // #nosec G302 -- a program
	scripts := 5
	if runtime.GOOS == "windows" { // it has no executable bit
		scripts--
	}
	show := func() {
		t.Helper()
		v, err := w.Show(t.Context(), "one")
		must(t, err)
		if !strings.HasPrefix(v.Text, "---\nname: one\n") || !strings.HasSuffix(v.Text, "---\nDo $1.\n") || v.Scripts != scripts {
			t.Errorf("the text is %q, and %d files can run, want %d", v.Text, v.Scripts, scripts)
		}
	}
	show()
	_, err := w.Trust(t.Context(), "one", "")
	must(t, err)
	list, err := w.List(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Text != "" || list[0].Scripts != scripts {
		t.Errorf("the list is %+v", list)
	}
	must(t, os.RemoveAll(filepath.Join(w.dir, "one")))
	show()
}
