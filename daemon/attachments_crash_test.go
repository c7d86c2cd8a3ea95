//go:build hobtest && unix

package daemon_test

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// homeOfChild names the home of the daemon that dies.
const homeOfChild = "HOB_TEST_CRASH_HOME"

func theMessage() (id, text string, files []string) {
	return "m1", "say: hi", []string{"x", "one", "y", "two"}
}

// A crash on the way of a message with files leaves nothing that the next start does not remove; the same message is then stored once.
func TestAttachmentCrashes(t *testing.T) {
	for point, want := range map[string]string{
		"artifact.written:1":  "",
		"artifact.written:2":  "",
		"inbound.received:2":  "", // everything is written, no row is
		"inbound.committed:1": "1/ 1/x=one 1/y=two",
	} {
		t.Run(point, func(t *testing.T) {
			home := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAttachmentCrashChild$") // #nosec G204 G702 -- this very test
			cmd.Env = append(os.Environ(), homeOfChild+"="+home, "HOB_FAIL="+point)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it did not die there: %v\n%s", err, out)
			}
			if held := shelved(t, home); held == "" {
				t.Error("nothing had been written yet: the point is not where the test thinks")
			}
			r := start(t, home)
			if got := copies(t, home); got != want {
				t.Errorf("copies %q, want %q", got, want)
			}
			if held := shelved(t, home); (held == "one two") != (want != "") || (held == "") != (want == "") {
				t.Errorf("artifacts %q", held)
			}
			id, text, files := theMessage()
			receipt, err := r.client.Post(t.Context(), attach(id, text, files...))
			if err != nil || want != "" && receipt.Inbox != 1 {
				t.Errorf("the same message again: %+v, %v", receipt, err)
			}
			if held := shelved(t, home); held != "one two" {
				t.Errorf("after it came again: artifacts %q", held)
			}
		})
	}
}

// TestAttachmentCrashChild is the daemon that dies.
func TestAttachmentCrashChild(t *testing.T) {
	home := os.Getenv(homeOfChild)
	if home == "" {
		t.Skip("TestAttachmentCrashes runs it")
	}
	id, text, files := theMessage()
	_, err := start(t, home).client.Post(t.Context(), attach(id, text, files...))
	t.Errorf("it lives: %v", err)
}
