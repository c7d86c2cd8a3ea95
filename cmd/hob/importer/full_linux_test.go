package importer_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"hob/cmd/hob/importer"
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

// mounted mounts an empty disk at a folder until the test ends.
func mounted(t *testing.T, dir string, flags uintptr) {
	t.Helper()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=24m,mode=0700"); err != nil {
		t.Skipf("no right to mount a small disk: %v", err)
	}
	t.Cleanup(func() { unmount(t, dir) })
}

// unmount takes the disk away again, if it is there.
func unmount(t *testing.T, dir string) {
	t.Helper()
	if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
		t.Error(err)
	}
}

// stopped are the items that failed, by kind and name. The exit code says whether there are some, and no reason is in the words of the system.
func stopped(t *testing.T, home, dir, reason string) map[string]bool {
	t.Helper()
	list, code := imported(t, home, dir)
	failed := map[string]bool{}
	for _, it := range list {
		if it.State != "failed" {
			continue
		}
		failed[it.Kind+" "+it.From] = true
		if !strings.Contains(it.Why, reason) {
			t.Errorf("%s %s failed because: %s", it.Kind, it.From, it.Why)
		}
		for _, raw := range []string{"no space left", "read-only file system", "permission denied", "no such file", "openat", home, ".tmp"} {
			if strings.Contains(it.Why, raw) {
				t.Errorf("%s %s is explained with %q: %s", it.Kind, it.From, raw, it.Why)
			}
		}
	}
	if wanted := min(len(failed), 1); code != wanted {
		t.Errorf("%d items failed and the exit code is %d", len(failed), code)
	}
	return failed
}

