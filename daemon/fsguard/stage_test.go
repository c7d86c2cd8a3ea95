//go:build unix

package fsguard_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/fsguard"
)

func TestStage(t *testing.T) {
	w := newHomeFolder(t)
	must(t, os.Chmod(w.space+"/a.txt", 0o751)) //nolint:gosec // the bits are what is tested
	like, err := os.Lstat(w.space + "/a.txt")
	must(t, err)
	for _, c := range []struct {
		path string
		like fs.FileInfo
		mode fs.FileMode
	}{
		{"a.txt", nil, 0o751},
		{"new/deep/b.txt", nil, 0o644},
		{"new/c.txt", like, 0o751},
	} {
		p, err := w.Resolve("", c.path)
		must(t, err)
		temp := fsguard.TempName(filepath.Base(c.path))
		s, err := w.Stage(p, temp, fsguard.Bytes([]byte("new content")), c.like)
		must(t, err)
		if old, err := os.ReadFile(p.Path); p.Exists() && string(old) != "content of a.txt" || err == nil != p.Exists() {
			t.Errorf("%s: staging shows already: %q %v", c.path, old, err)
		}
		if !fsguard.IsTemp(temp) || s.Place().Path != p.Path {
			t.Errorf("%s: %s, %s", c.path, temp, s.Place().Path)
		}
		must(t, errors.Join(s.Check(), s.Apply(), s.Sync(), s.Close()))
		got, err := os.ReadFile(p.Path)
		must(t, err)
		info, err := os.Lstat(p.Path)
		must(t, err)
		if string(got) != "new content" || info.Mode().Perm() != c.mode || !os.SameFile(info, s.Temp()) || fsguard.Identity(info) != fsguard.Identity(s.Temp()) {
			t.Errorf("%s: %q %v", c.path, got, info.Mode())
		}
	}
	clean(t, w.top)
}

func TestMissingFolders(t *testing.T) {
	w := newHomeFolder(t)
	for path, want := range map[string]string{"a.txt": "", "sub/x": "", "sub/x/y/z": "sub/x sub/x/y"} {
		p, err := w.Resolve("", path)
		must(t, err)
		var got []string
		for _, dir := range fsguard.Missing(p) {
			got = append(got, strings.TrimPrefix(dir, w.space+"/"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// Restore brings back the file that Keep kept, with its own identity where there are hard links, and removes a file that was new.
func TestStagedChangesCanBeUndone(t *testing.T) {
	w := newHomeFolder(t)
	for path, remove := range map[string]bool{"a.txt": false, "sub/b.txt": true, "new.txt": false} {
		p, err := w.Resolve("", path)
		must(t, err)
		var s *fsguard.Staged
		if remove {
			s, err = w.StageRemoval(p)
		} else {
			s, err = w.Stage(p, fsguard.TempName(filepath.Base(path)), fsguard.Bytes([]byte("x")), nil)
		}
		must(t, err)
		old := fsguard.TempName(filepath.Base(path))
		must(t, errors.Join(s.Keep(old), s.Apply()))
		if _, err := os.Lstat(p.Path); (err != nil) != remove {
			t.Errorf("%s: %v", path, err)
		}
		must(t, errors.Join(s.Restore(old), s.Forget(old), s.Discard()))
		now, err := os.Lstat(p.Path)
		if (err == nil) != p.Exists() || err == nil && !os.SameFile(now, p.Info) {
			t.Errorf("%s: %v", path, err)
		}
	}
	clean(t, w.top)
}

func TestStageRefuses(t *testing.T) {
	w := newHomeFolder(t)
	w.link(t, "nothing", "dangle")
	for path, want := range map[string]error{"../state/hob.db": fsguard.ErrState, "sub": fsguard.ErrRegular, "dangle": fsguard.ErrDangle} {
		p, err := w.Resolve("", path)
		must(t, err)
		if _, err := w.Stage(p, fsguard.TempName("x"), fsguard.Bytes(nil), nil); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if path != "dangle" {
			if _, err := w.StageRemoval(p); !errors.Is(err, want) {
				t.Errorf("remove %s: %v, want %v", path, err, want)
			}
		}
	}
	gone, err := w.Resolve("", "missing")
	must(t, err)
	if _, err := w.StageRemoval(gone); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	// A folder that became a link after it was classified is not followed.
	p, err := w.Resolve("", "sub/deep/x.txt")
	must(t, err)
	must(t, os.Rename(w.space+"/sub", w.space+"/sub.was"))
	w.link(t, w.ro, "sub")
	must(t, os.Mkdir(w.ro+"/deep", 0o700))
	if _, err := w.Stage(p, fsguard.TempName("x.txt"), fsguard.Bytes([]byte("x")), nil); !errors.Is(err, fsguard.ErrMoved) {
		t.Errorf("a swapped folder: %v", err)
	}
	clean(t, w.top)
}
