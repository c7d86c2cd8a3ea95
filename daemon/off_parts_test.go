package daemon_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"hob/daemon/account/caldavtest"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/llm/llmtest"
)

// V7: an account that refuses and a watched folder that is gone are in the lists, in the status and in the health, and the owner is told once.
func TestStatusNamesWhatIsOff(t *testing.T) {
	t.Parallel()
	calendars := caldavtest.NewServer()
	t.Cleanup(calendars.Close)
	var refuse atomic.Bool
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuse.Load() {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		calendars.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	r := start(t, t.TempDir())
	r.withAccount(front.URL)
	status := func() api.Status {
		s, err := client.Show(t.Context(), r.client, api.ShowStatus, "")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := status(); len(s.Off) > 0 || s.State == "degraded" {
		t.Fatalf("nothing is off: %q, %s", s.Off, s.State)
	}
	problem := func() string {
		list, err := client.List(t.Context(), r.client, api.LinkedAccounts, event.Filter{})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0].Problem
	}
	refuse.Store(true)
	for range 2 {
		if out := r.run("calendar_list_events", `{}`); out.Success {
			t.Fatalf("%+v", out)
		}
	}
	if got := problem(); !strings.Contains(got, "does not accept the user name or the password") {
		t.Errorf("the list says %q", got)
	}
	s := status()
	if s.State != "degraded" || len(s.Off) != 1 || !strings.HasPrefix(s.Off[0], "the account caldav: ") || !strings.Contains(s.Off[0], "hob account test caldav") {
		t.Errorf("status: %s, %q", s.State, s.Off)
	}
	told := func() (n int) {
		for _, text := range r.notices() {
			n += strings.Count(text, "The account caldav cannot be used")
		}
		return n
	}
	r.until("the owner is told", func() bool { return told() == 1 })
	refuse.Store(false)
	if out := r.run("calendar_list_events", `{}`); !out.Success || problem() != "" || len(status().Off) > 0 || told() != 1 {
		t.Errorf("when it works again: %+v, %q, %q, told %d times", out, problem(), status().Off, told())
	}

	// A broken watch is one that says so itself; the folder's absence is told by the watcher after half a minute (scheduler/filewatch).
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out := r.run("watch", `{"action":"add","name":"w","paths":["`+dir+`"],"prompt":"say: x"}`); !out.Success {
		t.Fatalf("%+v", out)
	}
	if off := status().Off; slices.ContainsFunc(off, func(s string) bool { return strings.Contains(s, "the watch w") }) {
		t.Errorf("a watch that works: %q", off)
	}
}

// The stranger's 24: hob is not ok while no model answers, and the health check, which restarts containers, does not count that.
func TestStatusWhileNoModelAnswers(t *testing.T) {
	t.Parallel()
	var refuse atomic.Bool
	refuse.Store(true)
	model := llmtest.NewServer()
	t.Cleanup(model.Close)
	model.Otherwise(func(llmtest.Request) llmtest.Turn {
		if refuse.Load() {
			return llmtest.Failed(http.StatusUnauthorized, "no")
		}
		return llmtest.Streamed(llmtest.Say("well"))
	})
	home := t.TempDir()
	write(t, home, fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"m\"\nbase_url = %q\n", model.URL))
	r := start(t, home)
	state := func() string {
		s, err := client.Show(t.Context(), r.client, api.ShowStatus, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Trouble) > 0 {
			t.Errorf("it counts as unhealthy: %q", s.Trouble)
		}
		return s.State
	}
	if got := state(); got != "ok" {
		t.Errorf("before the first request: %s", got)
	}
	r.say("what is the capital of France?")
	if got := state(); got != "degraded" {
		t.Errorf("no model answers: %s", got)
	}
	refuse.Store(false)
	if _, err := client.Do(t.Context(), r.client, api.TestModel, "default", api.None{}); err != nil {
		t.Fatal(err)
	}
	if got := state(); got != "ok" {
		t.Errorf("it answers again: %s", got)
	}
}
