package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

// R9d: with too few files to open, hob says so and does not start; it would hang at the first connections.
func TestTooFewOpenFiles(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "ulimit -n 24 && exec hob --home "+t.TempDir()+"/home up --no-chat --listen 127.0.0.1:0").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "only 24 files may be open at once; hob needs 40") || !strings.Contains(string(out), "ulimit -n 1024") {
		t.Errorf("%v: %s", err, out)
	}
}
