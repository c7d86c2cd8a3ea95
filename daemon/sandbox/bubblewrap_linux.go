package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// helperAt is where a box has hob's own executable.
const helperAt = "/run/hob/hob"

// systemFolders are what every box sees of the machine, read only. What is not among them (srv, mnt, var, boot, other homes) is not
// there.
func systemFolders() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu/store", "/run/current-system",
		"/var/lib/ca-certificates", "/sys/devices/system",
	}
}

// doors are the places of sockets by which a process could have others act for it: display, session bus, containers, agents.
func doors() []string {
	list := []string{
		"/tmp/.X11-unix", "/tmp/.ICE-unix", "/run/user", "/run/dbus", "/run/docker.sock", "/run/docker", "/run/containerd", "/run/crio",
		"/run/podman", "/run/systemd", "/run/libvirt", "/run/lxd", "/var/lib/lxd", "/var/snap/lxd", "/run/snapd.socket", "/run/snapd-snap.socket",
	}
	agents, err := filepath.Glob("/tmp/ssh-*")
	if err != nil {
		return list // cannot be: the pattern is well formed
	}
	return append(list, agents...)
}

// bubblewrap makes command lines of bwrap(1).
type bubblewrap struct {
	conf    Config
	program string
	users   bool     // in a user namespace of its own
	nested  bool     // and no further one can be made in it
	sized   bool     // its temporary folders can be limited
	proc    bool     // with a /proc
	fds     bool     // it takes what it shows by descriptor, and compares
	private []string // what of the system's folders others may not read, and no box sees
}

// find tries bubblewrap, from the strictest way to the one that takes least, and keeps the first that works.
func find(ctx context.Context, c Config) finding {
	none := State{Kind: "none"}
	if _, err := os.Stat(c.Self); err != nil {
		none.Why, none.Hint = fmt.Sprintf("hob's own executable, which confines, cannot be found: %v", err), "start hob again"
		return finding{state: none}
	}
	program, err := c.program("bwrap")
	if err != nil {
		none.Why, none.Hint = "bubblewrap is not installed: "+err.Error(), "install bubblewrap, for example: sudo apt install bubblewrap"
		return finding{state: none}
	}
	help, err := output(ctx, exec.Command(program, "--help")) // #nosec G204 -- hob's own words
	if err != nil {
		none.Why, none.Hint = err.Error(), "reinstall bubblewrap"
		return finding{state: none}
	}
	private, err := closed("/etc")
	if err != nil {
		none.Why = err.Error()
		return finding{state: none}
	}
	first := ""
	for _, w := range ways(bytes.Contains(help, []byte("--disable-userns"))) {
		w.conf, w.program, w.private, w.sized = c, program, private, bytes.Contains(help, []byte("--size"))
		err := w.try(ctx)
		if err == nil {
			byFD := w
			if byFD.fds = true; byFD.try(ctx) == nil {
				w = byFD
			}
			return finding{state: w.state(first), wrap: w.wrap, own: []string{c.Self, program}}
		}
		if first == "" {
			first = err.Error()
		}
	}
	none.Why, none.Hint = "bubblewrap does not work: "+first, mend()
	return finding{state: none}
}

// ways are the ways to call bubblewrap, the strictest first.
func ways(nested bool) []bubblewrap {
	list := []bubblewrap{{users: true, nested: true, proc: true}, {users: true, proc: true}}
	if os.Geteuid() == 0 {
		list = append(list, bubblewrap{proc: true})
	}
	// Where parts of /proc are covered, as in many containers, a new one cannot be mounted. The machine's own must not be shown, so none is.
	list = append(list, bubblewrap{users: true})
	return slices.DeleteFunc(list, func(w bubblewrap) bool { return w.nested && !nested })
}

