package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"hob/daemon/sandbox"
)

// ready makes a process that runs a command in a sandbox. Its resources are released after the test.
func (w *machine) ready(t *testing.T, s *sandbox.Sandbox, b sandbox.Spec, argv []string) *exec.Cmd {
	t.Helper()
	c, err := s.Wrap(b, argv, w.env)
	must(t, err)
	return prepared(t, c)
}

func prepared(t *testing.T, c *sandbox.Command) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.Argv[0])
	c.Prepare(cmd)
	served := make(chan error, 1)
	go func() { served <- c.Serve() }()
	t.Cleanup(func() { must(t, errors.Join(c.Close(), <-served)) })
	return cmd
}

// inside runs a bash command in a sandbox and returns its output and exit code.
func (w *machine) inside(t *testing.T, c sandbox.Config, b sandbox.Spec, command string) (string, int) {
	t.Helper()
	s := sandbox.New(t.Context(), c)
	usable(t, s)
	cmd := w.ready(t, s, b, []string{"bash", "-c", command})
	out, err := cmd.CombinedOutput()
	var end *exec.ExitError
	if err != nil && !errors.As(err, &end) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

func TestSandboxWritesScratchOnly(t *testing.T) {
	w := newMachine(t)
	w.Binds = append(w.Binds, sandbox.Bind{Path: w.top + "/other", Write: true})
	b := w.spec()
	b.ScratchOnly, b.Scratch = true, w.space+"/.scratch/s1"
	out, _ := w.inside(t, w.Config, b, `cat "$SCRATCH" | wc -c; for d in "$WS" "$RW" "$RO" "$TOP/other" "$WS/.scratch"; do touch "$d/planted" && echo "wrote $d"; done
		echo new > "$WS/.scratch/s1/new"; echo tmp > /tmp/x; cat "$WS/mine.txt" "$WS/.scratch/s1/new"; ls -A "$WS/.scratch"; echo x 2>/dev/null >> "$WS/mine.txt" || echo sealed`)
	if !strings.HasPrefix(out, fmt.Sprintln(len(token))) || !strings.HasSuffix(out, "workspacenew\ns1\nsealed\n") || strings.Contains(out, "wrote") {
		t.Errorf("%s", out)
	}
	if text, err := os.ReadFile(w.space + "/.scratch/s1/new"); err != nil || string(text) != "new\n" {
		t.Errorf("what was written to scratch: %q %v", text, err)
	}
}

// A bind, root or mount that contains the state folder shows everything except that folder.
func TestTheStateIsNeverSeen(t *testing.T) {
	w := newMachine(t)
	w.Binds = []sandbox.Bind{{Path: w.Home, Write: true}}
	b := sandbox.Spec{Dir: w.space, Writable: []string{w.Home}}
	if os.Getuid() == 0 {
		for name, from := range map[string]string{"alias": w.State, "parent": filepath.Dir(w.State)} {
			at := w.space + "/" + name
			must(t, os.Mkdir(at, 0o700))
			must(t, unix.Mount(from, at, "", unix.MS_BIND, ""))
			t.Cleanup(func() { must(t, unix.Unmount(at, unix.MNT_DETACH)) })
		}
	}
	out, _ := w.inside(t, w.Config, b, `cat "$SSH"; echo; find "$HOME" -name hob.db -o -name token; cat "$STATE" "$WS/alias/token" "$WS/parent/state/token"; touch "$STATEDIR/x" "$WS/alias/x" && echo BREACH; ls -A "$STATEDIR"`)
	if strings.Count(out, token) != 1 || strings.Contains(out, "BREACH") || strings.Count(out, "hob.db\n") != 0 {
		t.Errorf("%s", out)
	}
	if why := w.harm(); why != "" {
		t.Error(why)
	}
}

// With the network on, a command reaches listeners on this machine. Landlock still blocks abstract sockets where it can.
func TestNetwork(t *testing.T) {
	w := newMachine(t)
	w.Network = true
	if s := sandbox.New(t.Context(), w.Config).State(); s.Works && !s.Network {
		t.Errorf("%+v", s)
	}
	out, _ := w.inside(t, w.Config, w.spec(), `$ATTACK tcp $TCP4; $ATTACK abstract $ABSTRACT; $ATTACK abstract-dg $ABSTRACTDG; $ATTACK socket "$SOCK"; getent hosts localhost`)
	if !strings.Contains(out, "BREACH tcp") || !strings.Contains(out, "localhost") || strings.Contains(out, "BREACH socket") {
		t.Errorf("%s", out)
	}
	if sandbox.Landlocked() >= 6 && strings.Contains(out, "BREACH abstract") {
		t.Errorf("abstract sockets: %s", out)
	}
}

func TestExitCodesAndStreams(t *testing.T) {
	w := newMachine(t)
	for command, want := range map[string]int{"exit 7": 7, "kill -TERM $$": 128 + 15, "exec no-such-program": 127, "exec /etc/passwd": 126, "true": 0} {
		if out, code := w.inside(t, w.Config, w.spec(), command); code != want {
			t.Errorf("%s: %d, want %d: %s", command, code, want, out)
		}
	}
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	for program, want := range map[string]int{"no-such-program": 127, "/no/such/program": 127, "/etc/passwd": 126} {
		cmd := w.ready(t, s, w.spec(), []string{program})
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want || !strings.HasPrefix(string(out), "hob: ") {
			t.Errorf("%s: %d, want %d: %s", program, code, want, out)
		}
	}
}

// A pty made for a command becomes its controlling terminal, so a shell in it has job control.
func TestATerminalOfItsOwn(t *testing.T) {
	w := newMachine(t)
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	out, code := w.onTerminal(t, w.ready(t, s, w.spec(), []string{"bash", "-c", `echo to the terminal > /dev/tty; stty size; exit 7`}))
	if out != "to the terminal\r\n11 77\r\n" || code != 7 {
		t.Errorf("%d: %q", code, out)
	}
}

// onTerminal runs a program on a pty of 11 lines and 77 columns, in the test's own session, and returns its output and exit code.
func (w *machine) onTerminal(t *testing.T, cmd *exec.Cmd) (string, int) {
	t.Helper()
	ours, theirs, err := pty.Open()
	must(t, err)
	defer func() { must(t, ours.Close()) }()
	must(t, pty.Setsize(theirs, &pty.Winsize{Rows: 11, Cols: 77}))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	must(t, cmd.Start())
	must(t, theirs.Close())
	shown, err := io.ReadAll(ours)
	if !errors.Is(err, unix.EIO) { // the other side is closed
		must(t, err)
	}
	_ = cmd.Wait() // the exit code says enough
	return string(shown), cmd.ProcessState.ExitCode()
}

// Not every kernel has Landlock and seccomp, so the namespaces must hold alone.
func TestNamespacesAlone(t *testing.T) {
	t.Parallel() // with the other long runs of attempts
	if testing.Short() {
		t.Skip("a second run of many attempts")
	}
	w := newMachine(t)
	s := sandbox.New(t.Context(), w.Config)
	usable(t, s)
	c, err := sandbox.Alone(t.Context(), w.Config, w.spec(), []string{"bash", "-c", loop}, w.env)
	must(t, err)
	d := start(t, prepared(t, c))
	n := 0
	for _, a := range attempts(w) {
		if strings.Contains(a.command, "$ATTACK") || a.name == "keyctl" {
			continue
		}
		n++
		if out := d.run(t, a.command); strings.Contains(out, token) || strings.Contains(out, "BREACH") {
			t.Errorf("%s\n%s\n%s", a.name, a.command, out)
		}
		if why := w.harm(); why != "" {
			t.Fatalf("%s: %s", a.name, why)
		}
	}
	if n < 300 {
		t.Errorf("%d attempts", n)
	}
}

// TestCoveredProc imitates a container, or a service with ProtectKernelTunables: a part of /proc is covered, so only root can mount a new
// one. Other users get a sandbox without /proc, and State says so.
func TestCoveredProc(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root to cover a part of /proc")
	}
	usable(t, sandbox.New(t.Context(), newMachine(t).Config))
	dir, err := os.MkdirTemp("", "covered")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o777)) // #nosec G302 -- another user's test writes there
	binary, err := os.ReadFile(self(t))
	must(t, err)
	must(t, os.WriteFile(dir+"/hob", binary, 0o755)) // #nosec G306 -- another user runs it
	for user, layer := range map[string]string{"0": "no capabilities", "65534": "user namespace"} {
		cmd := exec.CommandContext(t.Context(), "unshare", "-m", "bash", "-ec",
			`mount --bind /proc/sys /proc/sys; mount -o remount,ro,bind /proc/sys; exec setpriv --reuid `+user+` --regid `+user+` --clear-groups "$0" __state "$1"`, dir+"/hob", dir)
		out, err := cmd.Output()
		must(t, err)
		var got struct {
			State sandbox.State
			Said  string
		}
		must(t, json.Unmarshal(out, &got))
		if !got.State.Works || !slices.Contains(got.State.Layers, layer) || !strings.Contains(got.Said, "in the sandbox") || strings.Contains(got.Said, token) {
			t.Errorf("user %s: %+v", user, got)
		}
		if user != "0" && (!strings.Contains(got.State.Why, "no /proc") || !strings.Contains(got.State.Hint, "ProtectKernelTunables")) {
			t.Errorf("user %s: what is missing is not said: %+v", user, got.State)
		}
	}
}

