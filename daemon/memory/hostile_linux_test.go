package memory_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"hob/daemon/memory"
)

// A folder of many files is indexed whole; HOB_MEMORY_FILES=100000 is the full size. What changes in it is found without reading the others.
func TestManyFiles(t *testing.T) {
	many := 3000
	if text := os.Getenv("HOB_MEMORY_FILES"); text != "" {
		var err error
		if many, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	} else if testing.Short() {
		many = 500
	}
	f := newFixture(t)
	for i := range many {
		f.put(t, fmt.Sprintf("memory/%03d/%06d.md", i%400, i), fmt.Sprintf("# Thing %d\n\nThe label of it is needle%dx.\n", i, i))
	}
	start := used()
	if out := f.sync(t); out.Read != many || len(out.Problems) != 0 {
		t.Fatalf("%+v", out)
	}
	t.Logf("%d files indexed in %v of processor time", many, used()-start)
	find := func(n, in int) {
		t.Helper()
		r := f.search(t, fmt.Sprintf("needle%dx", n))
		if want := fmt.Sprintf("memory/%03d/%06d.md:1-3", in%400, in); !slices.Equal(places(r), []string{want}) || len(r.Notes) != 0 || r.Files != many {
			t.Errorf("%q %q in %d files, want %s", places(r), r.Notes, r.Files, want)
		}
	}
	find(0, 0)
	find(many-1, many-1)
	f.put(t, "memory/000/000000.md", "# Thing 0\n\nThe label of it is needle999999x.\n")
	if out := f.sync(t); out.Read != 1 {
		t.Errorf("%d files were read for one that changed", out.Read)
	}
	find(999999, 0)
	if r := f.search(t, "needle0x"); slices.Contains(places(r), "memory/000/000000.md:1-3") {
		t.Error("the old text is found")
	}
	if err := os.RemoveAll(filepath.Join(f.space, "memory")); err != nil {
		t.Fatal(err)
	}
	if out := f.sync(t); out.Gone != many || len(f.search(t, "needle1x").Passages) != 0 {
		t.Errorf("%+v", out)
	}
}

// Of a MEMORY.md of 50 MB the first 4 MB are found, and everything says so.
func TestFiftyMegabytes(t *testing.T) {
	if testing.Short() {
		t.Skip("much data, which .ci/run sends without the race detector")
	}
	f := newFixture(t)
	f.put(t, "memory/small.md", "needle in a small one\n")
	f.put(t, "MEMORY.md", "needle at the beginning\n\n"+strings.Repeat("The tide comes in, and the tide goes out again.\n\n", 1<<20)+"thimble at the end\n")
	f.sync(t)
	r := f.search(t, "needle")
	if got := places(r); len(got) != 2 || !slices.Equal(r.Cut, []string{"MEMORY.md"}) {
		t.Errorf("%q, cut %q", got, r.Cut)
	}
	if r := f.search(t, "thimble"); len(r.Passages) != 0 || !slices.Equal(r.Cut, []string{"MEMORY.md"}) {
		t.Errorf("%+v", r)
	}
	s, err := f.index.Status(t.Context())
	if err != nil || len(s.Skipped) != 1 || s.Skipped[0].Problem != "it has 50 MB; the first 4 MB are indexed" {
		t.Errorf("%+v %v", s.Skipped, err)
	}
}