// try runs a shell in a box, which must work there and must not see hob's state.
func (w bubblewrap) try(ctx context.Context) error {
	root, err := hold("/usr")
	if err != nil {
		return err
	}
	l := layout{dir: "/usr", here: root, state: w.conf.State, opened: []*held{root}, views: []view{{at: "/usr", from: "/usr", is: root}}}
	c, err := w.wrap(l, []string{"/bin/sh", "-c", `test ! -e "$1" && test "$$" -lt 10 && echo inside`, "sh", w.conf.State}, nil)
	if err != nil {
		return errors.Join(err, l.release())
	}
	cmd := new(exec.Cmd)
	c.Prepare(cmd)
	out, err := output(ctx, cmd)
	if err == nil && string(out) != "inside\n" {
		err = fmt.Errorf("the trial said %q", out)
	}
	return errors.Join(err, c.Close())
}

// state is what is said of a way that works. first is why a stricter one did not.
func (w bubblewrap) state(first string) State {
	s := State{Kind: "bubblewrap", Works: true, Layers: []string{"mount namespace", "pid namespace", "ipc namespace", "uts namespace", "cgroup namespace"}}
	if w.users {
		s.Layers = append(s.Layers, "user namespace")
	}
	if !w.conf.Network {
		s.Layers = append(s.Layers, "network namespace")
	}
	s.Layers = append(s.Layers, "no capabilities", "no new privileges")
	s.Layers = append(s.Layers, helperLayers()...)
	var missing []string
	if !w.proc {
		missing = append(missing, "no /proc, since a new one may not be mounted here ("+first+")")
		s.Hint = "a service must not have ProtectKernelTunables, a container needs an uncovered /proc"
	}
	s.Why = strings.Join(append(missing, helperGaps()...), "; ")
	return s
}

// mend says what to do where bubblewrap is there and fails.
func mend() string {
	for path, bad := range map[string]string{
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1", "/proc/sys/kernel/unprivileged_userns_clone": "0", "/proc/sys/user/max_user_namespaces": "0",
	} {
		text, err := os.ReadFile(path) // #nosec G304 -- the three above
		if err != nil || strings.TrimSpace(string(text)) != bad {
			continue
		}
		if strings.Contains(path, "apparmor") {
			return "AppArmor forbids user namespaces; allow hob to make one: the package does, and docs/security.md has the profile for other installations"
		}
		return "the kernel forbids user namespaces; allow them: " + path
	}
	return "user namespaces are forbidden here, perhaps by a container; give hob a machine of its own, or set [tools.exec] sandbox"
}

// wrap makes what starts a command.
func (w bubblewrap) wrap(l layout, argv, env []string) (*Command, error) {
	if err := w.masks(&l); err != nil {
		return nil, err
	}
	line, err := w.argv(l)
	if err != nil {
		return nil, err
	}
	order, err := w.order(l, argv, env)
	if err != nil {
		return nil, err
	}
	c, err := handOver(line, order, l)
	if err == nil && w.fds {
		c.inherit()
	}
	return c, err
}

// argv is the command line. The mounts are made in its order.
func (w bubblewrap) argv(l layout) ([]string, error) {
	out := []string{
		w.program, "--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL",
	}
	if w.users {
		out = append(out, "--unshare-user")
	}
	if w.nested {
		out = append(out, "--disable-userns")
	}
	if !w.conf.Network {
		out = append(out, "--unshare-net")
	}
	system, err := w.system()
	if err != nil {
		return nil, err
	}
	out = append(out, system...)
	for i, v := range l.views {
		out = append(out, w.bind(v, i)...)
	}
	out = append(out, w.hidden(l)...)
	// The root itself is memory that the box could write, without use for it.
	out = append(out, "--remount-ro", "/")
	if w.proc {
		out = append(out, covers()...)
		// Root may write /proc/sys and sysrq-trigger without any capability, and bubblewrap does not cover them where users have a namespace.
		out = append(out, "--remount-ro", "/proc")
	}
	return append(out, "--chdir", l.dir, "--", helperAt), nil
}

