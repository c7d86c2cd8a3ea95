package sandbox_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hob/daemon/sandbox"
)

// S2: what takes the place of a folder between the look at it and its mount is not entered, whatever it is: the command does not begin.
func TestS2WhatWasSwappedIsNotEntered(t *testing.T) {
	w := newWorld(t)
	write(t, w.space+"/r/a/notes.md", "foreign")
	write(t, w.space+"/r/b/other.md", "another folder")
	must(t, os.Symlink("../..", w.space+"/r/link"))
	must(t, os.Symlink(w.State, w.space+"/r/state"))
	must(t, os.Symlink(w.top, w.space+"/r/top"))
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	box := w.box()
	box.Hidden = append(box.Hidden, w.space+"/r/a/notes.md")
	for _, other := range []string{"r/b", "r/link", "r/state", "r/top"} {
		exchange := func() {
			must(t, unix.Renameat2(unix.AT_FDCWD, w.space+"/r/a", unix.AT_FDCWD, w.space+"/"+other, unix.RENAME_EXCHANGE))
		}
		c, err := s.Wrap(box, []string{"bash", "-c", `cat r/a/state/token r/a/token "$STATE" "$TOKEN"; echo ran; ls -R r/a`}, w.env)
		must(t, err)
		exchange()
		out, err := prepared(t, c).CombinedOutput()
		exchange()
		if err == nil || strings.Contains(string(out), "ran") || strings.Contains(string(out), token) {
			t.Errorf("%s: %v %s", other, err, out)
		}
		if err := c.Entered(); !errors.Is(err, sandbox.ErrEntry) {
			t.Errorf("%s: %v", other, err)
		}
		t.Logf("%s: %s", other, out)
	}
	if out, code := w.inside(t, w.Config, box, "cat r/b/other.md; cat r/a/notes.md"); !strings.HasPrefix(out, "another folder") || strings.Contains(out, "foreign") || code != 1 {
		t.Errorf("%d %s", code, out)
	}
}

// S2b: of a root that lies in another nobody inside can take the place, and what took it outside is refused.
func TestS2bARootInARoot(t *testing.T) {
	for _, mode := range []string{"ro", "rw"} {
		t.Run(mode, func(t *testing.T) {
			w := newWorld(t)
			write(t, w.rw+"/a/priv/diary", "mine")
			write(t, w.Home+"/notes/diary", token)
			inner := sandbox.Bind{Path: w.rw + "/a/priv", Write: mode == "rw"}
			bound := sandbox.Bind{Path: w.rw + "/c/bound", Write: mode == "rw"}
			write(t, bound.Path+"/x", "mine")
			w.Binds = append(w.Binds, bound)
			w.Roots = []sandbox.Bind{{Path: w.space, Write: true}, {Path: w.rw, Write: true}, inner}
			s := sandbox.New(t.Context(), w.Config)
			usable(t, s)
			box := sandbox.Box{Dir: w.rw, Writable: []string{w.space, w.rw}}
			if inner.Write {
				box.Writable = append(box.Writable, inner.Path)
			} else {
				box.Readable = append(box.Readable, inner.Path)
			}
			out, _ := w.inside(t, w.Config, box, `mv a b && mkdir a && ln -s ../../notes a/priv; mv a/priv a/else; mv c d; mv c/bound c/e; rm -r a c; cat a/priv/diary`)
			if info, err := os.Lstat(inner.Path); err != nil || !info.IsDir() || strings.Contains(out, token) {
				t.Fatalf("it was moved away: %v %s", err, out)
			}
			for _, path := range []string{filepath.Dir(inner.Path), filepath.Dir(bound.Path)} {
				must(t, os.Rename(path, path+"-away"))
				must(t, os.Mkdir(path, 0o700))
				must(t, os.Symlink(w.Home+"/notes", path+"/"+map[bool]string{true: "priv", false: "bound"}[path == w.rw+"/a"]))
				if _, err := s.Wrap(box, []string{"true"}, nil); !errors.Is(err, sandbox.ErrChanged) {
					t.Errorf("a link in the place of %s: %v", path, err)
				}
				must(t, os.RemoveAll(path))
				must(t, os.MkdirAll(path+"/priv", 0o700))
				must(t, os.MkdirAll(path+"/bound", 0o700))
				if err := s.Fits(box); !errors.Is(err, sandbox.ErrChanged) {
					t.Errorf("another folder in the place of %s: %v", path, err)
				}
				must(t, os.RemoveAll(path))
				must(t, os.Rename(path+"-away", path))
				must(t, s.Fits(box))
			}
		})
	}
}