// A file that is written while it is indexed fails no search, and when the writing has ended its last text is found, and no earlier one.
func TestAFileThatChangesMeanwhile(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(f.space, "MEMORY.md")
	version := func(n int) []byte {
		return bytes.Repeat(fmt.Appendf(nil, "The label is needle%dx.\n\n", n), 200+100*(n%7))
	}
	var writing sync.WaitGroup
	const last = 150
	writing.Go(func() {
		for n := range last + 1 {
			if err := os.WriteFile(path, version(n), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	for range 60 {
		if r := f.search(t, "label"); len(r.Passages) > 0 && !strings.Contains(r.Passages[0].Text, "needle") {
			t.Errorf("%+v", r.Passages[0])
		}
	}
	writing.Wait()
	if r := f.search(t, fmt.Sprintf("needle%dx", last)); len(r.Passages) == 0 || r.Notes != nil {
		t.Errorf("the last text is not found: %+v", r)
	}
	for _, p := range f.search(t, "label").Passages {
		if n := strings.Count(p.Text, fmt.Sprintf("needle%dx", last)); n != strings.Count(p.Text, "needle") {
			t.Errorf("an earlier text is found: %.100q", p.Text)
		}
	}
}

// On a full disk a search answers with what is indexed and says why that is not all; with room again nothing is missing.
func TestIndexingOnAFullDisk(t *testing.T) {
	f := newFixture(t)
	if err := f.index.Close(); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(f.dir, "state")
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		_ = f.index.Close()
		if err := syscall.Unmount(state, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	f.open(t)
	f.put(t, "MEMORY.md", "the needle is here\n")
	f.sync(t)
	for i := range 40 {
		f.put(t, fmt.Sprintf("memory/%d.md", i), fmt.Sprintf("thimble%d\n\n", i)+strings.Repeat(fmt.Sprintf("word%d of a long text about number %d and others\n\n", i, i*7), 600))
	}
	if _, err := f.index.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("sync: %v", err)
	}
	r := f.search(t, "needle")
	if got := places(r); !slices.Equal(got, []string{"MEMORY.md:1-1"}) || len(r.Notes) != 1 {
		t.Errorf("%q, notes %q", got, r.Notes)
	}
	if _, err := f.index.Sync(t.Context()); err == nil { // the search may have begun another one
		t.Error("it has room")
	}
	s, err := f.index.Status(t.Context())
	if err != nil || !strings.Contains(s.Error, "the disk is full") {
		t.Errorf("status: %q %v", s.Error, err)
	}
	for i := 3; i < 40; i++ {
		if err := os.Remove(filepath.Join(f.space, fmt.Sprintf("memory/%d.md", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount("", state, "", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	f.sync(t)
	if r := f.search(t, "thimble2"); len(r.Passages) != 1 || len(r.Notes) != 0 {
		t.Errorf("with room again: %q, notes %q", places(r), r.Notes)
	}
}

// Two processes may use one index at once: nothing is lost, and neither fails.
func TestTwoProcesses(t *testing.T) {
	const files = 300
	dir := os.Getenv("HOB_TEST_INDEX_DIR")
	var f *fixture
	if dir == "" {
		f = newFixture(t)
		for i := range files {
			f.put(t, fmt.Sprintf("memory/%d.md", i), fmt.Sprintf("The label of it is needle%dx.\n", i))
		}
	} else {
		f = fixtureIn(t, dir)
	}
	var other bytes.Buffer
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTwoProcesses$") // #nosec G204 G702 -- this test
	cmd.Env = append(os.Environ(), "HOB_TEST_INDEX_DIR="+f.dir)
	cmd.Stdout, cmd.Stderr = &other, &other
	if dir == "" {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	// Each also throws the index away once, under the other's hands.
	for round := range 6 {
		if _, err := f.index.Sync(t.Context()); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
		for i := round; i < files; i += 50 {
			if r := f.search(t, fmt.Sprintf("needle%dx", i)); len(r.Passages) != 1 && len(r.Notes) == 0 {
				t.Errorf("round %d: %d passages and no note", round, len(r.Passages))
			}
		}
		if round == 3 {
			if err := f.index.Reindex(t.Context()); err != nil {
				t.Errorf("make it anew: %v", err)
			}
		}
	}
	if dir != "" {
		return
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the other process: %v\n%s", err, &other)
	}
	for i := range files {
		r, err := f.index.Search(t.Context(), memory.Query{Text: fmt.Sprintf("needle%dx", i), Owner: true})
		if err != nil || len(r.Passages) != 1 {
			t.Fatalf("needle%dx: %d passages, %v", i, len(r.Passages), errors.Join(err))
		}
	}
}

// A disk without room for the files that SQLite makes at each opening: a search finds what the index has, and the index is kept.
func TestASearchOnAFullDisk(t *testing.T) {
	f := newFixture(t)
	f.put(t, "MEMORY.md", "the needle is here\n")
	f.sync(t)
	if err := errors.Join(memory.EmptyLog(t.Context(), f.index), f.index.Close()); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(f.database())
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(f.dir, "state")
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		_ = f.index.Close()
		if err := syscall.Unmount(state, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(f.database(), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(f.database())
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(state, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	f.open(t)
	for range 2 {
		if got := places(f.search(t, "needle")); !slices.Equal(got, []string{"MEMORY.md:1-1"}) {
			t.Errorf("%q", got)
		}
	}
	f.put(t, "memory/new.md", "a thimble\n")
	if r := f.search(t, "needle thimble"); len(r.Passages) != 1 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the disk is full") {
		t.Errorf("%q, notes %q", places(r), r.Notes)
	}
	if after, err := os.Stat(f.database()); err != nil || !os.SameFile(before, after) {
		t.Errorf("the index was made anew: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if r := f.search(t, "thimble"); len(r.Passages) != 1 || len(r.Notes) != 0 {
		t.Errorf("with room again: %q, notes %q", places(r), r.Notes)
	}
}
