package daemon_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/sys/systest"
)

func (r *running) slots(job string) []api.Fire {
	r.t.Helper()
	list, err := client.List(r.t.Context(), r.client, api.Fires, event.Filter{Name: job, Limit: 1000})
	if err != nil {
		r.t.Fatalf("fires: %v", err)
	}
	return list
}

// tally counts the slots of a job by what they came to; on a busy machine a run may be late.
func (r *running) tally(job string) map[string]int {
	count := map[string]int{}
	for _, s := range r.slots(job) {
		if s.Outcome == "ran" || s.Outcome == "late" {
			count["ran"]++
			continue
		}
		count[strings.TrimSpace(s.Outcome+" "+s.Reason)]++
	}
	return count
}

func put(t *testing.T, text string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestGates: each kind of gate lets the first slot through, none while nothing changes, and one more after a change.
func TestGates(t *testing.T) {
	t.Parallel() // most of it is waiting
	var version, asked, unchanged atomic.Int64
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		tag := fmt.Sprintf(`"v%d"`, version.Load())
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = fmt.Fprintf(w, "version %s", tag)
	}))
	defer page.Close()
	home := t.TempDir()
	space := filepath.Join(home, "workspace")
	put(t, "one\n", space, "state.txt")
	put(t, "a", space, "in", "a.txt")
	job := func(name, gate string) string {
		return fmt.Sprintf("[jobs.%s]\ncron = \"* * * * * *\"\nprompt = \"say: %s\"\n%s\n", name, name, gate)
	}
	config := "[tools.web]\nnetworks = [\"127.0.0.1/32\"]\n" + job("page", `gate_url = "`+page.URL+`"`) + job("files", `gate_files = ["in/*.txt"]`)
	shut := map[string]string{"page": "skipped gate: no change", "files": "skipped gate: no change"}
	changing := []string{"page", "files"}
	if systest.Sandbox() { // commands run only there
		config += job("command", `gate = "cat state.txt"`) + job("exit", "gate = \"test -e go\"\ngate_mode = \"exit\"") +
			job("wrong", `gate = "no-such-program"`) + job("both", "gate = \"test -e go\"\ngate_mode = \"exit\"\ngate_files = [\"in\"]")
		shut["command"], shut["exit"], shut["both"] = "skipped gate: no change", "skipped gate: exit code 1", "skipped gate: exit code 1"
		changing = append(changing, "command")
	}
	write(t, home, config)
	r := start(t, home)
	for name, why := range shut {
		r.until(name+" is skipped", func() bool { return r.tally(name)[why] >= 2 })
	}
	for _, name := range changing {
		if n := r.tally(name)["ran"]; n != 1 {
			t.Errorf("%s ran %d times while nothing changed: %v", name, n, r.tally(name))
		}
	}
	for _, name := range []string{"exit", "both"} {
		if n := r.tally(name)["ran"]; n != 0 {
			t.Errorf("%s ran %d times behind a shut gate", name, n)
		}
	}
	if unchanged.Load() == 0 || asked.Load() < 2 {
		t.Errorf("the page was asked for %d times, %d of them told what was known", asked.Load(), unchanged.Load())
	}
	put(t, "two\n", space, "state.txt")
	put(t, "b", space, "in", "b.txt")
	version.Add(1)
	if systest.Sandbox() {
		before := r.tally("both")[shut["both"]] // a look that has begun may have seen the folder without b.txt, and would open for it once more
		r.until("both is looked at anew", func() bool { return r.tally("both")[shut["both"]] >= before+2 })
		put(t, "", space, "go")
	}
	for _, name := range changing {
		r.until(name+" runs after a change", func() bool { return r.tally(name)["ran"] == 2 })
	}
	if !systest.Sandbox() {
		t.Skip("bubblewrap is not installed: no gate with a command was tried")
	}
	r.until("an open gate lets all through", func() bool { return r.tally("exit")["ran"] >= 2 })
	r.until("both parts open", func() bool { return r.tally("both")["ran"] == 1 && r.tally("both")["skipped gate: no change"] >= 1 })
	all := r.slots("wrong")
	wrong := all[:0:0]
	for _, s := range all {
		if s.Outcome != "coalesced" { // a slow machine gathers slots
			wrong = append(wrong, s)
		}
	}
	if len(wrong) == 0 {
		t.Fatalf("no gate that cannot run was looked at: %+v", all)
	}
	if s := wrong[len(wrong)-1]; s.Outcome != "failed" || !strings.HasPrefix(s.Reason, "gate: the command cannot be run (exit code 127)") || s.Turn != 0 {
		t.Errorf("a gate that cannot run: %+v", s)
	}
	for _, s := range wrong[:len(wrong)-1] {
		if s.Outcome == "ran" || s.Outcome == "failed" {
			t.Errorf("it did not back off: %+v", s)
		}
	}
}
