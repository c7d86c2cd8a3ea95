package server_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"hob/daemon/api/server"
)

// Metrics makes the world's numbers.
func (w *fakeDaemon) Metrics(context.Context) ([]byte, error) {
	if w.sick {
		return nil, errors.New("secret detail of the database")
	}
	return []byte("# TYPE x gauge\nx 1\n"), nil
}

// LogFile: a world of its own has no log.
func (w *fakeDaemon) LogFile() string { return "" }

func TestMetricsAreText(t *testing.T) {
	w := newFakeDaemon()
	got := do(t, server.New(w.deps()), "GET", "/metrics", "")
	if got.status != 200 || got.kind != "text/plain; version=0.0.4; charset=utf-8" || got.raw != "# TYPE x gauge\nx 1\n" {
		t.Errorf("%d %s %q", got.status, got.kind, got.raw)
	}
	w.sick = true
	got = do(t, server.New(w.deps()), "GET", "/metrics", "")
	if got.status != 500 || strings.Contains(got.raw, "secret detail") {
		t.Errorf("a failure: %d %s", got.status, got.raw)
	}
	checkShape(t, "/metrics", got)
}
