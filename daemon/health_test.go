package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hob/channels/channelstest"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
)

// health is what /healthz says, and the state and the troubles of hob status.
func (r *running) health() (status int, components map[string]string, state string, trouble []string) {
	r.t.Helper()
	status, _, body := r.fetch("/healthz", false)
	var doc struct{ Components map[string]string }
	if err := json.Unmarshal([]byte(body), &doc); err != nil {
		r.t.Fatalf("%s: %v", body, err)
	}
	s, err := client.Show(r.t.Context(), r.client, api.ShowStatus, "")
	if err != nil {
		r.t.Fatal(err)
	}
	return status, doc.Components, s.State, s.Trouble
}

// refusesInput posts messages and reports whether each was refused with 503 and a time to try again.
func (r *running) refusesInput(n int) {
	r.t.Helper()
	for i := range n {
		_, err := r.client.Post(r.t.Context(), client.Message{Text: "say: hi", ID: fmt.Sprint("lost-", i)})
		var p *client.Problem
		if !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable {
			r.t.Fatalf("input %d into nothing: %v", i, err)
		}
	}
}

// R3, R5: a database that was deleted under a running hob: nothing is acknowledged, health and status say why, the owner is told past the
// outbox, and what was acknowledged is in a copy that can be restored.
func TestDatabaseDeletedUnderARunningHob(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be deleted")
	}
	for _, name := range []string{"hob.db", "hob.db-wal"} {
		t.Run(name, func(t *testing.T) {
			server, err := channelstest.NewNtfy("127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			home := t.TempDir()
			write(t, home, fmt.Sprintf("[owner]\naddresses = [\"topic:t\"]\n[channels.topic]\nkind = \"ntfy\"\nserver = %q\ntopic = \"t\"\nreceive = false\n", server.URL()))
			r := start(t, home)
			if r.say("say: kept") != "kept" {
				t.Fatal("no answer")
			}
			if status, components, state, _ := r.health(); status != 200 || components["database"] != "ok" || state == "degraded" {
				t.Fatalf("before: %d %v %s", status, components, state)
			}
			if err := os.Remove(filepath.Join(home, "state", name)); err != nil {
				t.Fatal(err)
			}
			r.refusesInput(5)
			status, components, state, trouble := r.health()
			if status != 503 || !strings.Contains(components["reason"], "deleted or replaced") || state != "degraded" || len(trouble) == 0 {
				t.Errorf("after: %d %v %s %q", status, components, state, trouble)
			}
			said := func() (list []string) {
				for _, m := range server.Received() {
					if strings.Contains(m.Message, "I cannot store anything") {
						list = append(list, m.Message)
					}
				}
				return list
			}
			r.until("the owner is told", func() bool { return len(said()) > 0 })
			if err := r.stop(); err == nil || !strings.Contains(err.Error(), "deleted or replaced") {
				t.Errorf("it stops with %v", err)
			}
			if got := said(); len(got) != 1 || !strings.Contains(got[0], "hob backup restore") {
				t.Errorf("the owner is told %q", got)
			}
			copies, err := filepath.Glob(filepath.Join(home, "state", "backups", "hob-rescued-*.db"))
			if err != nil || len(copies) != 1 {
				t.Fatalf("copies %q, %v", copies, err)
			}
			if _, _, err := daemon.RestoreBackup(t.Context(), home, copies[0]); err != nil {
				t.Fatal(err)
			}
			if got := start(t, home).say("/queue"); got == "" {
				t.Error("it does not answer after the restore")
			}
		})
	}
}

// R3: a component that is restarted again and again is no health, also when its pauses have grown to a minute; one that failed a few times is.
func TestRestartsAreTrouble(t *testing.T) {
	note, trouble, forget := daemon.Restarts()
	now := time.Hour
	for i := range 12 {
		note("thread", now)
		if i == 2 {
			note("outbox", now)
		}
		list := trouble(now + 59*time.Second)
		if bad := len(list) > 0; bad != (i >= 4) || bad && !strings.HasPrefix(list[0], "thread fails again and again") {
			t.Errorf("after %d restarts: %q", i+1, list)
		}
		now += min(250*time.Millisecond<<i, time.Minute)
	}
	if list := trouble(now + 2*time.Minute); len(list) > 0 {
		t.Errorf("after two calm minutes: %q", list)
	}
	note("thread", now)
	if forget(); len(trouble(now)) > 0 {
		t.Error("not forgotten")
	}
}
