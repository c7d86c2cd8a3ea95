//go:build hobtest && unix

package daemon_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// A kill while a session is being forgotten leaves either all of it or, after the next start, nothing.
func TestAKillWhileASessionIsForgotten(t *testing.T) {
	for _, point := range []string{"memory.forgotten", "session.forgotten"} {
		t.Run(point, func(t *testing.T) {
			home := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestForgetCrashChild$") // #nosec G204 G702 -- this very test
			cmd.Env = append(os.Environ(), homeOfChild+"="+home, "HOB_FAIL="+point)
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("it did not die there: %v\n%s", err, out)
			}
			if len(holding(t, home, "singsatdawn")) == 0 {
				t.Error("nothing is left to be removed: the point is not where the test thinks")
			}
			r := start(t, home)
			r.until("the index", func() bool { return r.found("pineapple", "stays") })
			if r.found("quetzal", "singsatdawn") {
				t.Error("it is found")
			}
			r.end()
			if files := holding(t, home, "singsatdawn"); len(files) > 0 {
				t.Errorf("%q still hold it", files)
			}
		})
	}
}

// TestForgetCrashChild is the daemon that dies.
func TestForgetCrashChild(t *testing.T) {
	home := os.Getenv(homeOfChild)
	if home == "" {
		t.Skip("TestAKillWhileASessionIsForgotten runs it")
	}
	r := start(t, home)
	m := attach("m1", "say: the quetzal singsatdawn", "bird.txt", "a quetzal that singsatdawn")
	m.Session = "garden"
	if _, err := r.client.Post(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	r.say("say: pineapple stays")
	r.until("the index", func() bool { return r.found("quetzal", "singsatdawn") && r.found("pineapple", "stays") })
	if list, err := os.ReadDir(filepath.Join(home, "state", "artifacts")); err != nil || len(list) == 0 {
		t.Fatalf("%v, %v", list, err)
	}
	_, err := client.Do(t.Context(), r.client, api.ForgetSession, "garden", api.None{})
	t.Errorf("it lives: %v", err)
}
