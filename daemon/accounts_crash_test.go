//go:build unix

package daemon_test

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hob/daemon/account/caldavtest"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// hob is killed between the request for an event and its answer. Whatever has become of the request, there is one event afterwards and the turn says so;
// if the calendar does not tell, the turn says that it is not known.
func TestEventCrashes(t *testing.T) {
	t.Parallel()
	const made = "created in the calendar Home: Dentist"
	for name, tc := range map[string]struct {
		stored, lost, late, down bool
		events                   int
		says                     string
	}{
		"the server has stored it":           {stored: true, events: 1, says: made},
		"the server loses the request":       {lost: true, events: 1, says: made},
		"the request is carried out later":   {late: true, events: 1, says: made},
		"stored, then the server is down":    {stored: true, down: true, events: 1, says: "it is not known whether the event was created"},
		"not stored, and the server is down": {lost: true, down: true, events: 0, says: "it is not known whether the event was created"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := caldavtest.NewServer()
			t.Cleanup(s.Close)
			r, _ := listen(t, "", planner)
			r.withAccount(s.URL)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}

			child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEventCrashChild$") // #nosec G204 G702 -- this very test
			child.Env = append(os.Environ(), homeOfEvents+"="+r.home)
			var puts atomic.Int32
			started, dead, again := make(chan struct{}), make(chan struct{}), make(chan struct{})
			kill := func() {
				<-started
				if err := child.Process.Kill(); err != nil {
					t.Error(err)
				}
				<-dead // nobody gets the answer
			}
			s.Before = func(q *http.Request) int {
				first := q.Method == http.MethodPut && puts.Add(1) == 1
				if q.Method == http.MethodPut && q.Header.Get("If-None-Match") != "*" {
					t.Error("a request could overwrite an event")
				}
				switch {
				case first && (tc.lost || tc.late):
					kill()
					if tc.lost {
						return http.StatusBadGateway
					}
					<-again // the restarted hob has stored it
				case !first && tc.down:
					return http.StatusServiceUnavailable
				}
				return 0
			}
			s.Stored = func(*http.Request) {
				switch n := puts.Load(); {
				case n == 1 && tc.stored:
					kill()
				case n == 2 && tc.late:
					close(again)
				}
			}
			out, err := output(child, started)
			close(dead)
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("it did not die: %v\n%s", err, out)
			}

			r = start(t, r.home)
			text := r.wait(1, func(e *event.Event, turn int64) bool { return e.Type == "turn.finished" && e.Turn == turn }, 1)
			if tc.late {
				r.until("the late request is carried out", func() bool { _, n := s.Events(); return n == 2 })
			}
			if n, _ := s.Events(); n != tc.events || !strings.Contains(text, tc.says) || puts.Load() != 2 {
				t.Errorf("%d events after %d requests; the turn said %s", n, puts.Load(), text)
			}
		})
	}
}

// homeOfEvents names the home of the daemon that is killed.
const homeOfEvents = "HOB_TEST_EVENT_HOME"

// TestEventCrashChild is the daemon that is killed.
func TestEventCrashChild(t *testing.T) {
	home := os.Getenv(homeOfEvents)
	if home == "" {
		t.Skip("TestEventCrashes runs it")
	}
	if _, err := start(t, home).client.Post(t.Context(), client.Message{Text: "do: create"}); err != nil {
		t.Fatal(err)
	}
	<-t.Context().Done() // until the process is killed
}
