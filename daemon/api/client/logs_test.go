package client_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hob/daemon/logfile"
)

// Metrics are of no interest here.
func (w *fakeDaemon) Metrics(context.Context) ([]byte, error) { return nil, nil }

// LogFile is in the folder of temporary files, which a test may move.
func (w *fakeDaemon) LogFile() string { return filepath.Join(os.TempDir(), "hob.log") }

func TestLogs(t *testing.T) {
	dir, _ := home(t, false)
	c := find(t, dir)
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	if err := os.WriteFile(filepath.Join(folder, "hob.log"), []byte("{\"level\":\"INFO\",\"msg\":\"a\"}\n{\"level\":\"WARN\",\"msg\":\"b\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := c.Logs(t.Context(), logfile.Query{Level: slog.LevelDebug}, false, func(line []byte) error {
		got = append(got, string(line))
		return nil
	})
	if want := []string{`{"level":"INFO","msg":"a"}`, `{"level":"WARN","msg":"b"}`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	full := errors.New("full")
	if err := c.Logs(t.Context(), logfile.Query{Level: slog.LevelDebug}, false, func([]byte) error { return full }); !errors.Is(err, full) {
		t.Errorf("an error of the reader: %v", err)
	}
}
