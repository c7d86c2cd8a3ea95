//go:build unix

package fsguard_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"hob/daemon/fsguard"
)

// world is a home folder with hob's folders and traps in it.
type world struct {
	*fsguard.Guard
	top, home, space, state, rw, ro string
}

func newWorld(t testing.TB) world {
	t.Helper()
	top, err := os.MkdirTemp("", "guard") // not TempDir: its name has the test's name in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	if top, err = filepath.EvalSymlinks(top); err != nil {
		t.Fatal(err)
	}
	w := world{top: top, home: top + "/home", state: top + "/home/.hob/state", space: top + "/home/.hob/workspace", rw: top + "/home/projects", ro: top + "/home/Downloads"}
	for _, d := range []string{w.space + "/sub/deep", w.state + "/run", w.rw + "/inner", w.ro, w.home + "/.ssh", w.home + "/docs", w.home + "/.config/gcloud", w.top + "/etc"} {
		must(t, os.MkdirAll(d, 0o700))
	}
	for _, f := range []string{
		w.space + "/a.txt", w.space + "/sub/b.txt", w.space + "/.env", w.space + "/ünï ☃.txt", w.state + "/hob.db", w.state + "/token", w.home + "/.ssh/config",
		w.home + "/docs/x.txt", w.rw + "/p.go", w.ro + "/d.pdf", w.top + "/etc/passwd", w.home + "/.hob/config.toml", w.space + "/-rf", w.space + "/..dots",
	} {
		must(t, os.WriteFile(f, []byte("content of "+filepath.Base(f)), 0o600))
	}
	w.Guard, err = fsguard.New(fsguard.Config{
		Workspace: w.space, State: w.state, Home: w.home, Roots: []fsguard.Root{{Path: "~/projects", Write: true}, {Path: w.ro}},
	})
	must(t, err)
	return w
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w world) link(t testing.TB, target, name string) {
	t.Helper()
	must(t, os.Symlink(target, filepath.Join(w.space, name)))
}

