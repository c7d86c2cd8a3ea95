package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/store/storetest"
	"hob/tools"
)

// items records changes of context items, as a call of the command line does.
func (s *testStore) items(list ...tools.Change) error {
	return s.Calls.Record(s.t.Context(), list...)
}

func (s *testStore) item(drive, path string) tools.ContextItem {
	s.t.Helper()
	it, _, err := s.Context().ContextItem(s.t.Context(), drive, path)
	if err != nil {
		s.t.Fatal(err)
	}
	return it
}

// state returns the state and the revisions.
func (s *testStore) state() (string, map[int64]int64) {
	s.t.Helper()
	state, err := s.Context().ContextState(s.t.Context())
	all, err2 := s.Context().ContextRevisions(s.t.Context())
	if err := errors.Join(err, err2); err != nil {
		s.t.Fatal(err)
	}
	return state, all
}

func TestContextItems(t *testing.T) {
	s := fresh(t)
	put := tools.PutContext{Drive: "agent", Path: "a/b", Content: "one", Only: true}
	if err := s.items(put); err != nil {
		t.Fatal(err)
	}
	before, was := s.state()
	created := s.item("agent", "a/b").Created
	if err := s.items(put); err == nil {
		t.Error("it was replaced")
	} else if f, ok := event.AsFault(err); !ok || f.Kind != event.Clash || !strings.Contains(f.Hint, "overwrite") {
		t.Errorf("%v", err)
	}
	if same, _ := s.state(); same != before || s.item("agent", "a/b").Content != "one" {
		t.Error("a refused change has changed something")
	}
	s.ahead.Add(int64(time.Hour))
	put.Only, put.Content = false, "twö"
	if err := s.items(put); err != nil {
		t.Fatal(err)
	}
	it := s.item("agent", "a/b")
	if it.Content != "twö" || it.Bytes != 4 || !it.Created.Equal(created) || !it.Updated.After(created) || it.Foreign != "" {
		t.Errorf("%+v", it)
	}
	after, is := s.state()
	if after == before || len(is) != 1 {
		t.Errorf("%q %v", after, is)
	}
	for id := range is {
		if was[id] != 0 {
			t.Error("a new content has the old revision")
		}
		if one, ok, err := s.Context().ContextRevision(t.Context(), id); err != nil || !ok || one.Content != "twö" {
			t.Errorf("%+v %v %v", one, ok, err)
		}
	}
	// A kill keeps what was committed.
	if c := s.crash(); c.item("agent", "a/b").Content != "twö" {
		t.Error("it is gone after a kill")
	}
	if err := s.items(tools.DropContext{Drive: "agent", Path: "a/b"}, tools.DropContext{Drive: "url", Path: "never"}); err != nil {
		t.Fatal(err)
	}
	if gone, rest := s.state(); gone == after || len(rest) != 0 {
		t.Errorf("%q %v", gone, rest)
	}
}

// The store has the last word about what is foreign.
func TestContextItemsOfATaintedTurn(t *testing.T) {
	s := fresh(t)
	s.accept(message("remember this"))
	id, ctx := s.take(), t.Context()
	write := func(path string, c tools.PutContext) tools.ContextItem {
		t.Helper()
		c.Drive, c.Path, c.Content = "agent", path, "x"
		if err := s.Turns.Commit(ctx, turn.Commit{Turn: id, Changes: []tools.Change{c}}); err != nil {
			t.Fatal(err)
		}
		return s.item("agent", path)
	}
	if it := write("mine", tools.PutContext{}); it.Foreign != "" || it.ForeignName {
		t.Errorf("%+v", it)
	}
	if it := write("page", tools.PutContext{Foreign: "web: example.org"}); it.Foreign != "web: example.org" || it.ForeignName {
		t.Errorf("%+v", it)
	}
	if err := s.Turns.Commit(ctx, turn.Commit{Turn: id, Taint: "mail"}); err != nil {
		t.Fatal(err)
	}
	if it := write("theirs", tools.PutContext{}); it.Foreign == "" || !it.ForeignName {
		t.Errorf("%+v", it)
	}
	if it := write("mine", tools.PutContext{}); it.Foreign == "" || it.ForeignName { // the name is still the owner's
		t.Errorf("%+v", it)
	}
	if err := s.items(tools.PutContext{Drive: "agent", Path: "theirs", Content: "his own now"}); err != nil {
		t.Fatal(err)
	}
	if it := s.item("agent", "theirs"); it.Foreign != "" || it.ForeignName {
		t.Errorf("%+v", it)
	}
}

func TestContextItemsHaveLimits(t *testing.T) {
	s := fresh(t)
	large := strings.Repeat("x", 1<<20)
	var list []tools.Change
	for i := range 101 {
		list = append(list, tools.PutContext{Drive: "agent", Path: strings.Repeat("p", i+1), Content: large})
	}
	if err := s.items(list[:100]...); err != nil {
		t.Fatal(err)
	}
	if err := s.items(list[100]); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("%v", err)
	}
	if err := s.items(list[0]); err != nil {
		t.Errorf("the same again needs no room: %v", err)
	}
}

// A deleted text is overwritten in the database.
func TestADeletedContextItemIsOverwritten(t *testing.T) {
	dir := t.TempDir()
	holds := func(list ...tools.Change) bool {
		t.Helper()
		s := storetest.Open(t, dir, func(*store.Options) {})
		err := s.Calls.Record(t.Context(), list...)
		storetest.Close(t, s)
		path := filepath.Join(dir, "hob.db")
		db, err2 := sql.Open("sqlite", path)
		if err2 == nil {
			_, err3 := db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)") // the log goes the same way, later
			err2 = errors.Join(err3, db.Close())
		}
		data, err3 := os.ReadFile(path)
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(data), "quetzal")
	}
	if !holds(tools.PutContext{Drive: "agent", Path: "a", Content: "the quetzal sings"}) || holds(tools.DropContext{Drive: "agent", Path: "a"}) {
		t.Error("the database does not hold what was written, or still holds what was deleted")
	}
}
