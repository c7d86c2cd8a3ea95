package sandbox_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hob/daemon/sandbox"
)

// No socket and no FIFO carries bytes between a sandbox and the machine, or another sandbox (T1, T2), whatever folder it is in.
func TestNoChannelLeadsOut(t *testing.T) {
	w := newMachine(t)
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	tainted := w.spec()
	tainted.ScratchOnly, tainted.Scratch = true, w.space+"/.scratch/s1"
	var script []string
	for _, dir := range []string{w.space, w.rw, w.ro} {
		l, err := net.Listen("unix", dir+"/dev.sock")
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
		g, err := net.ListenPacket("unixgram", dir+"/dgram.sock")
		must(t, err)
		t.Cleanup(func() { _ = g.Close() })
		must(t, unix.Mkfifo(dir+"/owner.fifo", 0o600))
		script = append(script, strings.ReplaceAll(`
			$ATTACK socket DIR/dev.sock; $ATTACK bound DIR/dev.sock; ln -s DIR/dev.sock /tmp/l; $ATTACK socket /tmp/l; rm /tmp/l
			$ATTACK datagram DIR/dgram.sock; $ATTACK datagram-pair DIR/dgram.sock; cd DIR; $ATTACK socket ./dev.sock; $ATTACK socket ../*/dev.sock
			$ATTACK socket /proc/self/cwd/dev.sock; $ATTACK socket /proc/1/root/DIR/dev.sock; $ATTACK listen DIR/own.sock; $ATTACK seq DIR/dev.sock
			mkfifo DIR/p && echo BREACH fifo; mkfifo -m 666 ./p && echo BREACH fifo; mknod DIR/p p && echo BREACH fifo; mkfifo /tmp/f && mv /tmp/f DIR/p && [ -p DIR/p ] && echo BREACH moved
			mkfifo /tmp/f2; ln /tmp/f2 DIR/p && echo BREACH link; cp -a /tmp/f2 DIR/p2 && echo BREACH copied; (cd /tmp; python3 -c 'import os; os.mkfifo("p", dir_fd=os.open("DIR", 0)); print("BREACH at")')
			timeout 1 bash -c 'echo x > DIR/owner.fifo' && echo BREACH wrote; timeout 1 bash -c 'echo x 1<> DIR/owner.fifo' && echo BREACH opened
			rm -f /tmp/f2 /tmp/f`, "DIR", dir))
	}
	for name, b := range map[string]sandbox.Spec{"a turn of the owner's": w.spec(), "a tainted turn": tainted} {
		out, _ := w.inside(t, w.Config, b, strings.Join(script, "\n")+"\necho end")
		if strings.Contains(out, "BREACH") || !strings.HasSuffix(out, "end\n") {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// What a sandbox has for itself works (T2): tools talk to their own processes through sockets and FIFOs.
func TestUsualToolsWork(t *testing.T) {
	w := newMachine(t)
	for name, command := range map[string]string{
		"python3 pool":     `python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))' | grep -F '[1, 2]'`,
		"python3 server":   `python3 -c 'import multiprocessing as m; m.set_start_method("forkserver"); q = m.Manager().list([5]); p = m.Process(target=print, args=("child",), ); p.start(); p.join(); print(q)' | grep -F '[5]'`,
		"python3 asyncio":  `python3 -c 'import asyncio as a; print(a.run(a.sleep(0, "awake")))' | grep awake`,
		"python3 tcp":      `python3 -c 'import socket as s; l = s.create_server(("127.0.0.1", 0)); c = s.create_connection(l.getsockname()); l.accept()[0].send(b"hi"); print(c.recv(2))' | grep hi`,
		"python3 udp":      `python3 -c 'import socket as s; a = s.socket(s.AF_INET, s.SOCK_DGRAM); a.bind(("127.0.0.1", 0)); b = s.socket(s.AF_INET, s.SOCK_DGRAM); b.connect(a.getsockname()); b.send(b"hi"); print(a.recv(2))' | grep hi`,
		"python3 refused":  `python3 -c 'import socket as s; s.create_connection(("127.0.0.1", 9))' 2>&1 | grep ConnectionRefused`,
		"python3 abstract": `python3 -c 'import socket as s; a = s.socket(s.AF_UNIX); a.bind("\0x"); a.listen(); b = s.socket(s.AF_UNIX); b.connect("\0x"); print("abstract")' | grep abstract`,
		"python3 names":    `cd /tmp; python3 -c 'import socket as s; a = s.socket(s.AF_UNIX); a.bind("rel"); a.listen(); b = s.socket(s.AF_UNIX); b.connect("./rel"); print(b.getpeername())' | grep -x rel`,
		"node ipc":         `cd /tmp; echo 'const c = require("child_process"); if (process.send) process.send(process.argv[2]); else c.fork("n.js", ["hi"]).on("message", m => console.log("got", m))' > n.js; node n.js | grep 'got hi'`,
		"node pipe":        `node -e 'const n = require("net"); const s = n.createServer(c => c.end("hi")).listen("/tmp/n.sock", () => n.connect("/tmp/n.sock").on("data", d => { console.log("" + d); s.close() }))' | grep hi`,
		"node cpus":        `[ "$(node -p 'os.cpus().length')" = "$(nproc)" ] && echo same`,
		"node server":      `node -e 'const h = require("http"); const s = h.createServer((q, r) => r.end("page")).listen(0, () => h.get("http://127.0.0.1:" + s.address().port, r => r.on("data", d => { console.log("" + d); process.exit() })))' | grep page`,
		"npm":              `cd /tmp && mkdir m && cd m && npm init -y >/dev/null && npm pkg get name | grep m`,
		"git":              `cd /tmp && git init -q r && cd r && git -c user.name=a -c user.email=b commit -q --allow-empty -m hi && git log --oneline | grep hi`,
		"git clone":        `cd /tmp && git clone -q r r2 2>&1; git init -q --bare b && git -C b rev-parse --is-bare-repository | grep true`,
		"make -j":          `cd /tmp && printf 'all: a b\na b:\n\t@echo made $@\n' > Makefile && make -j2 | sort | tr '\n' ' ' | grep 'made a made b'`,
		"tmux":             `export SHELL=/bin/sh; tmux -L x new-session -d 'sleep 60' && tmux -L x list-sessions | grep windows; tmux -L x kill-server`,
		"ssh-keygen":       `ssh-keygen -q -t ed25519 -N '' -f /tmp/k && ssh-keygen -lf /tmp/k | grep ED25519`,
		"ssh-agent":        `eval "$(ssh-agent)" && ssh-add -l | grep 'no identities'; kill $SSH_AGENT_PID`,
		"mkfifo":           `mkfifo /tmp/f && (echo through > /tmp/f &) && cat /tmp/f | grep through && [ "$(stat -c %A /tmp/f)" = "prw-r--r--" ] && echo mode`,
		"curl":             `(cd /tmp && python3 -m http.server --bind 127.0.0.1 8000 2>/dev/null &) ; curl -s --retry 20 --retry-connrefused --retry-delay 1 127.0.0.1:8000 | grep Directory`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(strings.Fields(name)[0]); err != nil && !strings.Contains(name, "python3") {
				t.Skip(err)
			}
			out, code := w.inside(t, w.Config, w.spec(), "umask 022; export GIT_CONFIG_GLOBAL=/dev/null; "+command)
			if code != 0 || out == "" {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
}

// A connection that waits for room in a listener's queue works when there is room, and leaves nothing in hob when its sandbox ends. A socket that would
// wait for itself is refused.
func TestConnectionsThatWait(t *testing.T) {
	w := newMachine(t)
	w.signals(t)
	const begin = `import socket as s, threading as t, time
l = s.socket(s.AF_UNIX); l.bind("/tmp/l"); l.listen(0)
full = []
try:
    while 1: c = s.socket(s.AF_UNIX); full.append(c); c.setblocking(False); c.connect("/tmp/l")
except BlockingIOError: pass
def late(): c = s.socket(s.AF_UNIX); c.connect("/tmp/l"); print("connected")
`
	out, code := w.inside(t, w.Config, w.spec(), "python3 -c '"+begin+`late = t.Thread(target=late); late.start(); time.sleep(0.3); [l.accept() for _ in full]; late.join()'`)
	if code != 0 || out != "connected\n" {
		t.Errorf("exit %d: %s", code, out)
	}
	out, code = w.inside(t, w.Config, w.spec(), "python3 -c '"+begin+`[t.Thread(target=late, daemon=True).start() for _ in range(20)]
[t.Thread(target=lambda: l.connect("/tmp/l"), daemon=True).start() for _ in range(8)]
time.sleep(0.5); print("leaves", flush=True); import os; os._exit(0)' 2>/dev/null`)
	if code != 0 || out != "leaves\n" {
		t.Errorf("exit %d: %s", code, out)
	}
	stacks := make([]byte, 1<<20)
	for end := time.Now().Add(time.Minute); strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "(*Calls)"); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("what a sandbox has left:\n%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// signals sends hob's threads one signal after another until the test ends: what hob does for a sandbox is not cut off by hob's own signals.
func (*machine) signals(t *testing.T) {
	t.Helper()
	done, over := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(done); <-over })
	go func() {
		defer close(over)
		for {
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
			threads, err := os.ReadDir("/proc/self/task")
			if err != nil {
				continue
			}
			for _, thread := range threads {
				if id, err := strconv.Atoi(thread.Name()); err == nil {
					_ = unix.Tgkill(os.Getpid(), id, unix.SIGURG) // fails for one that has just ended
				}
			}
		}
	}()
}

// Sockets opens the owner's sockets, but not to a tainted turn and not to what has no network.
func TestSocketsOfTheOwner(t *testing.T) {
	w := newMachine(t)
	w.Sockets = true
	l, err := net.Listen("unix", w.rw+"/dev.sock")
	must(t, err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadFull(c, make([]byte, len("hello")))
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close() })
	tainted, offline := w.spec(), w.spec()
	tainted.ScratchOnly, offline.Offline = true, true
	for name, c := range map[string]struct {
		spec sandbox.Spec
		want bool
	}{"a turn of the owner's": {w.spec(), true}, "tainted": {tainted, false}, "offline": {offline, false}} {
		out, _ := w.inside(t, w.Config, c.spec, fmt.Sprintf(`$ATTACK socket %s/dev.sock; mkfifo "$WS/p" && echo BREACH`, w.rw))
		if got := strings.Contains(out, "BREACH socket"); got != c.want || strings.Contains(out, "BREACH\n") {
			t.Errorf("%s: %s", name, out)
		}
	}
	_ = os.Remove(filepath.Join(w.space, "p"))
}