func TestPayloads(t *testing.T) {
	w := newWorld(t)
	for name, target := range map[string]string{
		"to-a": "a.txt", "to-state": w.state, "to-db": w.state + "/hob.db", "to-home": w.home, "to-root": "/", "up": "..", "to-etc": "../../../etc/passwd",
		"chain1": "chain2", "chain2": "chain3", "chain3": w.state + "/token", "loop1": "loop2", "loop2": "loop1", "self": "self",
		"dangle": "nothing-here", "dangle-out": w.top + "/outside-new", "dangle-state": w.state + "/new", "dangle-deep": "no/such/folder/x", "to-dangle": "dangle",
		"to-proc": "/proc/self/fd", "to-ssh": w.home + "/.ssh", "sub/up2": "../..", "abs-a": w.space + "/a.txt", "to-projects": w.rw, "dots": "./sub/../sub/./b.txt",
	} {
		w.link(t, target, name)
	}
	must(t, os.Link(w.state+"/hob.db", w.space+"/hard-db"))
	must(t, os.Link(w.state+"/token", w.home+"/docs/hard-token"))
	must(t, os.Link(w.space+"/a.txt", w.space+"/hard-a"))
	must(t, syscall.Mkfifo(w.space+"/fifo", 0o600))
	sock, err := net.Listen("unix", w.space+"/sock")
	must(t, err)
	defer sock.Close()
	db, err := os.Open(w.top + "/etc/passwd")
	must(t, err)
	defer db.Close()

	const (
		ws, state, out, sens, rw, ro = fsguard.Workspace, fsguard.State, fsguard.Outside, fsguard.Sensitive, fsguard.RootRW, fsguard.RootRO
	)
	long := strings.Repeat("x", 255)
	for _, c := range []struct {
		path string
		area fsguard.Area
		open error // nil: it can be read; errAny: judged, but not opened here
		bad  error // Resolve refuses it
	}{
		// plain
		{path: "a.txt", area: ws},
		{path: "./a.txt", area: ws},
		{path: "sub/b.txt", area: ws},
		{path: "sub//b.txt", area: ws},
		{path: "sub/./../a.txt", area: ws},
		{path: "sub/deep/../../a.txt", area: ws},
		{path: "ünï ☃.txt", area: ws},
		{path: "-rf", area: ws},
		{path: "..dots", area: ws},
		{path: "hard-a", area: ws},
		{path: w.space + "/a.txt", area: ws},
		{path: "/" + w.space + "//a.txt", area: ws},
		{path: "~/.hob/workspace/a.txt", area: ws},
		{path: "to-a", area: ws},
		{path: "abs-a", area: ws},
		{path: "dots", area: ws},
		{path: ".", area: ws, open: fsguard.ErrRegular},
		{path: "sub", area: ws, open: fsguard.ErrRegular},
		{path: "../workspace/a.txt", area: ws},
		{path: "sub/up2/workspace/a.txt", area: ws},
		// missing
		{path: "none.txt", area: ws, open: fs.ErrNotExist},
		{path: "no/such/x", area: ws, open: fs.ErrNotExist},
		{path: "no/../a.txt", area: ws},
		{path: "~x", area: ws, open: fs.ErrNotExist},
		{path: long, area: ws, open: fs.ErrNotExist},
		{path: "a\u202etxt", area: ws, open: fs.ErrNotExist},
		{path: "A.TXT", area: ws, open: fs.ErrNotExist},
		{path: "dangle", area: ws, open: fs.ErrNotExist},
		{path: "to-dangle", area: ws, open: fs.ErrNotExist},
		{path: "dangle-out", area: out, open: fs.ErrNotExist},
		{path: "dangle-deep", area: ws, open: fs.ErrNotExist},
		// no path
		{path: "", bad: fsguard.ErrPath},
		{path: "a\x00.txt", bad: fsguard.ErrPath},
		{path: "\x00", bad: fsguard.ErrPath},
		{path: long + "y", bad: fsguard.ErrPath},
		{path: strings.Repeat("a/", 3000), bad: fsguard.ErrPath},
		{path: "loop1", bad: fsguard.ErrLoop},
		{path: "self", bad: fsguard.ErrLoop},
		{path: "loop1/../a.txt", bad: fsguard.ErrLoop},
		{path: "a.txt/x", bad: fsguard.ErrFolder},
		{path: "a.txt/..", bad: fsguard.ErrFolder},
		{path: "a.txt/../a.txt", bad: fsguard.ErrFolder},
		// outside
		{path: "../../docs/x.txt", area: out},
		{path: "~/docs/x.txt", area: out},
		{path: "to-home/docs/x.txt", area: out},
		{path: "to-etc", area: out},
		{path: "../../../etc/passwd", area: out},
		{path: "../../../../../../../../../.." + w.top + "/etc/passwd", area: out},
		{path: "to-root" + w.top + "/etc/passwd", area: out},
		{path: "sub/up2/../docs/x.txt", area: out},
		{path: "~", area: out, open: fsguard.ErrRegular},
		{path: "/", area: out, open: fsguard.ErrRegular},
		{path: "to-root", area: out, open: fsguard.ErrRegular},
		{path: "../config.toml", area: out},
		// roots
		{path: "~/projects/p.go", area: rw},
		{path: "to-projects/p.go", area: rw},
		{path: "~/Downloads/d.pdf", area: ro},
		{path: "~/Downloads/../projects/p.go", area: rw},
		{path: "~/projects2/x", area: out, open: fs.ErrNotExist},
		// state
		{path: "../state/hob.db", area: state, open: fsguard.ErrState},
		{path: "../state", area: state, open: fsguard.ErrState},
		{path: "../state/new/file", area: state, open: fsguard.ErrState},
		{path: "~/.hob/state/token", area: state, open: fsguard.ErrState},
		{path: "to-state/hob.db", area: state, open: fsguard.ErrState},
		{path: "to-db", area: state, open: fsguard.ErrState},
		{path: "chain1", area: state, open: fsguard.ErrState},
		{path: "up/state/hob.db", area: state, open: fsguard.ErrState},
		{path: "dangle-state", area: state, open: fsguard.ErrState},
		{path: "to-home/.hob/state/run/../hob.db", area: state, open: fsguard.ErrState},
		{path: "hard-db", area: state, open: fsguard.ErrState},
		{path: "~/docs/hard-token", area: state, open: fsguard.ErrState},
		{path: "sub/up2/state", area: state, open: fsguard.ErrState},
		{path: w.state + "/hob.db-wal", area: state, open: fsguard.ErrState},
		{path: "../state/../state/hob.db", area: state, open: fsguard.ErrState},
		// sensitive
		{path: "~/.ssh/config", area: sens},
		{path: "to-ssh/config", area: sens},
		{path: ".env", area: sens},
		{path: ".ENV", area: sens, open: fs.ErrNotExist},
		{path: ".env.local", area: sens, open: fs.ErrNotExist},
		{path: "sub/my-Secrets.txt", area: sens, open: fs.ErrNotExist},
		{path: "aws_credentials", area: sens, open: fs.ErrNotExist},
		{path: "~/.aws/x", area: sens, open: fs.ErrNotExist},
		{path: "~/.config/gcloud", area: sens, open: fsguard.ErrRegular},
		{path: "~/.gnupg/x", area: sens, open: fs.ErrNotExist},
		{path: "id_rsa", area: sens, open: fs.ErrNotExist},
		{path: "id_rsa.pub", area: ws, open: fs.ErrNotExist},
		{path: ".ſSH/x", area: sens, open: fs.ErrNotExist},
		{path: "~/Library/Keychains/x", area: sens, open: fs.ErrNotExist},
		{path: "server.key", area: sens, open: fs.ErrNotExist},
		{path: "~/projects/.git-credentials", area: sens, open: fs.ErrNotExist},
		{path: "/etc/shadow", area: sens, open: errAny},
		{path: "environment.md", area: ws, open: fs.ErrNotExist},
		{path: "keynote.md", area: ws, open: fs.ErrNotExist},
		// no regular file
		{path: "fifo", area: ws, open: fsguard.ErrRegular},
		{path: "sock", area: ws, open: fsguard.ErrRegular},
		{path: "/dev/null", area: out, open: fsguard.ErrRegular},
		{path: "/dev/zero", area: out, open: fsguard.ErrRegular},
		{path: "/dev/tty", area: out, open: fsguard.ErrRegular},
		{path: "/dev/stdin", open: errAny},
		{path: "/dev/fd/0", open: errAny},
		// /proc
		{path: "/proc/self/environ", area: state, open: fsguard.ErrState},
		{path: "/proc/self/mem", area: state, open: fsguard.ErrState},
		{path: "/proc/1/environ", area: sens, open: errAny},
		{path: fmt.Sprintf("/proc/%d/environ", os.Getpid()), area: state, open: fsguard.ErrState},
		{path: "/proc/self/cwd/../" + "x", open: errAny},
		{path: fmt.Sprintf("/proc/self/fd/%d", db.Fd()), area: out},
		{path: fmt.Sprintf("to-proc/%d", db.Fd()), area: out},
		{path: "/proc/self/root" + w.state + "/hob.db", area: state, open: fsguard.ErrState},
		{path: "/proc/thread-self/maps", area: state, open: fsguard.ErrState},
	} {
		if strings.HasPrefix(c.path, "/proc") || strings.HasPrefix(c.path, "to-proc") {
			if _, err := os.Stat("/proc/self/fd"); err != nil {
				continue
			}
		}
		p, err := w.Resolve("", c.path)
		if c.bad != nil {
			if !errors.Is(err, c.bad) {
				t.Errorf("%.80q: %v, want %v", c.path, err, c.bad)
			}
			continue
		}
		if err != nil || c.area != "" && p.Area != c.area {
			t.Errorf("%.80q: %s (%s), %v, want %s", c.path, p.Area, p.Path, err, c.area)
			continue
		}
		if c.open != errAny {
			opens(t, w, p, c.path, c.open)
		}
	}
}

