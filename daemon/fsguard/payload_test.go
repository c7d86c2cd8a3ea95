//go:build unix

package fsguard_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"hob/daemon/fsguard"
)

func TestPayloads(t *testing.T) {
	w := newHomeFolder(t)
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
	defer shut(t, sock)
	db, err := os.Open(w.top + "/etc/passwd")
	must(t, err)
	defer shut(t, db)

	const (
		ws, state, out, sens, rw, ro = fsguard.Workspace, fsguard.State, fsguard.Outside, fsguard.Sensitive, fsguard.RootRW, fsguard.RootRO
	)
	long := strings.Repeat("x", 255)
	for _, c := range []struct {
		path string
		area fsguard.Area
		open error // nil: it can be read; errAny: classified, but not opened here
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
		{path: "../config.toml", area: sens}, // S9: hob's own home
		{path: "..", area: sens, open: errAny},
		{path: "../notes/new.txt", area: sens, open: errAny},
		{path: "to-home/.hob/config.toml", area: sens},
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
		if !errors.Is(c.open, errAny) {
			opens(t, w, p, c.path, c.open)
		}
	}
}

var errAny = errors.New("any")

func opens(t *testing.T, w homeFolder, p fsguard.Place, path string, want error) {
	t.Helper()
	f, err := w.Open(p)
	if !errors.Is(err, want) {
		t.Errorf("open %.80q: %v, want %v", path, err, want)
	}
	if err != nil {
		return
	}
	defer shut(t, f)
	got, err := io.ReadAll(f)
	if err != nil || !strings.HasPrefix(string(got), "content of ") {
		t.Errorf("read %q: %q %v", path, got, err)
	}
}
