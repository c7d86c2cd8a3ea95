//go:build unix

package walk_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"hob/daemon/walk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// visitor records what it gets.
type visitor struct {
	folder func(d *walk.Dir, entries []walk.Entry) []walk.Entry // nil: continue with all entries
	file   func(d *walk.Dir, e walk.Entry)                      // nil: record the path

	mu     sync.Mutex
	files  []string
	failed map[string]error
}

func (v *visitor) Folder(d *walk.Dir, entries []walk.Entry) []walk.Entry {
	if v.folder != nil {
		return v.folder(d, entries)
	}
	return entries
}

func (v *visitor) File(_ int, d *walk.Dir, e walk.Entry) {
	if v.file != nil {
		v.file(d, e)
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.files = append(v.files, d.Child(e.Name))
}

func (v *visitor) Failed(path string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failed == nil {
		v.failed = map[string]error{}
	}
	v.failed[path] = err
}

func (v *visitor) walk(ctx context.Context, t testing.TB, dir string) error {
	t.Helper()
	root, err := os.OpenRoot(dir)
	must(t, err)
	defer func() { must(t, root.Close()) }()
	return walk.Walk(ctx, root, v)
}

// put makes files in a new folder, with the folders that they need.
func put(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		path := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, []byte(name), 0o600))
	}
	return dir
}

func many(folders, files int) []string {
	var names []string
	for i := range folders {
		for j := range files {
			names = append(names, fmt.Sprintf("d%d/e/f%d", i, j))
		}
	}
	return names
}

// open returns the number of open descriptors of the process; 0: unknown.
func open() int {
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(list)
}

