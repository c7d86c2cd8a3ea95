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

// S2: a folder that was replaced between the check and the mount is not entered. The command does not begin.
func TestS2WhatWasSwappedIsNotEntered(t *testing.T) {
	w := newMachine(t)
	write(t, w.space+"/r/a/notes.md", "foreign")
	write(t, w.space+"/r/b/other.md", "another folder")
	must(t, os.Symlink("../..", w.space+"/r/link"))
	must(t, os.Symlink(w.State, w.space+"/r/state"))
	must(t, os.Symlink(w.top, w.space+"/r/top"))
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	spec := w.spec()
	spec.Hidden = append(spec.Hidden, w.space+"/r/a/notes.md")
	for _, other := range []string{"r/b", "r/link", "r/state", "r/top"} {
		exchange := func() {
			must(t, unix.Renameat2(unix.AT_FDCWD, w.space+"/r/a", unix.AT_FDCWD, w.space+"/"+other, unix.RENAME_EXCHANGE))
		}
		c, err := s.Wrap(spec, []string{"bash", "-c", `cat r/a/state/token r/a/token "$STATE" "$TOKEN"; echo ran; ls -R r/a`}, w.env)
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
	if out, code := w.inside(t, w.Config, spec, "cat r/b/other.md; cat r/a/notes.md"); !strings.HasPrefix(out, "another folder") || strings.Contains(out, "foreign") || code != 1 {
		t.Errorf("%d %s", code, out)
	}
}

// S2b: a command inside cannot replace a root that is inside another root, and a replacement from outside is refused.
func TestS2bARootInARoot(t *testing.T) {
	for _, mode := range []string{"ro", "rw"} {
		t.Run(mode, func(t *testing.T) {
			w := newMachine(t)
			write(t, w.rw+"/a/priv/diary", "mine")
			write(t, w.Home+"/notes/diary", token)
			inner := sandbox.Bind{Path: w.rw + "/a/priv", Write: mode == "rw"}
			bound := sandbox.Bind{Path: w.rw + "/c/bound", Write: mode == "rw"}
			write(t, bound.Path+"/x", "mine")
			w.Binds = append(w.Binds, bound)
			w.Roots = []sandbox.Bind{{Path: w.space, Write: true}, {Path: w.rw, Write: true}, inner}
			s := sandbox.New(t.Context(), w.Config)
			usable(t, s)
			spec := sandbox.Spec{Dir: w.rw, Writable: []string{w.space, w.rw}}
			if inner.Write {
				spec.Writable = append(spec.Writable, inner.Path)
			} else {
				spec.Readable = append(spec.Readable, inner.Path)
			}
			out, _ := w.inside(t, w.Config, spec, `mv a b && mkdir a && ln -s ../../notes a/priv; mv a/priv a/else; mv c d; mv c/bound c/e; rm -r a c; cat a/priv/diary`)
			if info, err := os.Lstat(inner.Path); err != nil || !info.IsDir() || strings.Contains(out, token) {
				t.Fatalf("it was moved away: %v %s", err, out)
			}
			for _, path := range []string{filepath.Dir(inner.Path), filepath.Dir(bound.Path)} {
				must(t, os.Rename(path, path+"-away"))
				must(t, os.Mkdir(path, 0o700))
				must(t, os.Symlink(w.Home+"/notes", path+"/"+map[bool]string{true: "priv", false: "bound"}[path == w.rw+"/a"]))
				if _, err := s.Wrap(spec, []string{"true"}, nil); !errors.Is(err, sandbox.ErrChanged) {
					t.Errorf("a link in the place of %s: %v", path, err)
				}
				must(t, os.RemoveAll(path))
				must(t, os.MkdirAll(path+"/priv", 0o700))
				must(t, os.MkdirAll(path+"/bound", 0o700))
				if err := s.Fits(spec); !errors.Is(err, sandbox.ErrChanged) {
					t.Errorf("another folder in the place of %s: %v", path, err)
				}
				must(t, os.RemoveAll(path))
				must(t, os.Rename(path+"-away", path))
				must(t, s.Fits(spec))
			}
		})
	}
}

// S1: hob ignores programs that a sandbox could have planted, and no sandbox can write hob's own executable.
func TestS1ProgramsThatASandboxCouldPlant(t *testing.T) {
	w := newMachine(t)
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
	out, _ := w.inside(t, w.Config, w.spec(), `cd "$RW"; echo x > bin/hob; rm -f bin/hob; mv bin/hob bin/old; mv bin bin2; cp /bin/true bin/new && mv -f bin/new bin/hob; chmod 0 bin/hob; echo ran`)
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
	if _, err := s.Program("ssh"); !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "skipped") {
		t.Error(err)
	}
}

// A bubblewrap that is killed during its start leaves no process after the probe.
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
		for { // it was killed but may not have ended yet
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
