package main_test

import (
	"context"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// TestJobSaidAtTheTerminal (N43): on a terminal the times of a job are as people say them; a pipe gets dates. Neither gets the stored schedule.
func TestJobSaidAtTheTerminal(t *testing.T) {
	home, _ := started(t)
	d := onScreen(t, 80, 24, []string{"NO_COLOR=1"}, "cron", "add", "--home", home, "--name", "tea", "--tz", "Asia/Tokyo", "--when", "in 26 hours", "say: tea?")
	d.sees("one run, free")
	if said := d.shown(); !regexp.MustCompile(`added: tea: once, Asia/Tokyo\nnext: (tomorrow|\w{3} \d+ \w{3}) [:\dHM]+\nprompt: say: tea\?\n`).MatchString(said) {
		t.Errorf("the terminal shows\n%s", said)
	}
	out, err := exec.CommandContext(t.Context(), "hob", "cron", "add", "--home", home, "--name", "milk", "--when", "in 26 hours", "say: milk?").CombinedOutput()
	if !regexp.MustCompile(`^added: milk: once, .*\nnext: \w{3} [-\d]+ [:\d]+\n`).Match(out) || err != nil {
		t.Errorf("a pipe gets %v\n%s", err, out)
	}
}

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
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Second) // a question that never comes must not hang
		defer stop()
		cmd, screen, _ := onTerminal(ctx, t, "cron", "rm", "--home", home, "tea")
		shown, exit := answered(t, cmd, screen, "delete it? [y/N] ", x.keys)
		if !strings.Contains(shown, "this deletes the job tea (every 1h: say: tea?)") {
			t.Errorf("it says %q", shown)
		}
		if exit != x.exit {
			t.Errorf("%q: exit code %d, want %d", x.keys, exit, x.exit)
		}
		if jobs, err := client.List(context.Background(), c, api.Jobs, client.Filter{}); err != nil || len(jobs) != x.left+1 { // and the heartbeat
			t.Errorf("%q: left are %v, %v", x.keys, jobs, err)
		}
	}
}