func TestFindsEachFileOnce(t *testing.T) {
	names := append(many(20, 60), many(1, 300)...) // more in one folder than a worker takes at once
	slices.Sort(names)
	names = slices.Compact(names)
	dir := put(t, names...)
	must(t, os.Symlink("d1", filepath.Join(dir, "linked")))
	must(t, os.Symlink("d1/e/f1", filepath.Join(dir, "link")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	before := open()
	v := &visitor{}
	must(t, v.walk(t.Context(), t, dir))
	slices.Sort(v.files)
	if !slices.Equal(v.files, names) { // no link, no pipe, each once
		t.Errorf("%d files, want %d", len(v.files), len(names))
	}
	if after := open(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestEndsWhenCancelled(t *testing.T) {
	dir := put(t, many(50, 50)...)
	before := open()
	ctx, cancel := context.WithCancel(t.Context())
	var told atomic.Int64
	v := &visitor{file: func(*walk.Dir, walk.Entry) {
		if told.Add(1) == 10 {
			cancel()
		}
	}}
	if err := v.walk(ctx, t, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := told.Load(); n < 10 || n >= 10+int64(walk.Workers()) {
		t.Errorf("%d files, cancelled at the tenth", n)
	}
	if after := open(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestGoesOnBehindWhatCannotBeRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("the super user reads everything")
	}
	dir := put(t, "a/x", "b/x", "c/x")
	must(t, os.Chmod(filepath.Join(dir, "b"), 0))
	t.Cleanup(func() { must(t, os.Chmod(filepath.Join(dir, "b"), 0o700)) }) //nolint:gosec // a folder
	v := &visitor{}
	must(t, v.walk(t.Context(), t, dir))
	slices.Sort(v.files)
	if !slices.Equal(v.files, []string{"a/x", "c/x"}) || len(v.failed) != 1 || !errors.Is(v.failed["b"], fs.ErrPermission) {
		t.Errorf("files %q, failed %v", v.files, v.failed)
	}
}

// A folder whose name belongs to something else by then is skipped: silently if it is gone, with an error if it cannot be entered. A link
// is never followed.
func TestFoldersThatChangeOnTheWay(t *testing.T) {
	dir, away := put(t, "gone/x", "link/x", "stays/x"), put(t, "secret")
	v := &visitor{}
	v.folder = func(d *walk.Dir, entries []walk.Entry) []walk.Entry {
		if d.Path == "" {
			must(t, os.RemoveAll(filepath.Join(dir, "gone")))
			must(t, os.RemoveAll(filepath.Join(dir, "link")))
			must(t, os.Symlink(away, filepath.Join(dir, "link")))
		}
		return entries
	}
	must(t, v.walk(t.Context(), t, dir))
	if !slices.Equal(v.files, []string{"stays/x"}) {
		t.Errorf("files %q", v.files)
	}
	if _, told := v.failed["gone"]; told || len(v.failed) > 1 {
		t.Errorf("failed %v", v.failed)
	}
}

// A file may be replaced between the reading of its folder and its opening. The replacement is not opened if it is not a regular file;
// otherwise its own Info is returned.
func TestFilesThatChangeOnTheWay(t *testing.T) {
	dir, away := put(t, "link", "pipe", "dir", "other", "same"), put(t, "secret")
	results := map[string]error{}
	var v *visitor
	v = &visitor{file: func(d *walk.Dir, e walk.Entry) {
		path := filepath.Join(dir, e.Name)
		must(t, os.Rename(path, path+".old"))
		switch e.Name {
		case "link":
			must(t, os.Symlink(filepath.Join(away, "secret"), path))
		case "pipe":
			must(t, syscall.Mkfifo(path, 0o600))
		case "dir":
			must(t, os.Mkdir(path, 0o700))
		case "other":
			must(t, os.Link(filepath.Join(away, "secret"), path))
		case "same":
			must(t, os.Rename(path+".old", path))
		}
		f, err := d.Open(e.Name)
		v.mu.Lock()
		defer v.mu.Unlock()
		results[e.Name] = err
		if err != nil {
			return
		}
		if want := e.Name == "other"; (f.Links == 2) != want || e.Inode != 0 && (f.Inode != e.Inode) != want {
			t.Errorf("%s: %+v, listed as %d", e.Name, f.Info, e.Inode)
		}
		must(t, f.Close())
	}}
	must(t, v.walk(t.Context(), t, dir))
	for name, want := range map[string]bool{"link": false, "pipe": false, "dir": false, "other": true, "same": true} {
		if err, told := results[name]; !told || (err == nil) != want {
			t.Errorf("%s: told %v, error %v", name, told, err)
		}
	}
}

// On common file systems the inode in a folder's listing is the file's own.
func TestEntriesCarryTheirInode(t *testing.T) {
	dir := put(t, "x")
	v := &visitor{file: func(d *walk.Dir, e walk.Entry) {
		info, err := d.Stat(e.Name)
		must(t, err)
		if e.Inode != 0 && e.Inode != info.Inode || info.Device == 0 || info.Links != 1 || info.Size != 1 {
			t.Errorf("entry %+v, info %+v", e, info)
		}
	}}
	must(t, v.walk(t.Context(), t, dir))
}

func TestReadsFromAnyPlace(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("0123456789", 10_000)
	must(t, os.WriteFile(filepath.Join(dir, "x"), []byte(text), 0o600))
	v := &visitor{file: func(d *walk.Dir, e walk.Entry) {
		f, err := d.Open(e.Name)
		must(t, err)
		part := make([]byte, 100)
		if n, err := f.ReadAt(part, 4321); n != 100 || err != nil || string(part) != text[4321:4421] {
			t.Errorf("%d bytes, %v: %q", n, err, part)
		}
		if n, err := f.ReadAt(part, int64(len(text)-7)); n != 7 || !errors.Is(err, io.EOF) {
			t.Errorf("over the end: %d bytes, %v", n, err)
		}
		if all, err := io.ReadAll(f); err != nil || string(all) != text {
			t.Errorf("read %d bytes, %v", len(all), err)
		}
		must(t, f.Close())
	}}
	must(t, v.walk(t.Context(), t, dir))
}

func TestPanicIsAnError(t *testing.T) {
	dir := put(t, many(5, 5)...)
	before := open()
	v := &visitor{file: func(*walk.Dir, walk.Entry) { panic("oh") }}
	if err := v.walk(t.Context(), t, dir); err == nil || !strings.Contains(err.Error(), "oh") {
		t.Errorf("error %v", err)
	}
	if after := open(); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}
