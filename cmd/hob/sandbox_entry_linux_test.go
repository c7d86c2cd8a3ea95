package main_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A sandbox is entered before hob's initialisers: of hob's own packages and of its libraries hardly any runs, and none of those that
// TestASandboxIsEnteredBeforeMain let all others go first.
func TestASandboxIsEnteredBeforeMain(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = []string{"HOB_ENTER=4", "GODEBUG=inittrace=1"}
	out, _ := cmd.CombinedOutput() // it ends with an error: there is no order
	if code := cmd.ProcessState.ExitCode(); code != 125 || !strings.Contains(string(out), "hob: cannot be confined: ") {
		t.Fatalf("exit code %d: %s", code, out)
	}
	if n := strings.Count(string(out), "init "); n == 0 || n > 30 {
		t.Errorf("%d packages are initialised before a sandbox is entered, want at most 30:\n%s", n, out)
	}
	for _, name := range []string{"init os ", "init fmt ", "init reflect ", "init hob/", "init golang.org/x/sys/unix"} {
		if strings.Contains(string(out), name) {
			t.Errorf("%s runs before a sandbox is entered", strings.TrimSpace(name))
		}
	}
}