var errAny = errors.New("any")

func opens(t *testing.T, w world, p fsguard.Place, path string, want error) {
	t.Helper()
	f, err := w.Open(p)
	if !errors.Is(err, want) {
		t.Errorf("open %.80q: %v, want %v", path, err, want)
	}
	if err != nil {
		return
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil || !strings.HasPrefix(string(got), "content of ") {
		t.Errorf("read %q: %q %v", path, got, err)
	}
}

func TestABindMountOfTheStateIsTheState(t *testing.T) {
	w := newWorld(t)
	for name, source := range map[string]string{"state-mount": w.state, "hob-mount": filepath.Dir(w.state)} {
		at := w.space + "/" + name
		must(t, os.Mkdir(at, 0o700))
		if err := mount(source, at); err != nil {
			t.Skipf("no right to mount here: %v", err)
		}
		t.Cleanup(func() { must(t, unmount(at)) })
	}
	for _, path := range []string{"state-mount/hob.db", "state-mount", "hob-mount/state/hob.db", "hob-mount/state/new"} {
		if p, err := w.Resolve("", path); err != nil || p.Area != fsguard.State {
			t.Errorf("%s: %s %v", path, p.Area, err)
		}
	}
}

func TestOwnConfigurationIsMarked(t *testing.T) {
	w := newWorld(t)
	for path, want := range map[string]bool{"../config.toml": true, "../new.toml": true, "a.txt": false, "~/docs/x.txt": false, "../state/token": false} {
		if p, err := w.Resolve("", path); err != nil || p.Own != want {
			t.Errorf("%s: own %v %v", path, p.Own, err)
		}
	}
}

func TestAWorkspaceBelowAFolderCalledSecretCanBeUsed(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	g, err := fsguard.New(fsguard.Config{Workspace: top + "/secret/ws", State: top + "/state", Home: top})
	must(t, err)
	for path, want := range map[string]fsguard.Area{"x.txt": fsguard.Workspace, "secret.txt": fsguard.Sensitive, "../x.txt": fsguard.Sensitive} {
		if p, err := g.Resolve("", path); err != nil || p.Area != want {
			t.Errorf("%s: %s %v", path, p.Area, err)
		}
	}
}

func TestNewRefusesRelativeFolders(t *testing.T) {
	if _, err := fsguard.New(fsguard.Config{Workspace: "ws", State: "/s"}); err == nil {
		t.Error("relative workspace")
	}
}

func TestASwappedFileIsNotOpened(t *testing.T) {
	w := newWorld(t)
	for name, swap := range map[string]func(path string) error{
		"another file": func(p string) error { return os.WriteFile(p, []byte("other"), 0o600) },
		"a link":       func(p string) error { return os.Symlink(w.state+"/token", p) },
		"a hard link":  func(p string) error { return os.Link(w.state+"/hob.db", p) },
		"a pipe":       func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"a folder":     func(p string) error { return os.Mkdir(p, 0o700) },
		"nothing":      func(string) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			path := w.space + "/victim"
			must(t, os.WriteFile(path, []byte("content of victim"), 0o600))
			p, err := w.Resolve("", "victim")
			must(t, err)
			must(t, os.Rename(path, path+".old")) // keeps the inode taken
			must(t, swap(path))
			if f, err := w.Open(p); err == nil {
				_ = f.Close()
				t.Error("opened what was put in its place")
			}
			must(t, os.RemoveAll(path))
		})
	}
}

