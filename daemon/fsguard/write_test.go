//go:build unix

package fsguard_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/fsguard"
)

func TestWriteFile(t *testing.T) {
	w := newHomeFolder(t)
	w.link(t, "nothing", "dangle")
	w.link(t, w.top+"/new-outside", "dangle-out")
	w.link(t, "a.txt", "to-a")
	w.link(t, w.state, "to-state")
	must(t, os.Link(w.state+"/hob.db", w.space+"/hard-db"))
	must(t, os.Link(w.home+"/docs/x.txt", w.space+"/hard-x"))
	must(t, syscall.Mkfifo(w.space+"/fifo", 0o600))
	must(t, os.Chmod(w.space+"/sub/b.txt", 0o751)) //nolint:gosec // the bits are what is tested
	for _, c := range []struct {
		path string
		only bool
		want error
		mode fs.FileMode
	}{
		{path: "new.txt", mode: 0o640},
		{path: "a.txt", mode: 0o600},
		{path: "sub/b.txt", mode: 0o751},
		{path: "x/y/z/new.txt", mode: 0o640},
		{path: "to-a", mode: 0o600},
		{path: "~/docs/new.txt", mode: 0o640},
		{path: "~/projects/new/q.go", mode: 0o640},
		{path: "hard-x", mode: 0o600},
		{path: "only-new.txt", only: true, mode: 0o640},
		{path: "a.txt", only: true, want: fsguard.ErrExists},
		{path: "dangle", want: fsguard.ErrDangle},
		{path: "dangle-out", want: fsguard.ErrDangle},
		{path: "fifo", want: fsguard.ErrRegular},
		{path: "sub", want: fsguard.ErrRegular},
		{path: "../state/x", want: fsguard.ErrState},
		{path: "to-state/x", want: fsguard.ErrState},
		{path: "hard-db", want: fsguard.ErrState},
		{path: "to-state/new/x", want: fsguard.ErrState},
	} {
		p, err := w.Resolve("", c.path)
		must(t, err)
		opts := []fsguard.Option{}
		if c.only {
			opts = append(opts, fsguard.NewOnly)
		}
		info, err := w.WriteFile(p, []byte("content of now"), 0o640, opts...)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.path, err, c.want)
		}
		if err != nil {
			continue
		}
		got, err := os.ReadFile(p.Path)
		must(t, err)
		now, err := os.Lstat(p.Path)
		must(t, err)
		if string(got) != "content of now" || now.Mode().Perm() != c.mode || !os.SameFile(now, info) {
			t.Errorf("%s: %q, %v", c.path, got, now.Mode())
		}
	}
	if got, err := os.ReadFile(w.home + "/docs/x.txt"); err != nil || string(got) != "content of x.txt" {
		t.Errorf("the other name of a hard link was written through: %q %v", got, err)
	}
	if _, err := os.Lstat(w.top + "/new-outside"); err == nil {
		t.Error("a dangling link was followed")
	}
	clean(t, w.top)
}

// clean checks that no temporary file is left anywhere.
func clean(t *testing.T, top string) {
	t.Helper()
	must(t, filepath.WalkDir(top, func(path string, _ fs.DirEntry, err error) error {
		if fsguard.IsTemp(filepath.Base(path)) {
			t.Errorf("left behind: %s", path)
		}
		return err
	}))
}

func TestAFolderThatWasSwappedIsNotWrittenInto(t *testing.T) {
	for name, path := range map[string]string{"there already": "sub/b.txt", "new": "sub/new.txt", "new folder": "sub/more/new.txt"} {
		t.Run(name, func(t *testing.T) {
			w := newHomeFolder(t)
			p, err := w.Resolve("", path)
			must(t, err)
			must(t, os.Rename(w.space+"/sub", w.space+"/aside"))
			w.link(t, w.home+"/docs", "sub")
			if _, err := w.WriteFile(p, []byte("x"), 0o600); !errors.Is(err, fsguard.ErrMoved) {
				t.Errorf("%v, want %v", err, fsguard.ErrMoved)
			}
			list, err := os.ReadDir(w.home + "/docs")
			must(t, err)
			if len(list) != 1 {
				t.Errorf("something was made in the other folder: %v", list)
			}
		})
	}
}

func TestOnlyOneOfManyMakesANewFile(t *testing.T) {
	w := newHomeFolder(t)
	p, err := w.Resolve("", "once.txt")
	must(t, err)
	results := make(chan error)
	for i := range 8 {
		go func() {
			_, err := w.WriteFile(p, fmt.Appendf(nil, "content of %d", i), 0o600, fsguard.NewOnly)
			results <- err
		}()
	}
	made := 0
	for range 8 {
		if err := <-results; err == nil {
			made++
		} else if !errors.Is(err, fsguard.ErrExists) {
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d made it", made)
	}
	clean(t, w.top)
}

func TestAFailedWriteLeavesTheOldFileAndNothingElse(t *testing.T) {
	w := newHomeFolder(t)
	if os.Getuid() == 0 {
		// root may write everywhere, so a name that is too long for the file system provides the failure
		p, err := w.Resolve("", "a.txt")
		must(t, err)
		must(t, os.Rename(w.space, w.space+".gone"))
		must(t, os.WriteFile(w.space, nil, 0o600))
		if _, err := w.WriteFile(p, []byte("x"), 0o600); err == nil {
			t.Error("written into a file as if it were a folder")
		}
		return
	}
	must(t, os.Chmod(w.space, 0o500)) //nolint:gosec // the bits are what is tested
	p, err := w.Resolve("", "a.txt")
	must(t, err)
	if _, err := w.WriteFile(p, []byte("x"), 0o600); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
	must(t, os.Chmod(w.space, 0o700)) //nolint:gosec // the bits are what is tested
	clean(t, w.top)
}

func TestSweepRemovesOnlyTheFilesOwnLeftovers(t *testing.T) {
	w := newHomeFolder(t)
	p, err := w.Resolve("", "a.txt")
	must(t, err)
	_, err = w.WriteFile(p, []byte("x"), 0o600)
	must(t, err)
	mine, other := w.space+"/"+tempOf(t, w)+"0123456789ab.tmp", w.space+"/.hob-00000000-0123456789ab.tmp"
	for _, f := range []string{mine, other} {
		must(t, os.WriteFile(f, nil, 0o600))
	}
	must(t, w.Sweep(p))
	if _, err := os.Lstat(mine); err == nil {
		t.Error("its leftover is still there")
	}
	if _, err := os.Lstat(other); err != nil {
		t.Error("another file's leftover is gone")
	}
	missing, err := w.Resolve("", "no/such/folder/x")
	must(t, err)
	must(t, w.Sweep(missing))
}

// tempOf finds the prefix of the temporary files of a.txt by watching writes.
func tempOf(t *testing.T, w homeFolder) string {
	t.Helper()
	seen := make(chan string, 1)
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			list, _ := os.ReadDir(w.space)
			for _, e := range list {
				if fsguard.IsTemp(e.Name()) {
					select {
					case seen <- e.Name():
					default:
					}
				}
			}
		}
	}()
	defer close(stop)
	p, err := w.Resolve("", "a.txt")
	must(t, err)
	big := make([]byte, 8<<20)
	for {
		_, err = w.WriteFile(p, big, 0o600)
		must(t, err)
		select {
		case name := <-seen:
			return name[:strings.LastIndexByte(name, '-')+1]
		default:
		}
	}
}
