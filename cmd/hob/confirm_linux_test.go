package main_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// TestSureAtTheTerminal: what is gone for good asks, and only a yes does it.
func TestSureAtTheTerminal(t *testing.T) {
	home, c := started(t)
	for _, x := range []struct {
		keys string
		exit int
		left int
	}{
		{"\n", 1, 1},
		{"no\n", 1, 1},
		{"\x04", 1, 1},
		{"\x03", 1, 1},
		{"yes\n", 0, 0},
	} {
		if x.keys == "\n" {
			add := exec.CommandContext(t.Context(), "hob", "cron", "add", "--home", home, "--name", "tea", "--every", "1h", "say: tea?")
			if out, err := add.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		screen, terminal := pair(t)
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second) // a question that never comes must not hang
		defer stop()
		cmd := exec.CommandContext(ctx, "hob", "cron", "rm", "--home", home, "tea")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		shown := ""
		for b := make([]byte, 1024); !strings.Contains(shown, "delete it? [y/N] "); {
			n, err := screen.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			shown += string(b[:n])
		}
		if !strings.Contains(shown, "this deletes the job tea (every 1h: say: tea?)") {
			t.Errorf("it says %q", shown)
		}
		if _, err := screen.WriteString(x.keys); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != x.exit {
			t.Errorf("%q: exit code %d, want %d", x.keys, got, x.exit)
		}
		if jobs, err := client.List(context.Background(), c, api.Jobs, client.Filter{}); err != nil || len(jobs) != x.left {
			t.Errorf("%q: left are %v, %v", x.keys, jobs, err)
		}
	}
}