// sayState is the process of TestCoveredProc. It prints the state and the output of a command in a sandbox.
func sayState(dir string) int {
	path, err := os.Executable()
	if err != nil {
		return 1
	}
	home, err := os.MkdirTemp(dir, "home")
	if err == nil {
		err = errors.Join(os.MkdirAll(home+"/state", 0o700), os.Mkdir(home+"/ws", 0o700), os.WriteFile(home+"/state/token", []byte(token), 0o600))
	}
	if err != nil {
		return 1
	}
	s := sandbox.New(testContext(), sandbox.Config{Home: home, State: home + "/state", Self: path})
	doc := map[string]any{"State": s.State(), "Said": ""}
	if c, err := s.Wrap(sandbox.Spec{Dir: home + "/ws", Writable: []string{home + "/ws"}}, []string{"bash", "-c", `cat "$1"; cat /proc/1/environ /proc/*/root/"$1"; echo in the sandbox`, "bash", home + "/state/token"}, []string{"PATH=/usr/bin:/bin"}); err == nil {
		cmd := exec.CommandContext(testContext(), c.Argv[0]) // #nosec G702 -- the sandbox under test
		c.Prepare(cmd)
		go func() { _ = c.Serve() }()
		out, _ := cmd.CombinedOutput()
		doc["Said"] = string(out)
	}
	if json.NewEncoder(os.Stdout).Encode(doc) != nil {
		return 1
	}
	return 0
}

