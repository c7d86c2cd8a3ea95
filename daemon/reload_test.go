package daemon_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// rewrites is how often the config changes in TestMessagesAreServedWhileTheConfigChanges.
const rewrites = 100

// wholeConfig is a file whose job and whose owner tell its number.
func wholeConfig(n int) string {
	return fmt.Sprintf("[owner]\nname = \"Sam %d\"\n[jobs.load]\nevery = \"100h\"\ntz = \"UTC\"\nprompt = \"say: %d\"\n[turn]\nmax_steps = %d\n", n, n, n+1)
}

// halfWrite leaves the beginning of a file in its place, cut within a text, as an editor does that is killed or slow.
func halfWrite(t *testing.T, home, text string) {
	t.Helper()
	half := text[:strings.Index(text, "say: ")+len("say: ")]
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(half), 0o600); err != nil {
		t.Fatal(err)
	}
}

// load is a daemon that is given messages while its config changes.
type load struct {
	*running
	messages int
	newest   int // the number of the last whole config that was written
}

// serve sends a message, waits for its answer, and looks whether a whole config is in force: one that was written, and none that is older than
// the last one seen.
func (l *load) serve(seen *int) {
	l.t.Helper()
	l.messages++
	want := fmt.Sprintf("message %d.", l.messages)
	if got := l.say("say: " + want); got != want {
		l.t.Fatalf("%s: answered %q", want, got)
	}
	jobs, n := l.jobs(), -1
	if len(jobs) == 1 {
		if _, err := fmt.Sscanf(jobs[0], "load=say: %d", &n); err != nil {
			n = -1
		}
	}
	if n < *seen || n > l.newest {
		l.t.Fatalf("after message %d the jobs are %q; %d was seen before, and %d is the newest", l.messages, jobs, *seen, l.newest)
	}
	*seen = n
}

// faulty reports whether the daemon says that the file cannot be used as it stands.
func (l *load) faulty() bool {
	l.t.Helper()
	status, err := client.Show(l.t.Context(), l.client, api.ShowStatus, "")
	if err != nil {
		l.t.Fatal(err)
	}
	return slices.ContainsFunc(status.Config, func(p string) bool { return strings.Contains(p, "config.toml:6:") })
}

// TestMessagesAreServedWhileTheConfigChanges rewrites the config a hundred times while messages are served, every third time only half of it. Each message is
// answered; after each one a whole config is in force, never an older one than before; a half one is said to be faulty, and the last is in force at the end.
func TestMessagesAreServedWhileTheConfigChanges(t *testing.T) {
	home := t.TempDir()
	write(t, home, wholeConfig(0))
	l := &load{running: start(t, home)}
	seen := 0
	for n := 1; n <= rewrites; n++ {
		half := n%3 == 0
		if half {
			halfWrite(t, home, wholeConfig(n))
		} else {
			l.newest = n
			write(t, home, wholeConfig(n))
		}
		l.serve(&seen)
		if n%10 != 0 && n%15 != 0 {
			continue
		}
		for half && !l.faulty() || !half && seen != n {
			l.serve(&seen)
		}
	}
	for seen != l.newest {
		l.serve(&seen)
	}
	if l.faulty() {
		t.Error("a whole file is said to be faulty")
	}
	turns, err := client.List(t.Context(), l.client, api.Turns, event.Filter{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	done := 0
	for _, turn := range turns {
		if turn.State == "done" {
			done++
		}
	}
	if done != min(l.messages, 1000) || l.messages < rewrites {
		t.Errorf("%d messages, %d turns done of %d", l.messages, done, len(turns))
	}
	t.Logf("%d messages were answered", l.messages)
}
