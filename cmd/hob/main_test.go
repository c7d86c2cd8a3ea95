package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hob/daemon/control/client"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"hob": main})
}

// TestScripts runs the stories in testdata with the real main. Each has a home of its own; "up" starts a daemon in it.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			home, err := os.MkdirTemp("", "hob") // short enough for a socket
			if err != nil {
				return err
			}
			e.Defer(func() {
				if err := os.RemoveAll(home); err != nil {
					t.Error(err)
				}
			})
			e.Setenv("HOB_HOME", filepath.Join(home, "h"))
			e.Setenv("HOME", home)
			e.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"answering": answering, "exits": exits},
	})
}

// answering waits until the daemon of the script's home answers.
func answering(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: answering")
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	end := time.After(20 * time.Second)
	for {
		select {
		case <-look.C:
			if _, err := client.Find(context.Background(), ts.Getenv("HOB_HOME"), false); err == nil {
				return
			}
		case <-end:
			ts.Fatalf("no daemon answers in %s", ts.Getenv("HOB_HOME"))
		}
	}
}

// exits runs a command and compares its exit code: exits CODE COMMAND….
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