// TestSymlinkRace swaps a folder for a link to the state while files in it are read and written. No
// content of the state may be seen, and nothing may be written there.
func TestSymlinkRace(t *testing.T) {
	w := newWorld(t)
	dir, aside := w.space+"/sub", w.space+"/sub.aside"
	must(t, os.WriteFile(w.state+"/b.txt", []byte("STATE"), 0o600))
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if os.Rename(dir, aside) == nil {
				_ = os.Symlink(w.state, dir)
				_ = os.Remove(dir)
				_ = os.Rename(aside, dir)
			}
		}
	}()
	read, refused := 0, 0
	for range 3000 {
		p, err := w.Resolve("", "sub/b.txt")
		if err != nil || p.Area == fsguard.State {
			refused++
			continue
		}
		if f, err := w.Open(p); err == nil {
			got, err := io.ReadAll(f)
			must(t, errors.Join(err, f.Close()))
			if strings.Contains(string(got), "STATE") {
				t.Fatal("read a file of the state folder")
			}
			read++
		}
		if _, err := w.WriteFile(p, []byte("content of b.txt"), 0o600); err != nil {
			refused++
		}
	}
	close(stop)
	<-ended
	got, err := os.ReadFile(w.state + "/b.txt")
	must(t, err)
	if string(got) != "STATE" {
		t.Errorf("a file of the state folder was written: %q", got)
	}
	entries, err := os.ReadDir(w.state)
	must(t, err)
	for _, e := range entries {
		if fsguard.IsTemp(e.Name()) {
			t.Errorf("a temporary file in the state folder: %s", e.Name())
		}
	}
	t.Logf("%d reads, %d refusals", read, refused)
}

