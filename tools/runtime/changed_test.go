//go:build unix

package runtime_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/fsguard"
	"hob/tools/runtime"
)

func put(t *testing.T, path string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(path), 0o600)); err != nil {
		t.Fatal(err)
	}
}

// later waits until files are stamped with a later time than those that are there, which may be a little ahead of the clock, and
// returns that time.
func later() time.Time {
	for was := runtime.FileClock(); ; {
		if now := runtime.FileClock(); now.Sub(was) > 20*time.Millisecond {
			return now
		}
	}
}

func TestChanged(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(top, name) }
	g, err := fsguard.New(fsguard.Config{Workspace: at("ws"), State: at("state"), Roots: []fsguard.Root{
		{Path: at("rw"), Write: true}, {Path: at("rw/inner"), Write: true}, {Path: at("ro")}, {Path: at("ws"), Write: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ws/old", "ws/moved/x", "ws/.scratch/x", "ws/attachments/1/x", "rw/inner/old", "ro/old", "ws/rights"} {
		put(t, at(name))
	}
	since := later()
	for _, name := range []string{"ws/new", "ws/sub/new", "ws/.scratch/y", "ws/attachments/2/y", "rw/inner/new", "ro/new", "out/new"} {
		put(t, at(name))
	}
	err = errors.Join(os.Rename(at("ws/moved"), at("ws/there")), os.Symlink("old", at("ws/link")), os.Chmod(at("ws/rights"), 0o400), os.Chtimes(at("ws/new"), time.Time{}, since.Add(-time.Hour)))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, path := range runtime.ChangedFiles(g, since) {
		got = append(got, strings.TrimPrefix(path, top+"/"))
	}
	want := []string{"rw/inner/new", "ws/link", "ws/new", "ws/rights", "ws/sub", "ws/sub/new", "ws/there"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for name, touched := range map[string]bool{"ws/new": true, "ws/link": true, "ws/there/x": true, "ws/old": false, "ws/none": false, "ws/sub": true, "ws/attachments": false} {
		if runtime.Touched(at(name), since) != touched {
			t.Errorf("%s: touched %v", name, !touched)
		}
	}
}

func TestVersion(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	version := func(path string) string {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return runtime.FileVersion(info)
	}
	put(t, path)
	folder, first := version(dir), version(path)
	later()
	if version(path) != first {
		t.Error("it changed by itself")
	}
	for name, change := range map[string]func() error{
		"written": func() error { return os.WriteFile(path, []byte(path), 0o600) },
		"replaced": func() error {
			return errors.Join(os.WriteFile(path+"2", []byte(path), 0o600), os.Rename(path+"2", path))
		},
		"rights": func() error { return os.Chmod(path, 0o400) },
	} {
		was := version(path)
		later()
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if version(path) == was {
			t.Errorf("%s: the same version", name)
		}
	}
	if version(dir) != folder {
		t.Error("a folder with other files is another one")
	}
}