// On a full disk each item fails with the reason, and nothing half-written remains. When there is room again, the same command carries everything.
func TestImportOnAFullDisk(t *testing.T) {
	dir, home := clawHome(t, clawLater), emptyHome(t)
	mounted(t, home, 0)
	running(t, home)
	if has := tree(t, home, "workspace", "secrets"); has != "" {
		t.Fatalf("a new home has:\n%s", has)
	}
	taken := fill(t, home)
	wanted := stopped(t, home, dir, "the disk is full")
	code, text := run(t, home, dir, false)
	for _, want := range []string{"\nfailed:\n  file    workspace/AGENTS.md (workspace/AGENTS.md cannot be written: the disk is full: nothing was stored; free some space)\n", " items failed\n", "run the same command again"} {
		if !strings.Contains(text, want) || strings.Contains(text, "\nimported:") || code != 1 {
			t.Errorf("exit code %d, and %q is missing, or something is imported, in\n%s", code, want, text)
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
	list, code := imported(t, home, dir)
	if code != 0 {
		t.Errorf("with room the exit code is %d", code)
	}
	for _, it := range list {
		if key := it.Kind + " " + it.From; (it.State == "imported") != wanted[key] {
			t.Errorf("with room %s is %s (%s)", key, it.State, it.Why)
		}
	}
	if has := tree(t, home, "workspace", "secrets"); strings.Contains(has, ".tmp") || !strings.Contains(has, "AGENTS.md") || !strings.Contains(has, "openrouter-api-key") {
		t.Errorf("the home has:\n%s", has)
	}
}

// A folder of hob's home on a read-only disk: what belongs elsewhere is imported, and the same command carries the rest later.
func TestImportIntoAReadOnlyFolder(t *testing.T) {
	dir, home := clawHome(t, clawLater), emptyHome(t)
	running(t, home)
	for name, kind := range map[string]string{"workspace": "file", "secrets": "secret"} {
		at := filepath.Join(home, name)
		if err := os.MkdirAll(at, 0o700); err != nil {
			t.Fatal(err)
		}
		mounted(t, at, syscall.MS_RDONLY)
		failed := stopped(t, home, dir, "the disk is mounted read-only; mount it with write access")
		for key := range failed {
			if one, _, _ := strings.Cut(key, " "); one != kind && (kind != "file" || one != "skill") {
				t.Errorf("%s failed because of %s", key, name)
			}
		}
		if len(failed) == 0 {
			t.Errorf("nothing failed with a read-only %s", name)
		}
		unmount(t, at)
		if failed := stopped(t, home, dir, ""); len(failed) > 0 {
			t.Errorf("with a writable %s there failed %v", name, failed)
		}
	}
}

// unreadable makes a function run as a user who has no right to the files of the test. Only this thread is that user.
func unreadable(t *testing.T, during func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	runtime.LockOSThread() // it ends with the test
	defer func() {
		if err := syscall.Setfsuid(0); err != nil {
			t.Error(err)
		}
	}()
	if err := syscall.Setfsuid(65534); err != nil {
		t.Fatal(err)
	}
	during()
}

// What must not be read fails, with its own line, and the rest is planned.
func TestPlanWithoutPermission(t *testing.T) {
	dir := clawHome(t, clawLater)
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // #nosec G302 -- somebody else reads in it
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		mode := os.FileMode(0o644)
		if e.IsDir() {
			mode = 0o755
		}
		for _, secret := range []string{"AGENTS.md", ".env", "jobs.json", "state", "credentials", filepath.Join("workspace", "memory")} {
			if strings.HasSuffix(name, secret) {
				mode = 0
			}
		}
		return errors.Join(err, os.Lchown(name, 0, 0), os.Chmod(name, mode)) // #nosec G122 -- the files of this test
	})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	unreadable(t, func() { got = lines(t, "openclaw", dir, true) })
	for _, want := range []string{"file workspace/AGENTS.md", "other .env", "other cron/jobs.json", "other state/openclaw.sqlite", "other credentials", "other workspace/memory"} {
		if want = "failed " + want + " ->  (it cannot be read: access to the file is denied; look at its owner"; !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if !strings.Contains(got, "imported file workspace/SOUL.md") || strings.Contains(got, "permission denied") {
		t.Errorf("a readable file is missing, or an error is raw:\n%s", got)
	}
}

// A skill is imported without its hidden files, so they need not be readable.
func TestHiddenFilesOfASkillAreNotRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), mode), os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o755)); err != nil { // #nosec G301 G302 -- somebody else reads in it
			t.Fatal(err)
		}
	}
	write("SKILL.md", 0o644)
	write(".env", 0)
	write(".git/config", 0)
	if err := os.Chmod(filepath.Join(dir, ".git"), 0); err != nil {
		t.Fatal(err)
	}
	var hidden, shown error
	unreadable(t, func() { hidden = importer.Readable(dir) })
	write("notes.md", 0)
	unreadable(t, func() { shown = importer.Readable(dir) })
	if hidden != nil || !errors.Is(shown, fs.ErrPermission) {
		t.Errorf("hidden: %v; shown: %v", hidden, shown)
	}
	if err := os.Chmod(dir, 0o444); err != nil { // #nosec G302 -- somebody else reads the names in it
		t.Fatal(err)
	}
	unreadable(t, func() { shown = importer.Readable(dir) })
	if !errors.Is(shown, fs.ErrPermission) {
		t.Errorf("a closed folder: %v", shown)
	}
}

// A skill is copied after the plan was made, so it can disappear, or a file of it can lose its permissions. Either is said, and a repeated import does the rest.
func TestSourceThatDisappears(t *testing.T) {
	dir, home := clawHome(t, clawLater), emptyHome(t)
	running(t, home)
	r, err := importer.ReadPlan(t.Context(), "openclaw", dir, true)
	if err != nil {
		t.Fatal(err)
	}
	away := dir + "-away"
	if err := os.Rename(dir, away); err != nil {
		t.Fatal(err)
	}
	if err := importer.Carry(t.Context(), home, &r); err != nil {
		t.Fatal(err)
	}
	for _, it := range r.Items {
		switch {
		case it.Kind == "skill" && (it.State != "failed" || it.Why != "it cannot be read: it was moved or removed meanwhile"):
			t.Errorf("the skill %s is %s: %s", it.From, it.State, it.Why)
		case it.Kind != "skill" && it.State == "failed":
			t.Errorf("%s %s, which was read before, is %s: %s", it.Kind, it.From, it.State, it.Why)
		}
	}
	if err := os.Rename(away, dir); err != nil {
		t.Fatal(err)
	}
	if failed := stopped(t, home, dir, ""); len(failed) > 0 {
		t.Errorf("the second time there failed %v", failed)
	}
	if has := tree(t, home, "workspace"); !strings.Contains(has, "tidy/SKILL.md") {
		t.Errorf("the workspace has:\n%s", has)
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