func TestOtherNamesOfAFolder(t *testing.T) {
	const table = `22 1 8:1 / / rw - ext4 /dev/sda1 rw
30 22 8:2 / /home rw - ext4 /dev/sda2 rw
31 22 8:2 /sam/.hob/state /srv/with\040space rw - ext4 /dev/sda2 rw
32 22 8:2 /sam /srv/sam rw - ext4 /dev/sda2 rw
33 22 8:2 /sam/.hob/state/run /srv/run rw - ext4 /dev/sda2 rw
34 22 8:2 /eve /srv/eve rw - ext4 /dev/sda2 rw
35 22 8:2 /sam/.hob/statement /srv/else rw - ext4 /dev/sda2 rw
36 22 8:3 /sam/.hob/state /mnt rw - ext4 /dev/sda3 rw
`
	want := []string{"/srv/with space", "/srv/sam/.hob/state", "/srv/run"}
	if diff := cmp.Diff(want, sandbox.NamesOf("/home/sam/.hob/state", table)); diff != "" {
		t.Error(diff)
	}
	if got := sandbox.NamesOf("/var/lib/hob", table); got != nil {
		t.Errorf("on the root's file system: %q", got)
	}
	if got := sandbox.NamesOf("/x", ""); got != nil {
		t.Errorf("of no table: %q", got)
	}
}

