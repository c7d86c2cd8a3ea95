package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/config"
)

func content(t *testing.T, path string) string {
	t.Helper()
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// alone fails when something else than the named files is in a folder.
func alone(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(names) {
		t.Errorf("in %s: %v, %v; want %q", dir, entries, err, names)
	}
}

func TestWriteKeepsTheMode(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	path := filepath.Join(dir, "config.toml")
	if err := config.WriteFile(path, nil, []byte("a = 1\n")); err != nil {
		t.Fatal(err)
	}
	modes := func(want ...os.FileMode) {
		t.Helper()
		for i, name := range []string{path, dir} {
			if info, err := os.Stat(name); err != nil || i < len(want) && info.Mode().Perm() != want[i] {
				t.Errorf("%s: %v, %v; want %o", name, info.Mode(), err, want[i])
			}
		}
	}
	if runtime.GOOS != "windows" {
		modes(0o600, 0o700)
	}
	if err := os.Chmod(path, 0o660); err != nil { //nolint:gosec // a mode that is to be kept
		t.Fatal(err)
	}
	if err := config.WriteFile(path, []byte("a = 1\n"), []byte("a = 2\n")); err != nil || content(t, path) != "a = 2\n" {
		t.Errorf("%v", err)
	}
	if runtime.GOOS != "windows" {
		modes(0o660)
	}
	alone(t, dir, "config.toml")
}

func TestWriteGoesWhereASymlinkLeads(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows wants rights for symlinks")
	}
	real, home := t.TempDir(), t.TempDir()
	sourceWrite(t, filepath.Join(real, "hob.toml"), "old", 0o600)
	path := filepath.Join(home, "config.toml")
	if err := os.Symlink(filepath.Join(real, "hob.toml"), path); err != nil {
		t.Fatal(err)
	}
	if err := config.WriteFile(path, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&os.ModeSymlink == 0 || content(t, filepath.Join(real, "hob.toml")) != "new" {
		t.Errorf("%v, %v: %q", info.Mode(), err, content(t, path))
	}
	alone(t, real, "hob.toml")
	alone(t, home, "config.toml")
}

func TestWriteSeesWhatSomebodyElseHasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	sourceWrite(t, path, "theirs", 0o600)
	for _, before := range []string{"", "old", "theirs\n"} {
		if err := config.WriteFile(path, []byte(before), []byte("mine")); !errors.Is(err, config.ErrChanged) || content(t, path) != "theirs" {
			t.Errorf("%q: %v, and %q stands there", before, err, content(t, path))
		}
	}
	alone(t, filepath.Dir(path), "config.toml")
}

func TestWhatACrashHasLeftIsReplacedWhenItIsOld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	sourceWrite(t, path, "old", 0o600)
	sourceWrite(t, path+".new", "ha", 0o600)
	if err := config.WriteFile(path, []byte("old"), []byte("new")); !errors.Is(err, config.ErrChanged) || content(t, path) != "old" {
		t.Errorf("one that may be under way: %v, %q", err, content(t, path))
	}
	past := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path+".new", past, past); err != nil {
		t.Fatal(err)
	}
	if err := config.WriteFile(path, []byte("old"), []byte("new")); err != nil || content(t, path) != "new" {
		t.Errorf("an old one: %v, %q", err, content(t, path))
	}
	alone(t, filepath.Dir(path), "config.toml")
}

// A rename that cannot be done leaves what was there, and nothing half-written.
func TestARenameThatFailsLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.toml")
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := config.WriteFile(path, nil, []byte("new")); err == nil || !strings.Contains(err.Error(), "config.toml") {
		t.Errorf("got %v", err)
	}
	alone(t, dir, "config.toml")
	alone(t, path, "in the way")
}

func TestWriteRefusesWhatWouldNotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := config.WriteFile(path, nil, make([]byte, 1<<20+1)); err == nil {
		t.Error("more than is read was written")
	}
	alone(t, filepath.Dir(path))
}

// TestWritersDoNotLoseEachOthersChanges lets several add a line each, again when somebody else was first.
func TestWritersDoNotLoseEachOthersChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	var wg sync.WaitGroup
	for _, line := range []string{"a\n", "b\n", "c\n", "d\n"} {
		wg.Go(func() {
			for {
				before, err := config.FileContent(path)
				if err == nil {
					err = config.WriteFile(path, before, append(before, line...))
				}
				if err == nil {
					return
				}
				if !errors.Is(err, config.ErrChanged) {
					t.Error(err)
					return
				}
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	got := content(t, path)
	for _, line := range []string{"a\n", "b\n", "c\n", "d\n"} {
		if strings.Count(got, line) != 1 {
			t.Errorf("%q in %q", line, got)
		}
	}
	alone(t, filepath.Dir(path), "config.toml")
}

func sourceWrite(t *testing.T, path, doc string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(doc), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
