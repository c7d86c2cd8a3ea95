package control_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"hob/daemon/control"
)

// keeper is a world with a log.
type keeper struct {
	*world
	path string
}

func (k keeper) LogFile() string { return k.path }

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
	w := newWorld()
	d := w.deps()
	d.Health = keeper{w, path}
	return control.New(d), path
}

func TestLogsAreLines(t *testing.T) {
	h, _ := keeping(t)
	got := do(t, h, "GET", "/v1/logs", "")
	if got.status != 200 || got.kind != "application/x-ndjson" || got.raw != logged {
		t.Errorf("%d %s %q", got.status, got.kind, got.raw)
	}
	if got := do(t, control.New(newWorld().deps()), "GET", "/v1/logs", ""); got.status != 200 || got.raw != "" {
		t.Errorf("without a log: %d %q", got.status, got.raw)
	}
}