// system shows the system's folders and makes the box's own ones.
func (w bubblewrap) system() ([]string, error) {
	var out []string
	for _, dir := range systemFolders() {
		if strings.HasPrefix(dir, "/run/") {
			continue // after the box's own /run
		}
		out = append(out, show(dir)...)
	}
	if w.proc {
		out = append(out, "--proc", "/proc")
	}
	out = append(out, "--dev", "/dev")
	for _, dir := range append([]string{"/dev/shm"}, w.fresh()...) {
		if w.sized {
			out = append(out, "--size", strconv.FormatInt(max(w.conf.Memory/4, 1<<20), 10))
		}
		out = append(out, "--tmpfs", dir)
	}
	out = append(out, "--remount-ro", "/dev")
	out = append(out, "--symlink", "/run", "/var/run")
	out = append(out, show("/run/current-system")...)
	if w.conf.Network {
		out = append(out, names()...)
	}
	if _, err := os.Stat(w.conf.Self); err != nil {
		return nil, fmt.Errorf("hob's own executable, which confines: %w", err)
	}
	return append(out, "--ro-bind", w.conf.Self, helperAt), nil
}

// fresh are the box's own empty folders.
func (w bubblewrap) fresh() []string {
	list := []string{"/tmp", "/var/tmp", "/run"}
	if home := w.home(); home != "" {
		list = append(list, home)
	}
	return list
}

// home is the owner's home, where a box may have an empty one.
func (w bubblewrap) home() string {
	home := filepath.Clean(w.conf.Home)
	if w.conf.Home == "" || slices.ContainsFunc(append(systemFolders(), "/proc", "/sys", "/dev"), func(dir string) bool {
		return within(dir, home) || within(home, dir)
	}) {
		return ""
	}
	return home
}

// show binds a folder of the system, or makes the symbolic link that it is (/bin to usr/bin).
func show(dir string) []string {
	if target, err := os.Readlink(dir); err == nil {
		return []string{"--symlink", target, dir}
	}
	return []string{"--ro-bind-try", dir, dir}
}

// names binds the file that says who resolves names, where it lies in /run.
func names() []string {
	path, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil || !within("/run", path) {
		return nil
	}
	return []string{"--ro-bind-try", path, path}
}

// bind shows a view, the one with this number.
func (w bubblewrap) bind(v view, number int) []string {
	bind, from := "--ro-bind", v.from
	if v.write {
		bind = "--bind"
	}
	if w.fds {
		bind, from = bind+"-fd", strconv.Itoa(firstView+number)
	}
	return []string{bind, from, v.at}
}

// masks adds what no box sees, whatever it names.
func (w bubblewrap) masks(l *layout) error {
	for _, path := range append(slices.Clone(w.private), doors()...) {
		if err := l.hide(path); err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	aliases, err := aliases(l.state, l.views)
	if err != nil {
		return err
	}
	for _, m := range aliases {
		l.mask(m)
	}
	return nil
}

// hidden covers what is masked, and shows the scratch folder that may lie in it.
func (w bubblewrap) hidden(l layout) []string {
	var out, last []string
	for _, m := range l.masks {
		if m.folder {
			out = append(out, "--tmpfs", m.at)
			last = append(last, "--remount-ro", m.at)
		} else {
			out = append(out, "--ro-bind", os.DevNull, m.at) // mounted without devices, so that it cannot even be opened
		}
	}
	if l.scratch != nil {
		out = append(out, w.bind(*l.scratch, len(l.views))...)
	}
	return append(out, last...)
}

// covers hides what a new /proc tells of the machine beyond the box: keys, timers, memory.
func covers() []string {
	var out []string
	for _, name := range []string{"acpi", "asound", "scsi", "kcore", "keys", "key-users", "kallsyms", "kmsg", "latency_stats", "timer_list", "sched_debug", "sysrq-trigger"} {
		path := "/proc/" + name
		info, err := os.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			out = append(out, "--tmpfs", path, "--remount-ro", path)
		default:
			out = append(out, "--ro-bind", os.DevNull, path)
		}
	}
	return out
}

// closed lists what below a folder others may not read: keys and password hashes that root, and who shares a group with them, may.
func closed(root string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || info.Mode().Perm()&0o004 != 0 {
			return err
		}
		list = append(list, path)
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for what is private below %s: %w", root, err)
	}
	return list, nil
}
