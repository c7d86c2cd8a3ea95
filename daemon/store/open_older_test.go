package store_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/event"
	"hob/daemon/sys/systest"
)

// R9b: an older SQLite, whose json_valid(NULL) is 0, finds nothing wrong with a sound database.
func TestAnOlderSQLiteFindsTheRowsSound(t *testing.T) {
	s := fresh(t)
	s.said("chat:1", event.ByCommand, event.Urgent)
	s.sql("INSERT INTO deliveries (outbox, part, body, nonce, epoch, state) SELECT id, 0, body, 'n', (SELECT max(epoch) FROM boots), 'ready' FROM outbox WHERE state = 'ready'")
	if n := one[int](s, "SELECT count(*) FROM sqlite_schema WHERE sql LIKE '%CHECK (json_valid(file%' OR sql LIKE '%CHECK (json_valid(choices%'"); n > 0 {
		t.Errorf("%d tables have a check that NULL does not pass in an older SQLite", n)
	}
	for _, bad := range []string{"UPDATE outbox SET files = 'no JSON'", "UPDATE outbox SET choices = '{'", "UPDATE deliveries SET file = '['"} {
		if err := s.try(bad); err == nil {
			t.Errorf("%s: want it refused", bad)
		}
	}
	program := systest.Program(t, "sqlite3")
	out, err := exec.CommandContext(t.Context(), program, filepath.Join(s.dir, "hob.db"), "PRAGMA integrity_check").CombinedOutput() // #nosec G204 -- found above
	if err != nil || strings.TrimSpace(string(out)) != "ok" {
		t.Errorf("%s: %v", out, err)
	}
}
