package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// The disk had room when the upgrade began, and somebody else takes it meanwhile: while the database is copied, while the copy is migrated, and while the old one is
// kept. The old database stays as it was, the reason is said, and with room the next start upgrades it.
func TestUpgradeWhoseRoomIsTaken(t *testing.T) {
	grows := second + "; CREATE TABLE large AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) SELECT i, randomblob(2000) AS b FROM n"
	for _, kilobytes := range []int{0, 40, 200, 500} {
		t.Run(fmt.Sprint(kilobytes), func(t *testing.T) {
			dir := t.TempDir()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=80m,mode=0700"); err != nil {
				t.Skipf("no right to mount a small disk: %v", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			state, filler := filepath.Join(dir, "state"), filepath.Join(dir, "filler")
			if err := os.Mkdir(state, 0o700); err != nil {
				t.Fatal(err)
			}
			live := filled(t, state, files(first), "one", "two")
			taken := false
			d, err := sqlite.Open(t.Context(), sqlite.Options{Path: live, Migrations: files(first, grows), Now: time.Now, Upgrade: func(sqlite.Upgrade) func() {
				taken = true
				if err := os.WriteFile(filler, make([]byte, 80<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
					t.Errorf("the disk is not full: %v", err)
				}
				info, err := os.Stat(filler)
				if err == nil {
					err = os.Truncate(filler, info.Size()-int64(kilobytes)<<10)
				}
				if err != nil {
					t.Error(err)
				}
				return func() {}
			}})
			if err == nil {
				t.Fatal("it was upgraded without room", d.Close())
			}
			if f, ok := event.AsFault(err); !taken || !ok || f.Hint == "" || !strings.Contains(f.Text, "the disk is full") {
				t.Errorf("it says: %v", err)
			}
			if left, err := filepath.Glob(filepath.Join(state, "*", "*")); err != nil || len(left) > 0 {
				t.Errorf("left: %v, %v", left, err)
			}
			if err := os.Remove(filler); err != nil {
				t.Fatal(err)
			}
			if got := liveRows(t, live); got != "one two" {
				t.Errorf("afterwards the database has %q", got)
			}
			if d, err = open(t, state, files(first, grows)); err != nil {
				t.Fatal(err)
			}
			if err := d.Close(); err != nil {
				t.Fatal(err)
			}
			if got := liveRows(t, live); got != "one two" {
				t.Errorf("upgraded, the database has %q", got)
			}
		})
	}
}
