package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/sandbox"
)

// TestProbeIsMarked: a bwrap that is killed in the middle of the probe may leave a child that waits forever. The next start finds it by
// its environment, so each bwrap that makes a sandbox must have the mark there.
func TestProbeIsMarked(t *testing.T) {
	w := newMachine(t)
	usable(t, sandbox.New(t.Context(), w.Config))
	real, err := exec.LookPath("bwrap")
	must(t, err)
	bin := t.TempDir()
	seen := filepath.Join(bin, "seen")
	script := "#!/bin/sh\ncase $1 in --help) ;; *) echo \"$HOB_MARK\" >>" + seen + " ;; esac\nexec " + real + " \"$@\"\n"
	must(t, os.WriteFile(filepath.Join(bin, "bwrap"), []byte(script), 0o755)) // #nosec G306 -- a program
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	w.Config.Mark = "HOB_MARK=this/probe/0"
	if s := sandbox.New(t.Context(), w.Config).State(); !s.Works {
		t.Fatalf("%+v", s)
	}
	text, err := os.ReadFile(seen) // #nosec G304 -- made above
	must(t, err)
	lines := strings.Fields(string(text))
	if len(lines) == 0 {
		t.Fatal("bwrap was not tried")
	}
	for _, line := range lines {
		if line != "this/probe/0" {
			t.Errorf("a bwrap of the probe has the mark %q", line)
		}
	}
}
