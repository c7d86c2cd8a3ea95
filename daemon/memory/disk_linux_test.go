package memory_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/daemon/memory"
)

// smallDisk moves the state of a fixture to a disk of 4 MB, and opens the index there with a log.
func (f *fixture) smallDisk(t *testing.T) (state string, log *bytes.Buffer) {
	t.Helper()
	if err := f.index.Close(); err != nil {
		t.Fatal(err)
	}
	state, log = filepath.Join(f.dir, "state"), &bytes.Buffer{}
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	f.index = memory.New(t.Context(), memory.Options{Path: f.database(), Guard: func() *fsguard.Guard { return f.guard }, Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil))})
	t.Cleanup(func() {
		if err := errors.Join(f.index.Close(), syscall.Unmount(state, syscall.MNT_DETACH)); err != nil {
			t.Error(err)
		}
	})
	return state, log
}

// fill leaves some free kilobytes on a disk. The returned function makes room again.
func fill(t *testing.T, disk string, kilobytes int) (empty func()) {
	t.Helper()
	filler := filepath.Join(disk, "filler")
	var size int64
	w, err := os.Create(filler)
	for ; err == nil; size += 4096 {
		_, err = w.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := errors.Join(w.Truncate(size-4096-int64(kilobytes)<<10), w.Close()); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(filler); err != nil {
			t.Fatal(err)
		}
	}
}

// names requires that an error is a fault which names a cause, and what to do about it.
func names(t *testing.T, what string, err error, cause, hint string) {
	t.Helper()
	if f, ok := event.AsFault(err); !ok || !strings.Contains(f.Text, cause) || f.Hint != hint {
		t.Errorf("%s: %v, want %q and %q", what, err, cause, hint)
	}
}

// Without room for an index, or for all of it, everything names the disk, and it is logged once. The index that there is is kept. With room again
// the next use works, and the status says nothing of the time before.
func TestTheIndexNamesAFullDisk(t *testing.T) {
	for _, index := range []string{"no index", "an index"} {
		for _, kilobytes := range []int{0, 8, 76, 200, 400} {
			t.Run(fmt.Sprintf("%s, %d KB", index, kilobytes), func(t *testing.T) {
				f := newFixture(t)
				state, log := f.smallDisk(t)
				f.put(t, "MEMORY.md", "the needle is here\n")
				if index != "no index" {
					f.sync(t)
				}
				before, _ := os.Stat(f.database())
				for i := range 40 {
					f.put(t, fmt.Sprintf("memory/%d.md", i), fmt.Sprintf("thimble%d\n\n", i)+strings.Repeat(fmt.Sprintf("word%d of a long text about number %d and others\n\n", i, i*7), 600))
				}
				empty := fill(t, state, kilobytes)
				for range 3 {
					_, err := f.index.Sync(t.Context())
					names(t, "sync", err, "the disk is full", "free some space")
					r, err := f.index.Search(t.Context(), memory.Query{Text: "needle", Owner: true})
					if err != nil {
						names(t, "search", err, "the disk is full", "free some space")
					}
					if err == nil && r.Files == 0 { // V12
						t.Error("nothing could be searched, and the search has not failed")
					}
					if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the disk is full") || !strings.Contains(r.Notes[0], "free some space") {
						t.Errorf("notes %q", r.Notes)
					}
					if index != "no index" && !slices.Contains(places(r), "MEMORY.md:1-1") {
						t.Errorf("found %q, %v", places(r), err)
					}
					s, err := f.index.Status(t.Context())
					if err != nil {
						names(t, "status", err, "the disk is full", "free some space")
					}
					if !strings.Contains(s.Error, "the disk is full") || s.Hint != "free some space" {
						t.Errorf("status: %q, %q", s.Error, s.Hint)
					}
				}
				if after, err := os.Stat(f.database()); before != nil && (err != nil || !os.SameFile(before, after)) {
					t.Errorf("the index was made anew: %v", err)
				}
				if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "the disk is full") {
					t.Errorf("the log:\n%s", text)
				}
				empty()
				for i := 3; i < 40; i++ {
					if err := os.Remove(filepath.Join(f.space, fmt.Sprintf("memory/%d.md", i))); err != nil {
						t.Fatal(err)
					}
				}
				// A search that has stopped waiting leaves its sync running, and that one may have met the full disk.
				if _, err := f.index.Sync(t.Context()); err != nil {
					f.sync(t)
				}
				if s, err := f.index.Status(t.Context()); err != nil || s.Error+s.Hint != "" || s.Files != 4 {
					t.Errorf("with room again: %d files, %q, %q, %v", s.Files, s.Error, s.Hint, err)
				}
				if r := f.search(t, "thimble2"); len(r.Passages) != 1 || len(r.Notes) != 0 {
					t.Errorf("with room again: %q, notes %q", places(r), r.Notes)
				}
			})
		}
	}
}

// On a disk that is mounted read-only everything names that, and the index is kept, even a damaged one: there could be no other.
func TestTheIndexNamesAReadOnlyDisk(t *testing.T) {
	for name, text := range map[string][]byte{"no index": nil, "an index": {}, "a damaged one": bytes.Repeat([]byte("x"), 5000)} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			state, log := f.smallDisk(t)
			f.put(t, "MEMORY.md", "the needle is here\n")
			if text != nil {
				f.sync(t)
				if err := f.index.Close(); err != nil {
					t.Fatal(err)
				}
				if len(text) > 0 {
					if err := os.WriteFile(f.database(), text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				f.index = memory.New(t.Context(), memory.Options{Path: f.database(), Guard: func() *fsguard.Guard { return f.guard }, Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil))})
			}
			if err := syscall.Mount("", state, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				_, err := f.index.Search(t.Context(), memory.Query{Text: "needle", Owner: true})
				names(t, "search", err, "the disk is mounted read-only", "mount it with write access")
				_, err = f.index.Status(t.Context())
				names(t, "status", err, "the disk is mounted read-only", "mount it with write access")
			}
			if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "the disk is mounted read-only") {
				t.Errorf("the log:\n%s", text)
			}
			if err := syscall.Mount("", state, "", syscall.MS_REMOUNT, ""); err != nil {
				t.Fatal(err)
			}
			if s, err := f.index.Status(t.Context()); err != nil || s.Error+s.Hint != "" || s.Files != 1 {
				t.Errorf("with write access: %d files, %q, %q, %v", s.Files, s.Error, s.Hint, err)
			}
		})
	}
}
