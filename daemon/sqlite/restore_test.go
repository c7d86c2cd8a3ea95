package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"hob/daemon/sqlite"
)

const second = "ALTER TABLE things ADD COLUMN note TEXT NOT NULL DEFAULT ''"

// names reads all rows of a database file that nobody has open.
func names(list *[]string) func(*sqlite.Conn) error {
	return func(tx *sqlite.Conn) error {
		var all string
		err := tx.One("SELECT coalesce(group_concat(name, ' ' ORDER BY id), '') FROM things", nil, &all)
		*list = strings.Fields(all)
		return err
	}
}

// liveRows returns the rows of the live database.
func liveRows(t *testing.T, live string) string {
	t.Helper()
	var rows []string
	if err := sqlite.Inspect(t.Context(), live, files(first, second), names(&rows)); err != nil {
		t.Fatal(err)
	}
	return strings.Join(rows, " ")
}

// filled makes a database with rows of those names, and leaves it closed.
func filled(t *testing.T, dir string, migrations fstest.MapFS, rows ...string) string {
	t.Helper()
	d, err := open(t, dir, migrations)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := d.Write(t.Context(), add(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "hob.db")
}

// saved makes a backup of a database with many rows.
func saved(t *testing.T, rows int) string {
	t.Helper()
	d := fresh(t)
	if err := d.Write(t.Context(), func(tx *sqlite.Conn) error {
		for i := range rows {
			if err := add(fmt.Sprintf("row-%d-%s", i, strings.Repeat("x", 50)))(tx); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := d.Backup(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	return to
}

// A copy that was cut off anywhere is never taken for a good one; neither is one with more behind it.
func TestTruncatedCopies(t *testing.T) {
	whole, err := os.ReadFile(saved(t, 2000))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	check := func(name string, content []byte) error {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return sqlite.Examine(t.Context(), path, files(first), names(&rows))
	}
	if err := check("whole.db", whole); err != nil || len(rows) != 2000 {
		t.Fatalf("the whole copy: %d rows, %v", len(rows), err)
	}
	cuts := []int{0, 1, 15, 16, 99, 100, 101, 4095, 4096, len(whole) - 1, len(whole) - 4096}
	for i := range 40 {
		cuts = append(cuts, len(whole)*(i+1)/41/512*512) // at the ends of sectors, some of them of pages
	}
	for _, n := range cuts {
		if err := check(fmt.Sprintf("cut-%d.db", n), whole[:n]); !errors.Is(err, sqlite.ErrUnfinished) {
			t.Errorf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
	}
	if err := check("long.db", append(whole[:len(whole):len(whole)], 0)); !errors.Is(err, sqlite.ErrUnfinished) {
		t.Errorf("with a byte more: %v", err)
	}
	// Of full length, but with a half of zeros, as a crash of the machine can leave it; nobody has to read them to see that.
	zeroed := filepath.Join(t.TempDir(), "zeroed.db")
	clear(whole[len(whole)/2:])
	if err := os.WriteFile(zeroed, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Examine(t.Context(), zeroed, files(first), func(*sqlite.Conn) error { return nil }); !errors.Is(err, sqlite.ErrCorrupt) {
		t.Errorf("with a half of zeros: %v", err)
	}
}

// Examining writes nothing, not even beside the file.
func TestExamineLeavesNoTrace(t *testing.T) {
	path := saved(t, 10)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path + sqlite.Digest); err != nil {
		t.Fatal(err)
	}
	var rows []string
	if err := sqlite.Examine(t.Context(), path, files(first), names(&rows)); err != nil {
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	entries, err2 := os.ReadDir(filepath.Dir(path))
	if err := errors.Join(err, err2); err != nil || string(before) != string(after) || len(entries) != 1 {
		t.Errorf("changed: %t, files %v, %v", string(before) != string(after), entries, err)
	}
}

func TestExamineRefuses(t *testing.T) {
	newer := saved(t, 1)
	made := func(script string) string {
		path := filepath.Join(t.TempDir(), "made.db")
		c, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.ExecContext(t.Context(), script)
		if err := errors.Join(err, c.Close()); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		path string
		know fstest.MapFS
		want error
	}{
		"newer":            {newer, files(), sqlite.ErrNewer},
		"missing":          {filepath.Join(t.TempDir(), "nowhere.db"), files(first), os.ErrNotExist},
		"folder":           {t.TempDir(), files(first), sqlite.ErrForeign},
		"no version":       {made("CREATE TABLE notes (text TEXT)"), files(first), sqlite.ErrForeign},
		"loose references": {made("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INTEGER REFERENCES a (id)); INSERT INTO b VALUES (7); PRAGMA user_version = 1"), files(first), sqlite.ErrCorrupt},
	} {
		if err := sqlite.Examine(t.Context(), c.path, c.know, func(*sqlite.Conn) error { return nil }); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A database that grows while it is copied gives copies that are each whole, and of one moment.
func TestCopiesOfAGrowingDatabase(t *testing.T) {
	d := fresh(t)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := d.Write(context.Background(), func(tx *sqlite.Conn) error {
				for k := range 20 {
					if err := add(fmt.Sprintf("%d-%d-%s", i, k, strings.Repeat("y", 300)))(tx); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				t.Errorf("write: %v", err)
			}
		}
	})
	last := -1
	for i := range 5 {
		to := filepath.Join(t.TempDir(), "copy.db")
		if err := d.Backup(t.Context(), to); err != nil {
			t.Fatalf("copy %d: %v", i, err)
		}
		var rows []string
		if err := sqlite.Examine(t.Context(), to, files(first), names(&rows)); err != nil || len(rows)%20 != 0 || len(rows) < last {
			t.Errorf("copy %d: %d rows after %d, %v", i, len(rows), last, err)
		}
		last = len(rows)
	}
	cancel()
	wg.Wait()
}

func restoreOptions(path string) sqlite.Options {
	return sqlite.Options{Path: path, Migrations: files(first, second), Now: time.Now}
}

// A restore migrates and changes the copy, never the backup, and keeps what was there with all that stood in its log.
func TestRestore(t *testing.T) {
	from := saved(t, 3)
	backup, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	live := filled(t, t.TempDir(), files(first, second), "old-1", "old-2")
	old, err := sqlite.Restore(t.Context(), restoreOptions(live), from, func(tx *sqlite.Conn) error {
		return tx.Run("INSERT INTO things (name, note) VALUES ('new', 'migrated')")
	})
	if err != nil {
		t.Fatal(err)
	}
	var now, kept []string
	if err := sqlite.Inspect(t.Context(), live, files(first, second), names(&now)); err != nil || len(now) != 4 || now[3] != "new" {
		t.Errorf("in its place: %v, %v", now, err)
	}
	if err := sqlite.Examine(t.Context(), old, files(first, second), names(&kept)); err != nil || strings.Join(kept, " ") != "old-1 old-2" {
		t.Errorf("kept: %v, %v", kept, err)
	}
	if after, err := os.ReadFile(from); err != nil || string(after) != string(backup) {
		t.Errorf("the backup was changed (%v)", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(live)); err != nil || len(entries) > 5 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := os.Lstat(filepath.Join(filepath.Dir(live), sqlite.Staging)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the place of the copy is still there: %v", err)
	}
}

// What cannot be restored changes nothing.
func TestRestoreThatFails(t *testing.T) {
	from := saved(t, 3)
	cut := filepath.Join(t.TempDir(), "cut.db")
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(cut, content[:len(content)-4096], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no")
	live := filled(t, t.TempDir(), files(first, second), "old")
	for name, c := range map[string]struct {
		from    string
		prepare error
		want    error
	}{"cut": {cut, nil, sqlite.ErrUnfinished}, "refused": {from, refused, refused}, "missing": {from + "x", nil, os.ErrNotExist}} {
		if _, err := sqlite.Restore(t.Context(), restoreOptions(live), c.from, func(*sqlite.Conn) error { return c.prepare }); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		var now []string
		if err := sqlite.Inspect(t.Context(), live, files(first, second), names(&now)); err != nil || strings.Join(now, "") != "old" {
			t.Errorf("%s: afterwards %v, %v", name, now, err)
		}
	}
	d, err := open(t, filepath.Dir(live), files(first, second))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Restore(t.Context(), restoreOptions(live), from, func(*sqlite.Conn) error { return nil }); !errors.Is(err, sqlite.ErrLocked) {
		t.Errorf("while it is open: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

// A database that is too damaged to be opened is kept as it is. Its log does not get into the new one. A second restore keeps both.
func TestRestoreOverADamagedOne(t *testing.T) {
	from := saved(t, 3)
	live := filepath.Join(t.TempDir(), "hob.db")
	junk := []byte(strings.Repeat("this is no database ", 500))
	if err := errors.Join(os.WriteFile(live, junk, 0o600), os.WriteFile(live+"-wal", []byte("log"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := sqlite.Inspect(t.Context(), live, files(first, second), func(*sqlite.Conn) error { return nil }); !errors.Is(err, sqlite.ErrCorrupt) {
		t.Errorf("inspected: %v", err)
	}
	if d, err := open(t, filepath.Dir(live), files(first, second)); !errors.Is(err, sqlite.ErrCorrupt) {
		t.Errorf("opened: %v, %v", d, err)
	}
	kept := map[string]bool{}
	for i := range 2 {
		old, err := sqlite.Restore(t.Context(), restoreOptions(live), from, func(*sqlite.Conn) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		kept[old] = true
		if _, err := os.Lstat(live + "-wal"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("restore %d: the log is there: %v", i, err)
		}
		var now []string
		if err := sqlite.Inspect(t.Context(), live, files(first, second), names(&now)); err != nil || len(now) != 3 {
			t.Errorf("restore %d: in its place %v, %v", i, now, err)
		}
	}
	list, err := sqlite.ListBackups(sqlite.BackupFolder(filepath.Dir(live)))
	if err != nil || len(list) != 2 || !kept[list[0].Path] || !kept[list[1].Path] {
		t.Fatalf("kept %v, listed %+v, %v", kept, list, err)
	}
	damaged, err := os.ReadFile(list[1].Path)
	log, err2 := os.ReadFile(list[1].Path + "-wal")
	if err := errors.Join(err, err2); err != nil || string(damaged) != string(junk) || string(log) != "log" {
		t.Errorf("the damaged one: %.20q, its log: %.20q, %v", damaged, log, err)
	}
	var rows []string
	if err := sqlite.Examine(t.Context(), list[0].Path, files(first, second), names(&rows)); err != nil || len(rows) != 3 || !list[0].Replaced {
		t.Errorf("the second one: %+v, %v, %v", list[0], rows, err)
	}
	if newest := sqlite.Newest(list); newest.Path != list[0].Path {
		t.Errorf("the newest is %+v", newest)
	}
	if newest := sqlite.Newest(append(list, sqlite.BackupFile{Path: "older"})); newest.Path != "older" {
		t.Errorf("a replaced database comes before a backup: %+v", newest)
	}
}

// A restore that was killed after it had put the log of a damaged database aside loses nothing of it: the next one keeps both.
func TestRestoreKeepsALogTwice(t *testing.T) {
	from := saved(t, 3)
	live := filepath.Join(t.TempDir(), "hob.db")
	left := filepath.Join(sqlite.BackupFolder(filepath.Dir(live)), "hob-before-restore-20261121-034000.000.db")
	junk := strings.Repeat("this is no database ", 500)
	if err := errors.Join(os.WriteFile(live, []byte(junk), 0o600), os.Mkdir(filepath.Dir(left), 0o700), os.Link(live, left), os.WriteFile(left+"-wal", []byte("log"), 0o600)); err != nil {
		t.Fatal(err)
	}
	old, err := sqlite.Restore(t.Context(), restoreOptions(live), from, func(*sqlite.Conn) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(old + "-wal")
	if err != nil || string(log) != "log" {
		t.Errorf("the log is %q, %v", log, err)
	}
	if list, err := filepath.Glob(filepath.Join(filepath.Dir(left), "*.db*")); err != nil || len(list) != 3 {
		t.Errorf("kept: %v, %v", list, err)
	}
}

// A database that is a link to a file elsewhere is kept as a file.
func TestRestoreOverALink(t *testing.T) {
	from := saved(t, 3)
	there := filled(t, t.TempDir(), files(first, second), "old")
	live := filepath.Join(t.TempDir(), "hob.db")
	if err := os.Symlink(there, live); err != nil {
		t.Skip("this system makes no links: ", err)
	}
	old, err := sqlite.Restore(t.Context(), restoreOptions(live), from, func(*sqlite.Conn) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(old); err != nil || !info.Mode().IsRegular() {
		t.Errorf("kept: %v, %v", info, err)
	}
	var rows []string
	if err := sqlite.Examine(t.Context(), old, files(first, second), names(&rows)); err != nil || strings.Join(rows, " ") != "old" {
		t.Errorf("kept: %v, %v", rows, err)
	}
	if got := liveRows(t, live); strings.Count(got, "row-") != 3 {
		t.Errorf("in its place: %q", got)
	}
}

// A backup folder that cannot be read hinders no start.
func TestOpenWithoutABackupFolder(t *testing.T) {
	live := filled(t, t.TempDir(), files(first, second), "one")
	if err := os.Symlink("backups", sqlite.BackupFolder(filepath.Dir(live))); err != nil {
		t.Skip("this system makes no links: ", err)
	}
	d, err := open(t, filepath.Dir(live), files(first, second))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	_, err = sqlite.Restore(t.Context(), restoreOptions(live), saved(t, 3), func(*sqlite.Conn) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "the backup folder") || liveRows(t, live) != "one" {
		t.Errorf("restored: %v", err)
	}
}
