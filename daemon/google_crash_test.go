//go:build unix

package daemon_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"hob/daemon/account/googletest"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// hob is killed around each request of a mail. Whatever has become of the request, the mail goes out at most once, and the turn says what is known.
func TestMailCrashes(t *testing.T) {
	t.Parallel()
	const (
		drafted = "/gmail/v1/users/me/drafts"
		sent    = "/gmail/v1/users/me/drafts/send"
		now     = "sent from anna@example.org to anna@example.org: Note"
		before  = "it was sent before hob was interrupted, and not again"
		unknown = "it is not known whether the mail was sent"
	)
	for name, tc := range map[string]struct {
		path             string // of the request that is under way
		done, late, down bool   // it was carried out; it is carried out after the restart; Google has a fault after the restart
		mails, drafts    int
		says             string
	}{
		"the answer of the draft is lost":    {path: drafted, done: true, mails: 1, drafts: 1, says: now},
		"the sending is lost":                {path: sent, mails: 1, says: now},
		"the sending is carried out later":   {path: sent, late: true, mails: 1, says: now},
		"sent":                               {path: sent, done: true, mails: 1, says: before},
		"sent, then Google has a fault":      {path: sent, done: true, down: true, mails: 1, says: unknown},
		"not sent, and Google has a fault":   {path: sent, down: true, drafts: 1, says: unknown},
		"no draft's id, and then it is down": {path: drafted, done: true, down: true, drafts: 1, says: "Google has a fault of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := googletest.NewServer()
			t.Cleanup(g.Close)
			r, _ := listen(t, "", clerk, inPlaceOfGoogle(g))
			r.withGoogle(g)
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			child := mailChild(t, r.home, g.URL)
			var passed atomic.Int32 // requests of that path
			started, dead, again := make(chan struct{}), make(chan struct{}), make(chan struct{})
			kill := func() {
				<-started
				if err := child.Process.Kill(); err != nil {
					t.Error(err)
				}
				<-dead // nobody gets the answer
			}
			g.AnswerWith(func(w http.ResponseWriter, q *http.Request) bool {
				n := int32(2)
				if q.Method == http.MethodPost && q.URL.Path == tc.path {
					n = passed.Add(1)
				}
				select {
				case <-dead:
					if tc.down && strings.HasPrefix(q.URL.Path, "/gmail/") {
						w.WriteHeader(http.StatusServiceUnavailable)
						return true
					}
				default:
				}
				if n == 1 && !tc.done {
					kill()
					if !tc.late {
						return true
					}
					<-again // the restarted hob has sent it
				}
				return false
			})
			g.WhenDone(func(q *http.Request) {
				if q.Method != http.MethodPost || q.URL.Path != tc.path {
					return
				}
				select {
				case <-dead:
					if tc.late && passed.Load() == 2 {
						passed.Add(1)
						close(again)
					}
				default:
					kill()
				}
			})
			out, err := output(child, started)
			close(dead)
			killed(t, err, out)

			r = start(t, r.home, inPlaceOfGoogle(g))
			text := r.wait(1, func(e *event.Event, turn int64) bool { return e.Type == "turn.finished" && e.Turn == turn }, 1)
			if n, _, drafts := g.Sent(); n != tc.mails || drafts != tc.drafts || !strings.Contains(text, tc.says) {
				t.Errorf("%d mails, %d drafts; the turn said %s", n, drafts, text)
			}
		})
	}
}

// mailChild is a daemon in a process of its own, which sends a mail.
func mailChild(t *testing.T, home, google string) *exec.Cmd {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMailCrashChild$") // #nosec G204 G702 -- this very test
	child.Env = append(os.Environ(), homeOfMails+"="+home, placeOfMails+"="+google)
	return child
}

// output is CombinedOutput, which also closes started: from then on another goroutine may use child.Process.
func output(child *exec.Cmd, started chan<- struct{}) ([]byte, error) {
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	err := child.Start()
	close(started)
	if err != nil {
		return nil, err
	}
	err = child.Wait()
	return out.Bytes(), err
}

// killed checks that SIGKILL has ended a process.
func killed(t *testing.T, err error, out []byte) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it did not die: %v\n%s", err, out)
	}
}

// The home of the daemon that is killed, and the server that takes Google's place for it.
const (
	homeOfMails  = "HOB_TEST_MAIL_HOME"
	placeOfMails = "HOB_TEST_MAIL_GOOGLE"
)

// TestMailCrashChild is the daemon that is killed.
func TestMailCrashChild(t *testing.T) {
	home := os.Getenv(homeOfMails)
	if home == "" {
		t.Skip("TestMailCrashes runs it")
	}
	r := start(t, home, inPlaceOfGoogle(&googletest.Server{Server: &httptest.Server{URL: os.Getenv(placeOfMails)}}))
	if _, err := r.client.Post(t.Context(), client.Message{Text: "do: self"}); err != nil {
		t.Fatal(err)
	}
	<-t.Context().Done() // until the process is killed
}
