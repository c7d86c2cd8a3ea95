//go:build unix

package daemon_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"hob/daemon"
	"hob/daemon/sqlite"
	"hob/daemon/store"
)

// olderHome makes a home whose database lacks the newest step of the schema.
func olderHome(t *testing.T, home string) {
	t.Helper()
	all := store.Migrations()
	names, err := fs.ReadDir(all, ".")
	if err != nil {
		t.Fatal(err)
	}
	some := fstest.MapFS{}
	for _, e := range names[:len(names)-1] {
		text, err := fs.ReadFile(all, e.Name())
		if err != nil {
			t.Fatal(err)
		}
		some[e.Name()] = &fstest.MapFile{Data: text}
	}
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(home, "state", "hob.db"), Migrations: some, Now: time.Now})
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	put(t, "a fact", home, "workspace", "memory", "facts.md")
}

// A start may take 90 seconds with systemd. The manager is asked for more before an older database is upgraded, and is told that hob is ready only afterwards.
func TestServiceManagerWaitsForAnUpgrade(t *testing.T) {
	conn := serviceManager(t, "60000")
	home := filepath.Join(t.TempDir(), "h")
	olderHome(t, home)
	r := start(t, home)
	if got := hear(t, conn, "EXTEND_TIMEOUT_USEC=", "READY=1"); !strings.HasPrefix(got, "EXTEND_TIMEOUT_USEC=120000000\nSTATUS=upgrading the database from schema ") {
		t.Errorf("told %q", got)
	}
	hear(t, conn, "READY=1", "WATCHDOG=1")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
}

// While a long upgrade goes on, the manager is asked again long before the time that it gave is over; afterwards no more.
func TestServiceManagerIsAskedAgain(t *testing.T) {
	conn := serviceManager(t, "60000")
	synctest.Test(t, func(t *testing.T) {
		end := daemon.Upgrading(sqlite.Upgrade{From: 1, To: 2})
		time.Sleep(2*time.Minute + time.Second)
		end()
		time.Sleep(time.Hour)
	})
	if err := conn.SetReadDeadline(time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	n, buf := 0, make([]byte, 4096)
	for ; ; n++ {
		m, err := conn.Read(buf)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if got := string(buf[:m]); err != nil || got != "EXTEND_TIMEOUT_USEC=120000000\nSTATUS=upgrading the database from schema 1 to 2\n" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if n != 7 { // at once, and every 20 seconds
		t.Errorf("asked %d times in two minutes", n)
	}
}
