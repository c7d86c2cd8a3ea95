package storetest_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
)

// The variables that let TestLarge write a home to measure: the state folder, and the number of turns. Such a home is not checked, which would
// take longer than to write it.
const (
	folder = "HOB_LARGE_STATE"
	turns  = "HOB_LARGE_TURNS"
)

// A large database is one that hob accepts, and all its references lead somewhere.
func TestLarge(t *testing.T) {
	dir, n := os.Getenv(folder), 10_000
	if dir == "" {
		dir = t.TempDir()
	}
	if s := os.Getenv(turns); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := storetest.FillLarge(t.Context(), dir, n, time.Now()); err != nil {
		t.Fatal(err)
	}
	if os.Getenv(folder) != "" {
		return
	}
	migrations := store.Migrations()
	want := map[string]int{"turns": n, "inbox": n, "outbox": n, "triggers": n / 10, "fires": n / 3}
	err := sqlite.Inspect(t.Context(), filepath.Join(dir, "hob.db"), migrations, func(tx *sqlite.Conn) error {
		for table, rows := range want {
			var got int
			if err := tx.One("SELECT count(*) FROM "+table, nil, &got); err != nil {
				return err
			}
			if got != rows {
				t.Errorf("%d rows in %s, want %d", got, table, rows)
			}
		}
		var open int
		err := tx.One(`SELECT (SELECT count(*) FROM turns WHERE state IN ('ready', 'running', 'waiting')) + (SELECT count(*) FROM inbox WHERE state IN ('queued', 'held'))
			+ (SELECT count(*) FROM outbox WHERE state IN ('draft', 'held', 'ready')) + (SELECT count(*) FROM fires WHERE state <> 'done')`, nil, &open)
		if open > 0 {
			t.Errorf("%d rows are open", open)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
