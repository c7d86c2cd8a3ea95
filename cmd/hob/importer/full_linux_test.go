package importer_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fill takes all room of a disk, and returns the file that takes it.
func fill(t *testing.T, disk string) (taken string) {
	t.Helper()
	taken = filepath.Join(disk, "taken")
	f, err := os.Create(taken)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return taken
}

// On a full disk each item is left with the reason, and nothing half-written remains. When there is room again, the same command carries everything.
func TestImportOnAFullDisk(t *testing.T) {
	dir, home := clawHome(t, clawLater), emptyHome(t)
	if err := syscall.Mount("tmpfs", home, "tmpfs", 0, "size=24m,mode=0700"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(home, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	running(t, home)
	if has := tree(t, home, "workspace", "secrets"); has != "" {
		t.Fatalf("a new home has:\n%s", has)
	}
	taken := fill(t, home)
	wanted := map[string]bool{} // what has failed for want of room
	for _, it := range imported(t, home, dir) {
		switch {
		case it.State == "carried" || it.State == "already":
			t.Errorf("%s %s is %s without room", it.Kind, it.From, it.State)
		case strings.Contains(it.Why, "no space left") || strings.Contains(it.Why, "the disk is full"):
			wanted[it.Kind+" "+it.From] = true
		}
	}
	if err := os.Remove(taken); err != nil {
		t.Fatal(err)
	}
	if has := tree(t, home, "workspace", "secrets"); has != "" {
		t.Errorf("the failed import has left:\n%s", has)
	}
	for _, want := range []string{"file workspace/AGENTS.md", "skill skills/tidy", "job Weekly", "job Often", "secret .env/OPENROUTER_API_KEY"} {
		if !wanted[want] {
			t.Errorf("%s did not fail for want of room", want)
		}
	}
	for _, it := range imported(t, home, dir) {
		if key := it.Kind + " " + it.From; (it.State == "carried") != wanted[key] {
			t.Errorf("with room %s is %s (%s)", key, it.State, it.Why)
		}
	}
	if has := tree(t, home, "workspace", "secrets"); strings.Contains(has, ".tmp") || !strings.Contains(has, "AGENTS.md") || !strings.Contains(has, "openrouter-api-key") {
		t.Errorf("the home has:\n%s", has)
	}
}

// tree are the files in folders of a home, and their contents.
func tree(t *testing.T, home string, folders ...string) (all string) {
	t.Helper()
	for _, name := range folders {
		if err := os.MkdirAll(filepath.Join(home, name), 0o700); err != nil {
			t.Fatal(err)
		}
		all += files(t, filepath.Join(home, name))
	}
	return all
}
