package daemon_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hob/daemon"
	"hob/daemon/api/client"
	"hob/daemon/logfile"
)

// logged is a daemon in this process that logs to the given handlers.
func logged(t *testing.T, home string, sinks ...slog.Handler) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, home: home}
	ready, ended := make(chan daemon.Ready, 1), make(chan error, 1)
	go func() {
		ended <- daemon.Run(ctx, daemon.Options{
			Home: home, Listen: "127.0.0.1:0", Version: "test", Log: slog.New(slog.NewMultiHandler(sinks...)), Ready: func(r daemon.Ready) { ready <- r },
		})
	}()
	r.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	select {
	case r.ready = <-ready:
	case err := <-ended:
		t.Fatalf("run: %v", err)
	}
	var err error
	if r.client, err = client.Find(t.Context(), home, false); err != nil {
		t.Fatal(err)
	}
	return r
}

// fetch asks for a path at the loopback port.
func (r *running) fetch(path string, authorized bool) (status int, kind, body string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+r.ready.Address+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if authorized {
		token, err := os.ReadFile(filepath.Join(r.home, "state", "token"))
		if err != nil {
			r.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Content-Type"), string(text)
}

// refusing is a model server that says the key that it was sent.
func refusing(t *testing.T, status int) (url string) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if _, err := fmt.Fprintf(w, `{"error":{"message":"the key %s is no good"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); err != nil { // #nosec G705 -- a fake server
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// families reads the text format 0.0.4 strictly, by its own rules: each family once, with its help and type before its samples,
// no sample twice. It returns the samples by name and labels.
func families(t *testing.T, text string) map[string]float64 {
	t.Helper()
	head := regexp.MustCompile(`^# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$`)
	sample := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)((?:\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*\})?) (\S+)$`)
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("the last line has no end: %q", text[max(0, len(text)-50):])
	}
	found, closed := map[string]float64{}, map[string]bool{}
	family, kind, open := "", "", false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if m := head.FindStringSubmatch(line); m != nil {
			switch {
			case m[1] == "HELP" && closed[m[2]]:
				t.Errorf("%s comes twice", m[2])
			case m[1] == "HELP":
				family, kind, open, closed[m[2]] = m[2], "", false, true
			case m[2] != family || kind != "" || open:
				t.Errorf("a type in the wrong place: %s", line)
			case m[3] != "gauge" && m[3] != "counter":
				t.Errorf("an unknown type: %s", line)
			default:
				kind = m[3]
			}
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || m[1] != family || kind == "" || strings.Contains(m[2], ",}") {
			t.Errorf("not a sample of %s: %q", family, line)
			continue
		}
		open = true
		value, err := strconv.ParseFloat(m[3], 64)
		if _, twice := found[m[1]+m[2]]; err != nil || twice || kind == "counter" != strings.HasSuffix(family, "_total") || kind == "counter" && value < 0 {
			t.Errorf("wrong: %s %v", line, err)
		}
		found[m[1]+m[2]] = value
	}
	return found
}

// judge asks Prometheus' own checker, where it is installed.
func judge(t *testing.T, text string) {
	t.Helper()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("promtool is not installed: only this test's own parser has judged")
		return
	}
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func TestMetrics(t *testing.T) {
	home := t.TempDir()
	write(t, home, "[model]\nbackend = \"compatible\"\nmodel = 'odd\"na\\me'\nbase_url = \""+refusing(t, http.StatusPaymentRequired)+"\"\n[budget]\nper_day = 2.5\ntokens_per_day = -1\n")
	r := logged(t, home, slog.DiscardHandler)
	r.say("hello")
	if status, _, _ := r.fetch("/metrics", false); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d", status)
	}
	status, kind, text := r.fetch("/metrics", true)
	if status != http.StatusOK || kind != "text/plain; version=0.0.4; charset=utf-8" {
		t.Fatalf("%d %s", status, kind)
	}
	judge(t, text)
	got := families(t, text)
	for name, want := range map[string]float64{
		`hob_inbox_rows{state="done"}`: 1, `hob_inbox_rows{state="dead"}`: 0, `hob_turns{state="running"}`: 0, `hob_questions_open`: 0, `hob_jobs`: 1, `hob_safe_mode`: 0,
		`hob_model_requests_total{model="compatible/odd\"na\\me"}`: 1, `hob_model_failures_total{model="compatible/odd\"na\\me",fault="payment"}`: 1,
		`hob_budget_limit{unit="money"}`: 2.5, `hob_budget_money{part="reserved"}`: 0,
	} {
		if value, ok := got[name]; !ok || value != want {
			t.Errorf("%s is %v (%v), want %v", name, value, ok, want)
		}
	}
	for _, name := range []string{
		"hob_events_total", `hob_database_bytes{file="main"}`, "hob_uptime_seconds", "process_start_time_seconds", "go_goroutines", "go_memstats_alloc_bytes",
		`hob_progress_timestamp_seconds{component="thread"}`, `hob_progress_timestamp_seconds{component="scheduler"}`,
	} {
		if got[name] <= 0 {
			t.Errorf("%s is %v", name, got[name])
		}
	}
	if _, ok := got[`hob_budget_limit{unit="tokens"}`]; ok {
		t.Error("a cap that is not there has a sample")
	}
	began, beat := got["process_start_time_seconds"], got[`hob_progress_timestamp_seconds{component="thread"}`]
	if beat < began-1 || beat > began+patience.Seconds() {
		t.Errorf("the thread moved at %f, hob began at %f", beat, began)
	}
}

// TestNoSecretLeaves: a server repeats the key that it was sent; nobody who looks at hob sees it.
func TestNoSecretLeaves(t *testing.T) {
	const canary = "canary-7f3a9c51"
	t.Setenv("HOB_TEST_CANARY", canary)
	home := t.TempDir()
	write(t, home, "[model]\nbackend = \"compatible\"\nmodel = \"m-"+canary+"\"\nbase_url = \""+refusing(t, http.StatusUnauthorized)+"\"\napi_key = \"env:HOB_TEST_CANARY\"\n")
	path := filepath.Join(home, "state", "log", "hob.log")
	file := logfile.New(path, logfile.MaxBytes, logfile.Kept)
	var journal bytes.Buffer
	r := logged(t, home, logfile.Lines(file, slog.LevelInfo), logfile.Journal(&journal, slog.LevelInfo))
	r.say("hello")
	_, _, metrics := r.fetch("/metrics", true)
	_, _, status := r.fetch("/v1/status", true)
	_, _, logs := r.fetch("/v1/logs", true)
	_, _, health := r.fetch("/healthz", true)
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, seen := range map[string]string{"the log": string(text), "the journal": journal.String(), "metrics": metrics, "status": status, "the API's logs": logs} {
		if strings.Contains(seen, canary) || !strings.Contains(seen, "[secret ") {
			t.Errorf("%s: %s", name, seen)
		}
	}
	if strings.Contains(health, canary) {
		t.Errorf("health: %s", health)
	}
	families(t, metrics)
}
