//go:build unix

package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
)

// pairingDaemon answers on the socket of a home as hob does: with the states that a pairing has one after the other, and an event between each two.
type pairingDaemon struct {
	mu     sync.Mutex
	states []string // of the pairing, as JSON; the last one stays
	events []string // types with their data, as JSON; one is told for each look at the live view
	told   int
	asked  []string // verbs
	link   string
	url    string
	screen *os.File // stands in the place of stderr
}

func (d *pairingDaemon) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch path := r.URL.Path; {
	case r.Method == http.MethodPost:
		d.asked = append(d.asked, strings.TrimPrefix(path, "/v1/pairings/"))
		_, _ = fmt.Fprintf(w, `{"id":3,"channel":"x","state":"open","left":5,"until":%q,"code":"ABCD-EFGH","link":%q,"url":%q,"notes":["channel x does not receive now: it is late"]}`, time.Now().Add(time.Minute).Format(time.RFC3339Nano), d.link, d.url)
	case path == "/v1/pairings/3":
		_, _ = fmt.Fprint(w, d.states[0])
		if len(d.states) > 1 {
			d.states = d.states[1:]
		}
	case path == "/v1/events" && r.URL.Query().Get("follow") == "0":
		w.Header().Set("Hob-After", "40")
		w.Header().Set("Content-Type", "text/event-stream")
	case path == "/v1/events":
		after := r.URL.Query().Get("after")
		if want := fmt.Sprint(40 + d.told); after != want {
			http.Error(w, "after "+after+", want "+want, http.StatusInternalServerError)
			return
		}
		w.Header().Set("Hob-After", after)
		w.Header().Set("Content-Type", "text/event-stream")
		if d.told < len(d.events) {
			kind, data, _ := strings.Cut(d.events[d.told], " ")
			d.told++
			_, _ = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: {\"seq\":%d,\"type\":%q,\"data\":%s}\n\n", 40+d.told, kind, 40+d.told, kind, data)
			return
		}
		d.mu.Unlock()
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		d.mu.Lock()
	default:
		http.NotFound(w, r)
	}
}

func (d *pairingDaemon) verbs() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.asked, " ")
}

// runPairingStart starts a pairing with a daemon, and returns what is printed and the exit code.
func runPairingStart(ctx context.Context, t *testing.T, d *pairingDaemon, inJSON bool) (out, said string, code int) {
	t.Helper()
	home, err := os.MkdirTemp("", "hob") //nolint:usetesting // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home) //nolint:errcheck // it is temporary
	if err := os.MkdirAll(filepath.Join(home, "state", "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(home, "state", "run", "hob.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: d} //nolint:gosec // for a test
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	defer func() {
		if err := errors.Join(s.Close(), <-done); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}()
	files := [2]*os.File{}
	for i := range files {
		if files[i], err = os.CreateTemp(home, "printed"); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close() //nolint:errcheck // it is read by its name
	}
	a := &cli.App{Home: home, JSON: inJSON, In: files[0], Out: files[0], Err: files[1]}
	if d.screen != nil {
		a.Err = d.screen
	}
	cmd := main.PairingCommand(a)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"start", "x"})
	code = a.Exit(cmd.ExecuteContext(ctx), inJSON)
	return readFile(t, files[0]), readFile(t, files[1]), code
}

