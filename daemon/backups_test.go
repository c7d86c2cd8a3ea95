package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon"
	"hob/daemon/clock"
	"hob/daemon/event"
	"hob/daemon/ident"
	"hob/daemon/store"
	"hob/daemon/store/view"
)

// vault is a home with a store and a clock that is moved by hand.
type vault struct {
	t     *testing.T
	home  string
	store *store.Store
	ahead time.Duration
	look  func(context.Context) error
	miss  func(context.Context, error) error
}

func openVault(t *testing.T, free int64) *vault {
	t.Helper()
	v := &vault{t: t, home: t.TempDir()}
	c := clock.Shifted(func() time.Duration { return v.ahead })
	var err error
	v.store, err = store.Open(t.Context(), store.Options{
		Dir: filepath.Join(v.home, "state"), Version: "test", Clock: c, IDs: ident.Random(),
		Zone: func() string { return "UTC" }, Owner: func() []event.Address { return nil }, Policy: func() store.Policy { return store.Policy{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.store.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if v.look, v.miss, err = daemon.Copies(v.home, v.store, c, free); err != nil {
		t.Fatal(err)
	}
	return v
}

// nextMorning moves the clock behind the quiet time of the next day.
func (v *vault) nextMorning() {
	now := time.Now().UTC().Add(v.ahead)
	v.ahead += now.Truncate(24 * time.Hour).Add(24*time.Hour + daemon.Quiet).Sub(now)
}

func (v *vault) copies() []daemon.BackupFile {
	v.t.Helper()
	list, err := daemon.Backups(v.home)
	if err != nil {
		v.t.Fatal(err)
	}
	return list
}

// A copy is made each night, once; those that are too old go, and never one that somebody put there himself.
func TestNightlyCopies(t *testing.T) {
	v := openVault(t, 1<<40)
	check := func() {
		t.Helper()
		if err := v.look(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if check(); len(v.copies()) != 0 {
		t.Fatalf("a copy of a database that has just been made: %v", v.copies())
	}
	v.nextMorning()
	check()
	if check(); len(v.copies()) != 1 {
		t.Fatalf("after a night: %v", v.copies())
	}
	mine := filepath.Join(v.home, "state", "backups", "mine.db")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		v.nextMorning()
		check()
	}
	list := v.copies()
	auto := slices.DeleteFunc(slices.Clone(list), func(f daemon.BackupFile) bool { return !f.Auto })
	if len(auto) < 7 || len(auto) > 11 || len(list) != len(auto)+1 {
		t.Errorf("after forty nights: %v", list)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("what the owner put there is gone: %v", err)
	}
	for _, f := range auto {
		if _, err := daemon.VerifyBackup(t.Context(), f.Path); err != nil {
			t.Errorf("%s: %v", f.Path, err)
		}
	}
	v.ahead += 30 * 24 * time.Hour // off for a month: it is made up for, once
	check()
	check()
	if now := v.copies(); len(now) == 0 || now[0].Made.Before(list[0].Made.Add(29*24*time.Hour)) {
		t.Errorf("after a month off: %v", now)
	}
}

// On a disk that is nearly full no copy is made, none is thrown away, and the owner is told once a day.
func TestNoRoomForACopy(t *testing.T) {
	v := openVault(t, 100<<20)
	v.nextMorning()
	for range 2 {
		err := v.look(t.Context())
		if err == nil || !strings.Contains(err.Error(), "nearly full: 100 MB are free") {
			t.Fatalf("it was made: %v", err)
		}
		if err := v.miss(t.Context(), err); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := view.New(v.store.Reader()).OutboxRows(t.Context(), event.Filter{})
	if err != nil || len(rows) != 1 || !strings.HasPrefix(rows[0].Body, "No backup was made: the disk is nearly full") || len(v.copies()) != 0 {
		t.Errorf("told: %+v, %v; copies %v", rows, err, v.copies())
	}
}

// After a restore hob forgets what happened since, tells the owner once what it holds, and goes on.
func TestRestoredHobTellsItsOwner(t *testing.T) {
	home := t.TempDir()
	r := start(t, home)
	r.say("say before")
	var made daemon.BackupReport
	if err := r.client.Act(t.Context(), "backup", "", "create", nil, &made); err != nil || made.Turns != 1 {
		t.Fatalf("%+v, %v", made, err)
	}
	r.say("say after")
	if _, err := daemon.RestoreBackup(t.Context(), home, made.Path); err == nil {
		t.Fatal("the database of a running hob was replaced")
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := daemon.RestoreBackup(t.Context(), home, made.Path); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r = start(t, home)
		told := func() (n int) {
			var rows []struct{ Body string }
			if err := r.client.List(t.Context(), "outbox", event.Filter{}, &rows); err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				if strings.HasPrefix(row.Body, "My database was restored from a backup of ") {
					n++
				}
				if row.Body == "after" {
					t.Error("it still knows what it said after the backup")
				}
			}
			return n
		}
		r.until("the owner is told", func() bool { return told() > 0 })
		if said := r.say("say on"); said != "on" || told() != 1 {
			t.Errorf("it says %q, and told %d times", said, told())
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	}
}