// S1: a program that makes sandboxes is not taken from where a sandbox may have put it, and hob's own is not written there.
func TestS1ProgramsThatABoxCouldPlant(t *testing.T) {
	w := newWorld(t)
	bin := w.rw + "/bin"
	for _, name := range []string{"bwrap", "ssh", "tmux"} {
		write(t, bin+"/"+name, "#!/bin/sh\ntouch "+w.top+"/loot\n")
		must(t, os.Chmod(bin+"/"+name, 0o700)) // #nosec G302 -- a program
	}
	must(t, os.Symlink(bin, w.top+"/link"))
	must(t, os.Symlink(bin+"/bwrap", w.ro+"/bwrap"))
	t.Setenv("PATH", bin+":"+w.top+"/link:"+w.ro+":bin:.:"+os.Getenv("PATH"))
	t.Chdir(w.rw)
	w.Roots = []sandbox.Bind{{Path: w.space, Write: true}, {Path: w.rw, Write: true}, {Path: w.ro}}
	text, err := os.ReadFile(self(t))
	must(t, err)
	w.Self = bin + "/hob"
	must(t, os.WriteFile(w.Self, text, 0o700)) // #nosec G306 -- a program
	out, _ := w.inside(t, w.Config, w.box(), `cd "$RW"; echo x > bin/hob; rm -f bin/hob; mv bin/hob bin/old; mv bin bin2; cp /bin/true bin/new && mv -f bin/new bin/hob; chmod 0 bin/hob; echo ran`)
	if now, err := os.ReadFile(w.Self); err != nil || len(now) != len(text) || !strings.Contains(out, "ran") {
		t.Errorf("hob's executable was changed: %v %s", err, out)
	}
	if _, err := os.Lstat(w.top + "/loot"); err == nil {
		t.Error("a planted bubblewrap was run")
	}
	s := sandbox.New(t.Context(), w.Config)
	if path, err := s.Program("sh"); err != nil || path == "" {
		t.Errorf("%q %v", path, err)
	}
	for _, name := range []string{"bwrap", "ssh", "tmux"} {
		if path, err := s.Program(name); err == nil && !strings.HasPrefix(path, "/usr/") && !strings.HasPrefix(path, "/bin/") {
			t.Errorf("%s is taken from %s", name, path)
		}
	}
	t.Setenv("PATH", bin)
	if _, err := s.Program("ssh"); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "passed over") {
		t.Error(err)
	}
}

// What a bubblewrap leaves behind that was killed in the midst of its work does not outlive the probe.
func TestTheProbeLeavesNothing(t *testing.T) {
	c, _ := place(t)
	c.Self = self(t)
	bin, pid := t.TempDir(), filepath.Join(t.TempDir(), "pid")
	write(t, bin+"/bwrap", "#!/bin/sh\n/bin/sleep 600 & echo $! >> "+pid+"; kill -TERM $$\n")
	must(t, os.Chmod(bin+"/bwrap", 0o700)) // #nosec G302 -- a program
	t.Setenv("PATH", bin)
	if s := sandbox.New(t.Context(), c); s.Works() {
		t.Fatal("a bubblewrap that is killed works")
	}
	text, err := os.ReadFile(pid)
	must(t, err)
	late := time.Now().Add(10 * time.Second)
	for _, word := range strings.Fields(string(text)) {
		for { // it was killed, and may still be on its way out
			stat, err := os.ReadFile("/proc/" + word + "/stat")
			if err != nil || strings.Contains(string(stat), ") Z ") || strings.Contains(string(stat), ") X ") {
				break
			}
			if time.Now().After(late) {
				t.Fatalf("%s is left: %s", word, stat)
			}
			runtime.Gosched()
		}
	}
	if len(text) == 0 {
		t.Error("nothing was started")
	}
}
