//go:build unix

package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestKilledHalfWay kills hob config set at each point of its writing: the file is the old one or the new one, whole, and the next change goes
// TestKilledHalfWay once what was left is old.
func TestKilledHalfWay(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds hob")
	}
	bin := filepath.Join(t.TempDir(), "hob")
	build := exec.CommandContext(t.Context(), "go", "build", "-tags", "hobtest", "-o", bin, "hob/cmd/hob")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	const before = "# mine\n[turn]\nmax_steps = 5 # few\n"
	for point, want := range map[string]string{"config.temp": before, "config.rename": "# mine\n[turn]\nmax_steps = 6 # few\n"} {
		home := t.TempDir()
		path := filepath.Join(home, "config.toml")
		if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		set := func(value, point string) error {
			cmd := exec.CommandContext(t.Context(), bin, "--home", home, "config", "set", "turn.max_steps", value)
			cmd.Env = append(os.Environ(), "HOB_FAIL="+point)
			return cmd.Run()
		}
		var exit *exec.ExitError
		if err := set("6", point); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Fatalf("%s: it ended with %v", point, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", point, got, err, want)
		}
		past := time.Now().Add(-time.Minute)
		if err := os.Chtimes(path+".new", past, past); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if err := set("7", ""); err != nil {
			t.Errorf("%s: the next change: %v", point, err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != "# mine\n[turn]\nmax_steps = 7 # few\n" {
			t.Errorf("%s: after the next change: %q, %v", point, got, err)
		}
	}
}