func TestWriteFile(t *testing.T) {
	w := newWorld(t)
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

func TestOnlyOneOfManyMakesANewFile(t *testing.T) {
	w := newWorld(t)
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
	w := newWorld(t)
	if os.Getuid() == 0 {
		// root may write everywhere: a name that is too long for the file system stands in for a failure
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
	w := newWorld(t)
	p, err := w.Resolve("", "a.txt")
	must(t, err)
	_, err = w.WriteFile(p, []byte("x"), 0o600)
	must(t, err)
	// the names are those of WriteFile: ".hob-", hash of "a.txt", "-", random, ".tmp"
	mine, other := w.space+"/.hob-d6f8b2a8-0123456789ab.tmp", w.space+"/.hob-00000000-0123456789ab.tmp"
	sum := tempOf(t, w)
	mine = w.space + "/" + sum + "0123456789ab.tmp"
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

// tempOf finds out the prefix by watching a write that cannot be finished.
func tempOf(t *testing.T, w world) string {
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

// Whatever a path is made of, it resolves to an absolute clean path without links, and the judgement of that
// path is the same.
func TestResolvingTwiceIsResolvingOnce(t *testing.T) {
	w := newWorld(t)
	w.link(t, "..", "up")
	w.link(t, "sub/deep", "down")
	w.link(t, w.state, "st")
	w.link(t, "none/x", "dangle")
	part := rapid.SampledFrom([]string{"..", ".", "", "sub", "deep", "up", "down", "st", "dangle", "state", "hob.db", "a.txt", "~", "new", ".ssh", "workspace"})
	rapid.Check(t, func(t *rapid.T) {
		path := strings.Join(rapid.SliceOfN(part, 1, 8).Draw(t, "parts"), "/")
		p, err := w.Resolve("", path)
		if err != nil {
			return
		}
		if !filepath.IsAbs(p.Path) || filepath.Clean(p.Path) != p.Path {
			t.Fatalf("%q resolves to %q", path, p.Path)
		}
		again, err := w.Resolve("/", p.Path)
		if err != nil || again.Path != p.Path || again.Area != p.Area || again.Exists() != p.Exists() {
			t.Fatalf("%q: %+v, then %+v, %v", path, p, again, err)
		}
		if real, err := filepath.EvalSymlinks(p.Path); p.Exists() && (err != nil || real != p.Path) {
			t.Fatalf("%q resolves to %q, which is %q (%v)", path, p.Path, real, err)
		}
	})
}

func FuzzResolve(f *testing.F) {
	w := newWorld(f)
	w.link(f, w.state, "st")
	for _, s := range []string{"a.txt", "../state/hob.db", "st/x", "~/../x", "\x00", "//", "/proc/self/fd/3", "ſ/\u202e/.."} {
		f.Add(s)
	}
	state, err := os.Lstat(w.state)
	must(f, err)
	f.Fuzz(func(t *testing.T, path string) {
		p, err := w.Resolve("", path)
		if err != nil {
			return
		}
		for dir := p.Path; ; dir = filepath.Dir(dir) {
			if info, err := os.Stat(dir); err == nil && os.SameFile(info, state) && p.Area != fsguard.State {
				t.Fatalf("%q leads into the state folder, judged %s", path, p.Area)
			}
			if dir == filepath.Dir(dir) {
				return
			}
		}
	})
}
