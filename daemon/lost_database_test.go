package daemon_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
)

// refuses starts a hob that must not start, and returns why.
func refuses(t *testing.T, home string) *event.Fault {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := daemon.Run(ctx, daemon.Options{Home: home, Listen: "127.0.0.1:0", Version: "test", Log: slog.New(slog.DiscardHandler), Ready: func(daemon.Ready) { cancel() }})
	fault, ok := event.AsFault(err)
	if !ok {
		t.Fatalf("the start is not refused: %v", err)
	}
	return fault
}

// R4: a home that was used before does not start as if it were new when its database is missing or empty, whatever is left of it.
func TestLostDatabase(t *testing.T) {
	for _, left := range []string{"token", "log", "backups", "token log backups"} {
		for name, lose := range map[string]func(path string) error{"missing": os.Remove, "empty": func(path string) error { return os.Truncate(path, 0) }} {
			t.Run(name+", left: "+left, func(t *testing.T) {
				home := t.TempDir()
				state := filepath.Join(home, "state")
				r := start(t, home)
				made, err := client.Do(t.Context(), r.client, api.CreateBackup, "", api.BackupPath{})
				if err != nil {
					t.Fatal(err)
				}
				r.end()
				if err := os.MkdirAll(filepath.Join(state, "log"), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(state, "log", "hob.log.1"), []byte(`{"time":"t","level":"INFO","msg":"ready","after":"3ms","epoch":4}`+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, sign := range []string{"token", "log", "backups"} {
					if !strings.Contains(left, sign) {
						if err := os.RemoveAll(filepath.Join(state, sign)); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := lose(filepath.Join(state, "hob.db")); err != nil {
					t.Fatal(err)
				}
				fault := refuses(t, home)
				if !strings.Contains(fault.Text, "is "+name+", and this home was used before") || !strings.Contains(fault.Hint, "hob up --new-database") {
					t.Errorf("%s; %s", fault.Text, fault.Hint)
				}
				if strings.Contains(left, "backups") {
					if !strings.Contains(fault.Hint, "hob backup restore "+made.Path) {
						t.Errorf("the hint names no backup: %s", fault.Hint)
					}
					if _, _, err := daemon.RestoreBackup(t.Context(), home, made.Path); err != nil {
						t.Fatal(err)
					}
					start(t, home).end()
				}
			})
		}
	}
}

// R4: a first start that was cut off before the database was made is a first start yet.
func TestFirstStartThatWasCutOff(t *testing.T) {
	home := t.TempDir()
	state := filepath.Join(home, "state")
	if err := os.MkdirAll(filepath.Join(state, "log"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"hob.db": "", "log/hob.log": `{"level":"WARN","msg":"config"}` + "\n", "hob.lock": ""} {
		if err := os.WriteFile(filepath.Join(state, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	start(t, home).end()
}

// R4: who wants to begin anew can; the log of the lost database is kept.
func TestNewDatabase(t *testing.T) {
	home := t.TempDir()
	start(t, home).end()
	state := filepath.Join(home, "state")
	if err := os.Remove(filepath.Join(state, "hob.db")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "hob.db-wal"), []byte("rows"), 0o600); err != nil {
		t.Fatal(err)
	}
	refuses(t, home)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready := false
	err := daemon.Run(ctx, daemon.Options{
		Home: home, Listen: "127.0.0.1:0", Version: "test", Log: slog.New(slog.DiscardHandler), NewDatabase: true, Ready: func(daemon.Ready) { ready = true; cancel() },
	})
	if err != nil || !ready {
		t.Errorf("ready %v, %v", ready, err)
	}
	if text, err := os.ReadFile(filepath.Join(state, "hob.db.lost-wal")); err != nil || string(text) != "rows" {
		t.Errorf("the log of the lost database: %q, %v", text, err)
	}
}