func TestFilter(t *testing.T) {
	const yes, no, unknown = unix.SECCOMP_RET_ALLOW, unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM), unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	const noFamily = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	for _, c := range []struct {
		name string
		call uint64
		args []uint64
		want uint32
	}{
		{"read", unix.SYS_READ, []uint64{0, 0}, yes},
		{"execve", unix.SYS_EXECVE, []uint64{0, 0}, yes},
		{"mount", unix.SYS_MOUNT, []uint64{0, 0}, no},
		{"keyctl", unix.SYS_KEYCTL, []uint64{0, 0}, no},
		{"bpf", unix.SYS_BPF, []uint64{0, 0}, no},
		{"clone3", unix.SYS_CLONE3, []uint64{0, 0}, unknown},
		{"a thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD, 0}, yes},
		{"a user namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | unix.CLONE_NEWPID, 0}, no},
		{"with high bits", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER | 1<<40, 0}, no},
		{"unshare of files", unix.SYS_UNSHARE, []uint64{unix.CLONE_FILES, 0}, yes},
		{"unshare of users", unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWUSER, 0}, no},
		{"a terminal's size", unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, yes},
		{"typing", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, no},
		{"typing, with high bits", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI | 1<<32}, no},
		{"its number as an argument", unix.SYS_READ, []uint64{unix.CLONE_NEWUSER, unix.TIOCSTI}, yes},
		{"a file's rights", unix.SYS_FCHMODAT, []uint64{0, 0, 0o1777}, yes},
		{"setuid", unix.SYS_FCHMODAT, []uint64{0, 0, 0o4755}, no},
		{"setgid", unix.SYS_FCHMOD, []uint64{0, 0o2755}, no},
		{"setuid, with high bits", unix.SYS_FCHMODAT2, []uint64{0, 0, 0o4755 | 1<<32}, no},
		{"open, the mode left as it was", unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY | unix.O_DIRECTORY, 0o6777}, yes},
		{"open, new", unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o644}, yes},
		{"open, new and setuid", unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT | unix.O_WRONLY, 0o4644}, no},
		{"open, without a name and setgid", unix.SYS_OPENAT, []uint64{0, 0, unix.O_TMPFILE | unix.O_WRONLY, 0o2644}, no},
		{"openat2", unix.SYS_OPENAT2, []uint64{0, 0, 0, 24}, unknown},
		{"internet", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, yes},
		{"internet 6", unix.SYS_SOCKET, []uint64{unix.AF_INET6, unix.SOCK_DGRAM, 0}, yes},
		{"routes", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, yes},
		{"kernel events (T2)", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT}, noFamily},
		{"vsock (T2)", unix.SYS_SOCKET, []uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, noFamily},
		{"vsock, with high bits", unix.SYS_SOCKET, []uint64{unix.AF_VSOCK | 1<<32, unix.SOCK_STREAM, 0}, noFamily},
		{"crypto", unix.SYS_SOCKET, []uint64{unix.AF_ALG, unix.SOCK_SEQPACKET, 0}, noFamily},
		{"a pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM, 0}, yes},
		{"a pair of TIPC", unix.SYS_SOCKETPAIR, []uint64{unix.AF_TIPC, unix.SOCK_STREAM, 0}, noFamily},
	} {
		if got := sandbox.Filter(true, false, c.call, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
	// Sockets and FIFOs with a path (T1, T2): where hob decides about them, where it cannot, and with all sockets of the owner.
	const ask = unix.SECCOMP_RET_USER_NOTIF
	for _, c := range []struct {
		name                   string
		call                   uint64
		args                   []uint64
		asks, neither, sockets uint32
	}{
		{"a unix socket", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, yes, noFamily, yes},
		{"for packets", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, yes, noFamily, yes},
		{"for datagrams", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK}, noFamily, noFamily, yes},
		{"for datagrams, as raw", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_RAW}, noFamily, noFamily, yes},
		{"a pair for datagrams", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM}, noFamily, noFamily, yes},
		{"a pair as raw", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_RAW}, noFamily, noFamily, yes},
		{"a pair", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET}, yes, yes, yes},
		{"connect", unix.SYS_CONNECT, []uint64{3, 0, 16}, ask, yes, yes},
		{"bind", unix.SYS_BIND, []uint64{3, 0, 16}, ask, yes, yes},
		{"mkfifo", unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFIFO | 0o600}, ask, no, ask},
		{"mkfifo, with high bits", unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFIFO | 0o600 | 1<<32}, ask, no, ask},
		{"mkfifo, setuid", unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFIFO | 0o4600}, no, no, no},
		{"a file", unix.SYS_MKNODAT, []uint64{0, 0, unix.S_IFREG | 0o600}, yes, yes, yes},
	} {
		got := []uint32{sandbox.Filter(true, false, c.call, c.args...), sandbox.Filter(false, false, c.call, c.args...), sandbox.Filter(true, true, c.call, c.args...)}
		if want := []uint32{c.asks, c.neither, c.sockets}; !slices.Equal(got, want) {
			t.Errorf("%s: %#x, want %#x", c.name, got, want)
		}
	}
}

