package sandbox_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hob/daemon/sandbox"
	"hob/daemon/sys/systest"
)

// self is the path of the test binary, which plays hob's executable.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	must(t, err)
	return path
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// token is the content of everything that must not be read.
const token = "CANARY-7f3a9c"

// machine is a machine with secrets: files that no sandbox may read or change, a process, listeners and a key.
type machine struct {
	sandbox.Config
	top, space, rw, ro string
	env                []string          // names of all this, known to the attacker
	secrets            map[string]string // path by name; may be neither read nor changed
	locked             map[string]string // path by name; may be read but not changed
	victim             *exec.Cmd
	key                int
	calls              atomic.Int64 // connections that the listeners got
}

// newMachine makes the canaries. They are removed after the test.
func newMachine(t *testing.T) *machine {
	t.Helper()
	top, err := os.MkdirTemp("", "box")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(top) })
	home := top + "/home"
	w := &machine{top: top, space: home + "/.hob/workspace", rw: home + "/projects", ro: home + "/docs"}
	w.Config = sandbox.Config{Mode: sandbox.Require, Home: home, State: home + "/.hob/state", Self: self(t), Binds: []sandbox.Bind{{Path: home + "/.gitconfig"}}}
	w.secrets = map[string]string{
		"STATE": w.State + "/hob.db", "TOKEN": w.State + "/token", "CONFIG": home + "/.hob/config.toml", "SSH": home + "/.ssh/id", "NOTES": home + "/notes.txt",
		"OTHER": top + "/other/secret", "ENV": w.space + "/.env", "SCRATCH": w.space + "/.scratch/s1/text", "INNER": w.rw + "/private/key",
		"VARTMP": "/var/tmp/" + filepath.Base(top), "SHM": "/dev/shm/" + filepath.Base(top), "TMP": top + "/loose",
	}
	w.locked = map[string]string{"DOC": w.ro + "/doc.txt", "GIT": home + "/.gitconfig"}
	for _, path := range w.secrets {
		write(t, path, token)
	}
	for _, path := range w.locked {
		write(t, path, "may be read")
	}
	t.Cleanup(func() { _ = os.Remove(w.secrets["VARTMP"]); _ = os.Remove(w.secrets["SHM"]) })
	write(t, w.space+"/mine.txt", "workspace")
	write(t, w.rw+"/code.go", "package code")
	w.plant(t)
	w.process(t)
	w.listen(t)
	w.keyring(t)
	w.share(t)
	for name, path := range w.secrets {
		w.env = append(w.env, name+"="+path)
	}
	for name, path := range w.locked {
		w.env = append(w.env, name+"="+path)
	}
	w.env = append(w.env, "WS="+w.space, "RW="+w.rw, "RO="+w.ro, "HOME="+home, "STATEDIR="+w.State, "TOP="+top, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C",
		"ATTACK=/run/hob/hob __attack", fmt.Sprintf("VICTIM=%d", w.victim.Process.Pid), fmt.Sprintf("HOST=%d", os.Getpid()), fmt.Sprintf("KEY=%d", w.key))
	return w
}

func write(t testing.TB, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// plant leaves links to secrets where a sandbox can use them, as an earlier attacker may have done.
func (w *machine) plant(t *testing.T) {
	t.Helper()
	for name, path := range w.secrets {
		must(t, os.Symlink(path, w.space+"/link-"+name))
	}
	must(t, os.Symlink(w.State, w.space+"/link-dir"))
	must(t, os.Symlink("/", w.space+"/link-root"))
	must(t, os.Symlink("/proc/1/root", w.space+"/link-proc"))
	must(t, unix.Mkfifo(w.top+"/other/fifo", 0o600))
}

// process starts a process that no command may read, trace or end.
func (w *machine) process(t *testing.T) {
	t.Helper()
	w.victim = exec.CommandContext(t.Context(), "sleep", "600")
	w.victim.Env, w.victim.Dir = []string{"SECRET=" + token}, w.State
	must(t, w.victim.Start())
	t.Cleanup(func() { _ = w.victim.Process.Kill(); _ = w.victim.Wait() })
}

// listen opens listeners on the loopback, in the file system and at abstract names.
func (w *machine) listen(t *testing.T) {
	t.Helper()
	name := "hob-" + filepath.Base(w.top)
	for variable, at := range map[string][2]string{
		"TCP4": {"tcp4", "127.0.0.1:0"}, "TCP6": {"tcp6", "[::1]:0"}, "ABSTRACT": {"unix", "@" + name}, "SOCK": {"unix", w.top + "/other/sock"}, "STATESOCK": {"unix", w.State + "/hob.sock"},
	} {
		l, err := net.Listen(at[0], at[1])
		if err != nil && at[0] == "tcp6" {
			continue // a machine without IPv6
		}
		must(t, err)
		w.env = append(w.env, variable+"="+strings.TrimPrefix(l.Addr().String(), "@"))
		if a, ok := l.Addr().(*net.TCPAddr); ok {
			w.env = append(w.env, fmt.Sprintf("%sPORT=%d", variable, a.Port))
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				w.calls.Add(1)
				_, _ = io.WriteString(c, token)
				_ = c.Close()
			}
		}()
		t.Cleanup(func() { _ = l.Close(); <-done })
	}
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(t, err)
	w.env = append(w.env, "UDP="+u.LocalAddr().String())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, from, err := u.ReadFrom(make([]byte, 16)); err != nil {
				return
			} else if w.calls.Add(1) > 0 {
				_, _ = u.WriteTo([]byte(token), from)
			}
		}
	}()
	t.Cleanup(func() { _ = u.Close(); <-done })
	dg, err := net.ListenPacket("unixgram", "@"+name+"-dg")
	must(t, err)
	w.env = append(w.env, "ABSTRACTDG="+name+"-dg")
	t.Cleanup(func() { _ = dg.Close() })
}

