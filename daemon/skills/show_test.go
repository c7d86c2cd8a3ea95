package skills_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestShowHasWhatTheOwnerIsToTrust shows the text of a skill, from its folder or else from the copy in use, and counts each file that can
// run, wherever it is.
func TestShowHasWhatTheOwnerIsToTrust(t *testing.T) {
	w := newWorld(t)
	w.good("one")
	for path, text := range map[string]string{"run.sh": "echo", "Install.PS1": "x", "tool": "#!/bin/sh\n", "program": "x", "scripts/notes": "x", "references/more.md": "x", "LICENSE": "x"} {
		w.put("one/"+path, text)
	}
	must(t, os.Chmod(filepath.Join(w.dir, "one", "program"), 0o700)) // #nosec G302 -- a program
	show := func() {
		t.Helper()
		v, err := w.Show(t.Context(), "one")
		must(t, err)
		if !strings.HasPrefix(v.Text, "---\nname: one\n") || !strings.HasSuffix(v.Text, "---\nDo $1.\n") || v.Scripts != 5 {
			t.Errorf("the text is %q, and %d files can run, want 5", v.Text, v.Scripts)
		}
	}
	show()
	_, err := w.Trust(t.Context(), "one", "")
	must(t, err)
	list, err := w.List(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Text != "" || list[0].Scripts != 5 {
		t.Errorf("the list is %+v", list)
	}
	must(t, os.RemoveAll(filepath.Join(w.dir, "one")))
	show()
}