// A root that shows a system folder, or a part of one, shows none of its private files.
func TestRootInASystemFolder(t *testing.T) {
	if _, err := os.ReadFile("/etc/shadow"); err != nil {
		t.Skip("these tests cannot read /etc/shadow either")
	}
	for _, root := range []string{"/etc", "/etc/ssl"} {
		w := newMachine(t)
		b := w.spec()
		b.Readable = append(b.Readable, root)
		if out, code := w.inside(t, w.Config, b, `cat /etc/shadow /etc/ssl/private/* 2>/dev/null; head -c 1 /etc/passwd`); out != "r" || code != 0 {
			t.Errorf("root %s: exit %d, %q", root, code, out)
		}
	}
}

// B3: in a folder of PATH, which the owner has not opened himself, a sandbox shows programs but no keys. A bind that he has configured shows what
// is there.
func TestFoldersOfProgramsShowNoKeys(t *testing.T) {
	w := newMachine(t)
	for _, dir := range []string{"bin", "given"} {
		for _, name := range []string{".env", "server.key", "deep/a.pem", "id_rsa", "notes.txt"} {
			write(t, filepath.Join(w.Home, dir, name), "from "+name+"\n")
		}
		write(t, filepath.Join(w.Home, dir, "secret-tool"), "#!/bin/sh\necho runs\n")
		if err := os.Chmod(filepath.Join(w.Home, dir, "secret-tool"), 0o700); err != nil { // #nosec G302 -- a program
			t.Fatal(err)
		}
	}
	w.Binds = append(w.Binds, sandbox.Bind{Path: filepath.Join(w.Home, "bin"), Programs: true}, sandbox.Bind{Path: filepath.Join(w.Home, "given")})
	for dir, want := range map[string]string{"bin": "from notes.txt\nruns\n", "given": "from .env\nfrom server.key\nfrom a.pem\nfrom id_rsa\nfrom notes.txt\nruns\n"} {
		out, _ := w.inside(t, w.Config, w.spec(), "cd "+filepath.Join(w.Home, dir)+"; cat .env server.key deep/a.pem id_rsa notes.txt 2>/dev/null; ./secret-tool")
		if strings.ReplaceAll(out, "from deep/", "from ") != want {
			t.Errorf("%s: %q, want %q", dir, out, want)
		}
	}
}
