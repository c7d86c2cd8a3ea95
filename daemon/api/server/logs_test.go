package server_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/api/server"
)

// loggingDaemon is a fake daemon with a log file.
type loggingDaemon struct {
	*fakeDaemon
	path string
}

func (k loggingDaemon) LogFile() string { return k.path }

const logged = `{"time":"2026-11-21T09:00:00Z","level":"INFO","msg":"one"}
{"time":"2026-11-21T09:00:01Z","level":"WARN","msg":"two","turn":7}
`

// keeping makes the API of a world with a log.
func keeping(t *testing.T) (h http.Handler, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "hob.log")
	if err := os.WriteFile(path, []byte(logged), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newFakeDaemon()
	d := w.deps()
	d.Health = loggingDaemon{w, path}
	return server.New(d), path
}

func TestLogsAreLines(t *testing.T) {
	h, _ := keeping(t)
	got := do(t, h, "GET", "/v1/logs", "")
	if got.status != 200 || got.kind != "application/x-ndjson" || got.raw != logged {
		t.Errorf("%d %s %q", got.status, got.kind, got.raw)
	}
	if got := do(t, server.New(newFakeDaemon().deps()), "GET", "/v1/logs", ""); got.status != 200 || got.raw != "" {
		t.Errorf("without a log: %d %q", got.status, got.raw)
	}
}

func TestLogsAreChosen(t *testing.T) {
	h, _ := keeping(t)
	lines := strings.SplitAfter(logged, "\n")
	for query, want := range map[string]string{
		"level=warn": lines[1], "turn=7": lines[1], "turn=8": "", "limit=1": lines[1], "since=2026-11-21T09:00:01Z": lines[1], "level=info&limit=2&follow=0": logged,
	} {
		if got := do(t, h, "GET", "/v1/logs?"+query, ""); got.status != 200 || got.raw != want {
			t.Errorf("%s: %d %q", query, got.status, got.raw)
		}
	}
	for _, query := range []string{"level=loud", "turn=x", "turn=0", "limit=0", "since=yesterday", "follow=2", "lines=3", "limit=1&limit=2"} {
		got := do(t, h, "GET", "/v1/logs?"+query, "")
		if got.status != 400 {
			t.Errorf("%s: %d", query, got.status)
		}
		checkShape(t, query, got)
	}
}

// TestLogsAreFollowed: what is written comes, and the stream ends with its reader.
func TestLogsAreFollowed(t *testing.T) {
	h, path := keeping(t)
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		h.ServeHTTP(w, r)
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/logs?follow=1&limit=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // given up
	in := bufio.NewReader(res.Body)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, `"two"`) {
		t.Fatalf("%q, %v", line, err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"time":"2026-11-21T09:00:02Z","level":"INFO","msg":"three"}` + "\n"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, `"three"`) {
		t.Errorf("%q, %v", line, err)
	}
	cancel()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the stream outlives its reader")
	}
}