// keyring adds a key, which file and process namespaces do not separate.
func (w *machine) keyring(t *testing.T) {
	t.Helper()
	id, err := unix.AddKey("user", "hob-canary", []byte(token), unix.KEY_SPEC_USER_KEYRING)
	if err != nil {
		return // a kernel without keys: the attempts on it fail by themselves
	}
	w.key = id
	t.Cleanup(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_KEYRING, 0, 0) })
}

// share makes System V shared memory, which every process of the machine can find.
func (w *machine) share(t *testing.T) {
	t.Helper()
	id, err := unix.SysvShmGet(0, 4096, unix.IPC_CREAT|0o600)
	must(t, err)
	t.Cleanup(func() {
		_, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		must(t, err)
	})
	data, err := unix.SysvShmAttach(id, 0, 0)
	must(t, err)
	copy(data, token)
	must(t, unix.SysvShmDetach(data))
	w.env = append(w.env, fmt.Sprintf("SHMID=%d", id))
}

// harm names the first canary that was touched; "": none.
func (w *machine) harm() string {
	for name, path := range w.secrets {
		if why := untouched(path, token); why != "" {
			return name + " " + why
		}
	}
	for name, path := range w.locked {
		if why := untouched(path, "may be read"); why != "" {
			return name + " " + why
		}
	}
	if w.calls.Load() > 0 {
		return "a listener was reached"
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.victim.Process.Pid))
	if err != nil {
		return "the process is gone"
	}
	if _, rest, _ := bytes.Cut(stat, []byte(") ")); rest[0] != 'S' {
		return "the process does not sleep: " + string(rest[:1])
	}
	return ""
}

func untouched(path, want string) string {
	info, err := os.Lstat(path)
	if err != nil {
		return err.Error()
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	if string(text) != want || info.Mode() != 0o600 {
		return fmt.Sprintf("is %q with the rights %v", text, info.Mode())
	}
	return ""
}

// spec is the usual sandbox: the workspace and a root writable, a root readable, three things hidden.
func (w *machine) spec() sandbox.Spec {
	return sandbox.Spec{
		Dir: w.space, Writable: []string{w.space, w.rw}, Readable: []string{w.ro},
		Hidden: []string{w.space + "/.env", w.space + "/.scratch", w.rw + "/private"},
	}
}

// usable skips the test where no sandbox works; in CI that fails it.
func usable(t *testing.T, s *sandbox.Sandbox) {
	t.Helper()
	if s.Works() {
		return
	}
	systest.Missing(t, "no sandbox: "+s.State().Why)
}

// driver is a shell that runs one attempt after the other and returns the output of each.
type driver struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// loop reads attempts, one per line in base64, and runs each in its own shell.
const loop = `while read -r line; do timeout -s KILL 8 bash -c "$(printf %s "$line" | base64 -d)" </dev/null 2>&1; printf '\n--- %s\n' $?; done`

func start(t *testing.T, cmd *exec.Cmd) *driver {
	t.Helper()
	late := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	d := &driver{cmd: cmd}
	var err error
	d.in, err = d.cmd.StdinPipe()
	must(t, err)
	out, err := d.cmd.StdoutPipe()
	must(t, err)
	d.cmd.Stderr = d.cmd.Stdout
	d.out = bufio.NewReader(out)
	must(t, d.cmd.Start())
	t.Cleanup(func() { _ = d.in.Close(); _ = d.cmd.Process.Kill(); _ = d.cmd.Wait(); late.Stop() })
	return d
}

func (d *driver) run(t *testing.T, command string) string {
	t.Helper()
	_, err := fmt.Fprintln(d.in, base64.StdEncoding.EncodeToString([]byte(command)))
	must(t, err)
	var b strings.Builder
	for {
		line, err := d.out.ReadString('\n')
		if err != nil {
			t.Fatalf("the sandbox has ended after %q: %v\n%s", command, err, b.String())
		}
		if strings.HasPrefix(line, "--- ") {
			return b.String()
		}
		b.WriteString(line)
	}
}

func names(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