func readFile(t *testing.T, f *os.File) string {
	t.Helper()
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const (
	stillOpen = `{"id":3,"channel":"x","state":"open","left":%d,"until":"2999-01-01T00:00:00Z"}`
	isBound   = `{"id":3,"channel":"x","state":"bound","left":4,"person":"7","name":"Sam","until":"2999-01-01T00:00:00Z"}`
	isOver    = `{"id":3,"channel":"x","state":"over","left":%d,"until":"%s"}`
)

// TestStartFollows shows the code, each wrong one, and how it ends.
func TestStartFollows(t *testing.T) {
	wrong := `pairing.wrong {"pairing":3,"left":4,"person":"9","name":"Eve\u001b[2J"}`
	other := `pairing.wrong {"pairing":2,"left":1,"person":"9","name":"Mallory"}`
	for name, c := range map[string]struct {
		d     *pairingDaemon
		code  int
		shows []string
	}{
		"bound": {
			&pairingDaemon{states: []string{fmt.Sprintf(stillOpen, 5), fmt.Sprintf(stillOpen, 4), isBound}, events: []string{"turn.started {}", wrong, `pairing.bound {"pairing":3}`}}, 0,
			[]string{"Open a private chat with hob on x, and send it this code:\n\n  ABCD-EFGH\n\n", "wrong code from Eve\\x1b[2J (9): 4 tries are left\n", "bound: Sam (7) is your account on x from now on\n", "hob: channel x does not receive now: it is late\n"},
		},
		"a link": {
			&pairingDaemon{states: []string{isBound}, link: "Open https://example.org/hob and write it there.", url: "https://example.org/hob"}, 0,
			[]string{"Open https://example.org/hob and write it there. The code is:\n\n  ABCD-EFGH\n\n", "bound: "},
		},
		"too many": {
			&pairingDaemon{states: []string{fmt.Sprintf(stillOpen, 1), fmt.Sprintf(isOver, 0, "2999-01-01T00:00:00Z")}, events: []string{other, wrong}}, 1,
			[]string{"hob: no account was paired: the code is no longer valid\n  there were too many wrong codes, or another pairing took its place"},
		},
		"too late": {
			&pairingDaemon{states: []string{fmt.Sprintf(isOver, 5, "2020-01-01T00:00:00Z")}}, 1,
			[]string{"hob: no account was paired: the code's ten minutes are over\n"},
		},
		"revoked": {&pairingDaemon{states: []string{`{"id":3,"channel":"x","state":"revoked"}`}}, 1, []string{"hob: the pairing was revoked\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
			defer stop()
			out, said, code := runPairingStart(ctx, t, c.d, false)
			for _, want := range c.shows {
				if !strings.Contains(out+said, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if code != c.code || strings.ContainsAny(said, "▀▄█") || strings.Contains(said, "Mallory") || c.d.verbs() != "x/start" {
				t.Errorf("exit code %d, asked for %q", code, c.d.verbs())
			}
			if t.Failed() {
				t.Logf("%s%s", out, said)
			}
		})
	}
}

// TestStartInJSON prints two documents: the code while it can be typed, and how it ended.
func TestStartInJSON(t *testing.T) {
	d := &pairingDaemon{states: []string{isBound}, url: "https://example.org/hob"}
	out, said, code := runPairingStart(t.Context(), t, d, true)
	first, last, _ := strings.Cut(out, "\n")
	var begun struct {
		ID                 int64
		Channel, Code, URL string
		State              string
		Left               int
	}
	if err := json.Unmarshal([]byte(first), &begun); err != nil || begun.Code != "ABCD-EFGH" || begun.URL != d.url || begun.ID == 0 || begun.Left != 5 {
		t.Errorf("%v: %q", err, first)
	}
	if strings.TrimSpace(last) != isBound || said != "" || code != 0 {
		t.Errorf("%d %q %q", code, last, said)
	}
}

// TestStartEndsWithItsWatcher ends the pairing when it is interrupted: nobody would see who types the code.
func TestStartEndsWithItsWatcher(t *testing.T) {
	d := &pairingDaemon{states: []string{fmt.Sprintf(stillOpen, 5)}}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	go func() {
		for range tick.C {
			if d.verbs() != "" {
				stop()
				return
			}
		}
	}()
	if _, said, code := runPairingStart(ctx, t, d, false); code != 1 || d.verbs() != "x/start 3/end" {
		t.Errorf("exit code %d, asked for %q: %s", code, d.verbs(), said)
	}
}
