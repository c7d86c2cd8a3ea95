package storetest_test

import (
	"slices"
	"testing"

	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/daemon/sys"
)

// A prepared database is what a first start makes: the same tables, no rows, and the first epoch begins in it.
func TestPreparedIsAsNew(t *testing.T) {
	made, err := store.Open(t.Context(), store.Options{
		Dir: t.TempDir(), Clock: sys.RealClock(), IDs: sys.RandomIDs(),
		Owner: func() []event.Address { return nil }, Config: func() store.Config { return store.Config{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer storetest.Close(t, made)
	copied := storetest.Fresh(t)
	want, got := schema(t, made), schema(t, copied)
	if len(want) < 20 || !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	if b := copied.Boot(); b.Epoch != 1 || b.Crashed || !b.Last.IsZero() {
		t.Errorf("the first epoch is %+v", b)
	}
}

// schema returns the version and the definitions, and how many rows the tables have.
func schema(t *testing.T, s *store.Store) (lines []string) {
	t.Helper()
	list := func(query string) (texts []string) {
		rows, err := s.Reader().QueryContext(t.Context(), query)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		defer rows.Close() //nolint:errcheck // read to its end
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, text)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return texts
	}
	lines = append(list("PRAGMA user_version"), list("SELECT coalesce(sql, name) FROM sqlite_schema ORDER BY name")...)
	for _, table := range list("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") {
		lines = append(lines, table+" "+list("SELECT count(*) FROM \"" + table + "\"")[0])
	}
	return lines
}
