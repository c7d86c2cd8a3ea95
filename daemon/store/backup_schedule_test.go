package store_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/sys"
)

// vault is a home with a store, a backup schedule and a clock that the test moves.
type vault struct {
	store.BackupSchedule
	t     *testing.T
	store *store.Store
	ahead time.Duration
}

func openVault(t *testing.T, free int64) *vault {
	t.Helper()
	v := &vault{t: t}
	dir := t.TempDir()
	s, end := openAt(t, dir)
	t.Cleanup(end)
	v.store = s
	v.BackupSchedule = store.BackupSchedule{
		State: dir, Plan: sqlite.DefaultBackupPlan, Migrations: steps(t), Readers: s.Reader(), Copy: s.Backups.Backup, Notice: s.Events.Notice,
		Free: func(string) (int64, error) { return free, nil }, Zone: func() *time.Location { return time.UTC },
		Clock: sys.ShiftedClock(func() time.Duration { return v.ahead }), Log: slog.New(slog.DiscardHandler),
	}
	return v
}

// nextMorning moves the clock behind the quiet time of the next day.
func (v *vault) nextMorning() {
	now := v.Clock.Wall()
	v.ahead += now.Truncate(24 * time.Hour).Add(28 * time.Hour).Sub(now)
}

func (v *vault) copies() []sqlite.BackupFile {
	v.t.Helper()
	list, err := sqlite.ListBackups(sqlite.BackupFolder(v.State))
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
		if err := v.MakeDue(t.Context()); err != nil {
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
	mine := filepath.Join(sqlite.BackupFolder(v.State), "mine.db")
	if err := os.WriteFile(mine, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 40 {
		v.nextMorning()
		check()
	}
	list := v.copies()
	auto := slices.DeleteFunc(slices.Clone(list), func(f sqlite.BackupFile) bool { return !f.Auto })
	if len(auto) < 7 || len(auto) > 11 || len(list) != len(auto)+1 {
		t.Errorf("after forty nights: %v", list)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("what the owner put there is gone: %v", err)
	}
	for _, f := range auto {
		if _, err := store.VerifyBackup(t.Context(), f.Path, v.Migrations); err != nil {
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
		if err := v.MakeDue(t.Context()); err == nil || !strings.Contains(err.Error(), "nearly full: 100 MB are free") {
			t.Fatalf("it was made: %v", err)
		}
	}
	rows, err := store.NewView(v.store.Reader(), time.Now).OutboxRows(t.Context(), event.Filter{})
	if err != nil || len(rows) != 1 || !strings.HasPrefix(rows[0].Body, "No backup was made: the disk is nearly full") || len(v.copies()) != 0 {
		t.Errorf("told: %+v, %v; copies %v", rows, err, v.copies())
	}
}

// A copy that turns out not to be good is not left there, and nothing older is thrown away for it.
func TestBadCopy(t *testing.T) {
	v := openVault(t, 1<<40)
	for range 20 {
		v.nextMorning()
		if err := v.MakeDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	before := v.copies()
	v.Copy = func(_ context.Context, path string) error {
		return os.WriteFile(path, []byte("SQLite format 3\x00 and no more"), 0o600)
	}
	v.nextMorning()
	if err := v.MakeDue(t.Context()); err == nil || !strings.Contains(err.Error(), "not whole") {
		t.Errorf("it was taken: %v", err)
	}
	if after := v.copies(); !slices.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
}

// A copy by hand has a name of its own, and its path may be any but one that is taken.
func TestSave(t *testing.T) {
	v := openVault(t, 0)
	first, err := v.Save(t.Context(), "")
	if err != nil || first.Bytes == 0 || filepath.Dir(first.Path) != sqlite.BackupFolder(v.State) {
		t.Fatalf("%+v, %v", first, err)
	}
	if list := v.copies(); len(list) != 1 || list[0].Auto {
		t.Errorf("%+v", list)
	}
	if _, err := v.Save(t.Context(), first.Path); err == nil {
		t.Error("it was overwritten")
	}
}

// R7: a copy whose content was changed is no copy, though its structure is sound; neither verify nor restore takes it. One without a digest is
// taken, and says so.
func TestDigestOfACopy(t *testing.T) {
	v := openVault(t, 1<<40)
	r, err := v.Save(t.Context(), "")
	if err != nil || len(r.Digest) != 64 {
		t.Fatalf("%+v, %v", r, err)
	}
	if list := v.copies(); len(list) != 1 {
		t.Errorf("the digest is listed as a copy: %v", list)
	}
	whole, err := os.ReadFile(r.Path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(whole)
	at := len(damaged) - 40 // the free end of a page, or a text: nothing that a check of the structure sees
	for i := range 40 {
		damaged[at+i] ^= 0x55
	}
	if err := os.WriteFile(r.Path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	fault := func(err error) string {
		if f, ok := event.AsFault(store.BackupFault(r.Path, err)); ok {
			return f.Text
		}
		return ""
	}
	if _, err := store.VerifyBackup(t.Context(), r.Path, v.Migrations); !strings.Contains(fault(err), "cannot be used: the database is damaged") {
		t.Errorf("verify: %v", err)
	}
	elsewhere := filepath.Join(t.TempDir(), "hob.db")
	if _, _, err := store.RestoreBackup(t.Context(), elsewhere, r.Path, v.Migrations, time.Now); !strings.Contains(fault(err), "cannot be used: the database is damaged") {
		t.Errorf("restore: %v", err)
	}
	if err := os.WriteFile(r.Path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := store.VerifyBackup(t.Context(), r.Path, v.Migrations); err != nil || again.Digest != r.Digest {
		t.Errorf("whole again: %+v, %v", again, err)
	}
	if err := os.Remove(r.Path + ".sha256"); err != nil {
		t.Fatal(err)
	}
	if bare, err := store.VerifyBackup(t.Context(), r.Path, v.Migrations); err != nil || bare.Digest != "" {
		t.Errorf("without a digest: %+v, %v", bare, err)
	}
}

// R7: a digest goes with its copy.
func TestDigestsGoWithTheirCopies(t *testing.T) {
	v := openVault(t, 1<<40)
	v.Plan = func() sqlite.BackupPlan { return sqlite.BackupPlan{Every: 24 * time.Hour, Daily: 1} }
	for range 3 {
		v.nextMorning()
		if err := v.MakeDue(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	digests, err := filepath.Glob(filepath.Join(sqlite.BackupFolder(v.State), "*.sha256"))
	if err != nil || len(digests) != len(v.copies()) {
		t.Errorf("%d copies, digests %q, %v", len(v.copies()), digests, err)
	}
}
