//go:build unix

package fsguard_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"hob/daemon/fsguard"
)

// homeFolder is a home folder with hob's folders and traps in it.
type homeFolder struct {
	*fsguard.Guard
	top, home, space, state, rw, ro string
}

func newHomeFolder(t testing.TB) homeFolder {
	t.Helper()
	top, err := os.MkdirTemp("", "guard") // not TempDir, whose path contains the test's name
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	if top, err = filepath.EvalSymlinks(top); err != nil {
		t.Fatal(err)
	}
	w := homeFolder{top: top, home: top + "/home", state: top + "/home/.hob/state", space: top + "/home/.hob/workspace", rw: top + "/home/projects", ro: top + "/home/Downloads"}
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

func (w homeFolder) link(t testing.TB, target, name string) {
	t.Helper()
	must(t, os.Symlink(target, filepath.Join(w.space, name)))
}

// shut closes a file that a test has opened.
func shut(t testing.TB, c io.Closer) {
	t.Helper()
	must(t, c.Close())
}

func TestABindMountOfTheStateIsTheState(t *testing.T) {
	w := newHomeFolder(t)
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
	w := newHomeFolder(t)
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

// TestTheHomeOfHob (S9): hob's home outside of the workspace is sensitive, also below a root that contains it and if it is the owner's
// own home folder. A root that the owner opened inside it is a root.
func TestTheHomeOfHob(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	own := top + "/h"
	must(t, os.MkdirAll(own+"/state", 0o700))
	must(t, os.MkdirAll(own+"/ws", 0o700))
	must(t, os.MkdirAll(own+"/shared", 0o700))
	for home, roots := range map[string][]fsguard.Root{top: {{Path: top, Write: true}, {Path: own + "/shared"}}, own: {{Path: own + "/shared"}}} {
		g, err := fsguard.New(fsguard.Config{Workspace: own + "/ws", State: own + "/state", Home: home, Roots: roots})
		must(t, err)
		for path, want := range map[string]fsguard.Area{
			"a.txt": fsguard.Workspace, "../shared/a.txt": fsguard.RootRO, "../state/x": fsguard.State,
			"../config.toml": fsguard.Sensitive, "../Config.toml.bak": fsguard.Sensitive, own + "/config.toml": fsguard.Sensitive,
		} {
			if p, err := g.Resolve("", path); err != nil || p.Area != want {
				t.Errorf("home %s, %s: %s %v, want %s", home, path, p.Area, err, want)
			}
		}
	}
}

func TestNewRefusesRelativeFolders(t *testing.T) {
	if _, err := fsguard.New(fsguard.Config{Workspace: "ws", State: "/s"}); err == nil {
		t.Error("relative workspace")
	}
}

func TestASwappedFileIsNotOpened(t *testing.T) {
	w := newHomeFolder(t)
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
			must(t, os.Rename(path, path+".old")) // keeps the inode in use
			must(t, swap(path))
			if f, err := w.Open(p); err == nil {
				_ = f.Close()
				t.Error("opened what was put in its place")
			}
			must(t, os.RemoveAll(path))
		})
	}
}

// TestSymlinkRace replaces a folder by a link to the state folder while its files are read and written. No content of the state folder
// may appear, and nothing may be written there.
func TestSymlinkRace(t *testing.T) {
	w := newHomeFolder(t)
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
	for range 800 {
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

// Any path resolves to an absolute clean path without links, and that path is classified the same way.
func TestResolvingTwiceIsResolvingOnce(t *testing.T) {
	w := newHomeFolder(t)
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
	w := newHomeFolder(f)
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
