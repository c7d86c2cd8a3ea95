package daemon_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/daemon"
	"hob/daemon/event"
)

// smallDisk mounts a disk of some megabytes.
func smallDisk(t *testing.T, megabytes int) string {
	t.Helper()
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", megabytes)); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// fill leaves some free kilobytes on a disk. The returned function makes room again.
func fill(t *testing.T, disk string, kilobytes int) (empty func()) {
	t.Helper()
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	size, block := int64(0), make([]byte, 4096)
	for err == nil {
		_, err = f.Write(block)
		size += 4096
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := errors.Join(f.Truncate(size-4096-int64(kilobytes)<<10), f.Close()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
}

// noRoom requires an error that says in a sentence that the disk has no room, with a hint.
func noRoom(t *testing.T, what string, err error) {
	t.Helper()
	t.Logf("%s: %v", what, err)
	if f, ok := event.AsFault(err); !ok || f.Hint == "" || !strings.Contains(f.Text, "the disk is full") && !strings.Contains(f.Text, "no room") && !strings.Contains(f.Text, "are free") {
		t.Errorf("%s on a full disk: %v", what, err)
	}
}

// unchanged requires that a home has its files, and nothing half-written.
func unchanged(t *testing.T, what, home string, database []byte) {
	t.Helper()
	if now, err := os.ReadFile(filepath.Join(home, "state", "hob.db")); err != nil || !bytes.Equal(now, database) {
		t.Errorf("%s changed the database: %v", what, err)
	}
	if text, err := os.ReadFile(filepath.Join(home, "workspace", "memory", "facts.md")); err != nil || string(text) != "a fact" {
		t.Errorf("%s changed the memory: %q, %v", what, text, err)
	}
	if list, err := daemon.Leftovers(home); err != nil || len(list) > 0 {
		t.Errorf("%s left %v, %v", what, list, err)
	}
}

// An upgrade, its rehearsal, a backup and a restore on a disk without room: with none at all, and with some that they use up half-way. Each says so, and nothing is
// lost. With room each works.
func TestNothingIsLostWithoutRoom(t *testing.T) {
	disk := smallDisk(t, 160)
	home := filepath.Join(disk, "home")
	olderHome(t, home)
	big := make([]byte, 8<<20) // it cannot be compressed
	if _, err := rand.NewChaCha8([32]byte{}).Read(big); err != nil {
		t.Fatal(err)
	}
	put(t, string(big), home, "workspace", "big.bin")
	database, err := os.ReadFile(filepath.Join(home, "state", "hob.db"))
	if err != nil {
		t.Fatal(err)
	}
	// The backup that is to be restored is on another disk.
	saved, err := daemon.SaveWhole(t.Context(), home, daemon.WholeOptions{Path: filepath.Join(t.TempDir(), "all.tar.gz")})
	if err != nil {
		t.Fatal(err)
	}
	rehearse := func() error {
		_, err := daemon.RehearseUpgrade(t.Context(), home, nil)
		return err
	}
	save := func() error {
		_, err := daemon.SaveWhole(t.Context(), home, daemon.WholeOptions{})
		return err
	}
	restore := func() error {
		_, err := daemon.RestoreWhole(t.Context(), home, saved.Path, daemon.BackupKey{}, func(daemon.WholeRestore) error { return nil })
		return err
	}
	run := func() error {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		return daemon.Run(ctx, daemon.Options{Home: home, Listen: "127.0.0.1:0", Version: "test", Log: slog.New(slog.DiscardHandler), Ready: func(daemon.Ready) { stop() }})
	}
	for _, kilobytes := range []int{0, 100, 700, 3000} {
		empty := fill(t, disk, kilobytes)
		for _, c := range []struct {
			what string
			do   func() error
		}{{"a rehearsal", rehearse}, {"a backup", save}, {"a restore", restore}, {"a start", run}} {
			what := fmt.Sprintf("%s with %d KB", c.what, kilobytes)
			err := c.do()
			// A rehearsal may have enough room for a small database.
			if err != nil || c.what != "a rehearsal" {
				noRoom(t, what, err)
			}
			unchanged(t, what, home, database)
		}
		empty()
	}
	for what, do := range map[string]func() error{"a rehearsal": rehearse, "a backup": save} {
		if err := do(); err != nil {
			t.Errorf("%s with room: %v", what, err)
		}
	}
	for what, do := range map[string]func() error{"a start": run, "a restore": restore} {
		if err := do(); err != nil {
			t.Errorf("%s with room: %v", what, err)
		}
	}
}
