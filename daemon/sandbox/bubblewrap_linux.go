package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hob/daemon/sys"
)

// helperAt is the path of hob's own executable inside a sandbox.
const helperAt = "/run/hob/hob"

// systemFolders lists the folders of the machine that every sandbox sees, read only. Everything else (srv, mnt, var, boot, other homes)
// does not exist inside.
func systemFolders() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu/store", "/run/current-system",
		"/var/lib/ca-certificates",
	}
}

// hostSockets lists the places of sockets through which a process could make others act for it: display, session bus, container runtimes,
// agents. Every sandbox hides them.
func hostSockets() []string {
	list := []string{
		"/tmp/.X11-unix", "/tmp/.ICE-unix", "/run/user", "/run/dbus", "/run/docker.sock", "/run/docker", "/run/containerd", "/run/crio",
		"/run/podman", "/run/systemd", "/run/libvirt", "/run/lxd", "/var/lib/lxd", "/var/snap/lxd", "/run/snapd.socket", "/run/snapd-snap.socket",
	}
	agents, err := filepath.Glob("/tmp/ssh-*")
	if err != nil {
		return list // impossible: the pattern is well formed
	}
	return append(list, agents...)
}

// bubblewrap makes command lines for bwrap(1). Its fields say which of bwrap's features work on this machine.
type bubblewrap struct {
	conf    Config
	program string
	users   bool     // it gets a user namespace of its own
	nested  bool     // no further user namespace can be made inside
	sized   bool     // the size of its temporary folders can be limited
	proc    bool     // it has a /proc
	fds     bool     // bwrap gets the folders to bind as file descriptors, so that a name that was replaced meanwhile does no harm
	asks    bool     // the kernel asks hob about the paths of sockets and FIFOs, see Calls
	private []string // files in the system's folders that are not world-readable; no sandbox sees them
}

// find tries bubblewrap with each variant, the strictest first, and keeps the first one that works. Kernels, containers and old versions
// of bwrap allow different subsets.
func find(ctx context.Context, c Config) finding {
	none := State{Kind: "none"}
	// After an upgrade the running program may have no file any more, and no sandbox could be made.
	if _, err := os.Stat(c.Self); err != nil {
		none.Why, none.Hint = fmt.Sprintf("hob's own executable, which confines, cannot be found: %v", err), "start hob again"
		return finding{state: none}
	}
	program, err := c.program("bwrap")
	if err != nil {
		none.Why, none.Hint = "bubblewrap is not installed: "+err.Error(), "install bubblewrap, for example: "+sys.PackageCommand("bubblewrap", false)
		return finding{state: none}
	}
	// Old versions of bwrap refuse options that they do not know, so their list is read first.
	help, err := output(ctx, exec.Command(program, "--help")) // #nosec G204 -- no outside input
	if err != nil {
		none.Why, none.Hint = err.Error(), "reinstall bubblewrap"
		return finding{state: none}
	}
	private, err := closed("/etc")
	if err != nil {
		none.Why = err.Error()
		return finding{state: none}
	}
	// The error of the strictest variant tells best what this machine lacks.
	first := ""
	for _, w := range variants(bytes.Contains(help, []byte("--disable-userns"))) {
		w.conf, w.program, w.private, w.sized = c, program, private, bytes.Contains(help, []byte("--size"))
		err := w.try(ctx)
		if err == nil {
			// These two are improvements only, so their failure does not reject the variant.
			byFD, asks := w, w
			if byFD.fds = true; byFD.try(ctx) == nil {
				w.fds = true
			}
			if asks.asks = supervisable(); asks.asks && asks.try(ctx) == nil {
				w.asks = true
			}
			return finding{state: w.state(first), wrap: w.wrap, own: []string{c.Self, program}}
		}
		if first == "" {
			first = err.Error()
		}
	}
	none.Why, none.Hint = "bubblewrap does not work: "+first, setupHint()
	return finding{state: none}
}

// variants lists the combinations of features that bubblewrap is tried with, the strictest first. nested says whether this bwrap knows
// --disable-userns.
func variants(nested bool) []bubblewrap {
	list := []bubblewrap{{users: true, nested: true, proc: true}, {users: true, proc: true}}
	// Root can make the other namespaces without a user namespace.
	if os.Geteuid() == 0 {
		list = append(list, bubblewrap{proc: true})
	}
	// Where parts of /proc are covered, as in many containers, the kernel refuses to mount a new one. The host's own /proc must stay
	// hidden, so this variant has none.
	list = append(list, bubblewrap{users: true})
	return slices.DeleteFunc(list, func(w bubblewrap) bool { return w.nested && !nested })
}

// try runs a shell in a minimal sandbox. The shell must work, must see few processes and must not see hob's state folder.
func (w bubblewrap) try(ctx context.Context) error {
	root, err := hold("/usr")
	if err != nil {
		return err
	}
	l := layout{dir: "/usr", here: root, offline: !w.conf.Network, state: w.conf.State, opened: []*held{root}, views: []view{{at: "/usr", from: "/usr", is: root}}}
	// A low process id proves the PID namespace.
	c, err := w.wrap(l, []string{"/bin/sh", "-c", `test ! -e "$1" && test "$$" -lt 10 && echo inside`, "sh", w.conf.State}, nil)
	if err != nil {
		return errors.Join(err, l.release())
	}
	cmd := new(exec.Cmd)
	if w.conf.Mark != "" {
		cmd.Env = []string{w.conf.Mark}
	}
	c.Prepare(cmd)
	group := sys.NewGroup(slog.New(slog.DiscardHandler), nil)
	group.Once("calls of the probe", c.serve)
	out, err := output(ctx, cmd)
	if err == nil && string(out) != "inside\n" {
		err = fmt.Errorf("the trial said %q", out)
	}
	err = errors.Join(err, c.Close())
	group.Wait()
	return err
}

// state describes a variant that works. first is the error of the strictest variant that did not.
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
	// A sandbox that works may still lack a layer. Why says which, for the owner.
	var missing []string
	if !w.proc {
		missing = append(missing, "no /proc, since a new one may not be mounted here ("+first+")")
		s.Hint = "a service must not have ProtectKernelTunables, a container needs an uncovered /proc"
	}
	if filters() && !w.asks {
		missing = append(missing, "only socket pairs and no FIFOs: the kernel is older than 5.19, or a container forbids watching calls")
	}
	s.Why = strings.Join(append(missing, helperGaps()...), "; ")
	return s
}

// setupHint tells the owner how to make an installed bubblewrap work.
func setupHint() string {
	for path, bad := range map[string]string{
		"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1", "/proc/sys/kernel/unprivileged_userns_clone": "0", "/proc/sys/user/max_user_namespaces": "0",
	} {
		text, err := os.ReadFile(path) // #nosec G304 -- the three above
		if err != nil || strings.TrimSpace(string(text)) != bad {
			continue
		}
		if strings.Contains(path, "apparmor") {
			return "AppArmor forbids user namespaces; allow hob to make one: the package does, and docs/sandbox.md has the profile for other installations"
		}
		return "the kernel forbids user namespaces; allow them: " + path
	}
	return "user namespaces are forbidden here, perhaps by a container; give hob a machine of its own, or set [tools.exec] sandbox"
}

// wrap turns a layout into a Command: the masks, the bwrap command line, then the instructions for package entry inside.
func (w bubblewrap) wrap(l layout, argv, env []string) (*Command, error) {
	mounted, err := mountTable()
	if err != nil {
		return nil, err
	}
	if err := w.masks(&l, mounted); err != nil {
		return nil, err
	}
	line, err := w.argv(l)
	if err != nil {
		return nil, err
	}
	// The order is written last, because it checks exactly the views and masks of the command line.
	order, err := w.order(l, mounted, argv, env)
	if err != nil {
		return nil, err
	}
	c, err := handOver(line, order, l)
	if err == nil && w.fds {
		c.inherit()
	}
	return c, err
}

// argv returns the command line of bwrap, which makes the mounts in this order. Later mounts cover earlier ones.
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
	if l.offline {
		out = append(out, "--unshare-net")
	}
	system, err := w.system(l)
	if err != nil {
		return nil, err
	}
	for _, dir := range systemFolders() {
		if !strings.HasPrefix(dir, "/run/") { // the sandbox's own /run is mounted later, see system
			out = append(out, show(dir)...)
		}
	}
	// bwrap reads the table of mounts once for each bind, so these masks come before the mounts that need no bind.
	apart, rest := l.masksApart()
	masked, last := cover(apart)
	out = append(append(out, masked...), last...)
	out = append(out, system...)
	for i, v := range l.views {
		out = append(out, w.bind(v, i)...)
	}
	// Masks come after the views, because they cover parts of them.
	out = append(out, w.hidden(l, rest)...)
	// The root itself is a tmpfs that the command could fill. Nothing needs that, so it becomes read only.
	out = append(out, "--remount-ro", "/")
	if w.proc {
		out = append(out, covers()...)
		// Root may write /proc/sys and sysrq-trigger without any capability, and bubblewrap does not cover them if there is a user
		// namespace.
		out = append(out, "--remount-ro", "/proc")
	}
	return append(out, "--chdir", l.dir, "--", helperAt), nil
}

// system mounts what each sandbox has for itself: /proc, /dev and empty folders.
func (w bubblewrap) system(l layout) ([]string, error) {
	var out []string
	if w.proc {
		out = append(out, "--proc", "/proc")
	}
	out = append(out, "--dev", "/dev")
	for _, dir := range PrivateFolders(w.home()) {
		if w.sized {
			out = append(out, "--size", strconv.FormatInt(max(w.conf.Memory/4, 1<<20), 10))
		}
		out = append(out, "--tmpfs", dir)
	}
	out = append(out, "--remount-ro", "/dev")
	out = append(out, "--symlink", "/run", "/var/run")
	out = append(out, show("/run/current-system")...)
	if !l.offline {
		out = append(out, resolverFile()...)
	}
	if _, err := os.Stat(w.conf.Self); err != nil {
		return nil, fmt.Errorf("hob's own executable, which confines: %w", err)
	}
	return append(out, "--ro-bind", w.conf.Self, helperAt), nil
}

// home returns the path of the empty home inside a sandbox. It is "" if the home is unknown or would cover a system folder.
func (w bubblewrap) home() string {
	home := filepath.Clean(w.conf.Home)
	if w.conf.Home == "" || slices.ContainsFunc(append(systemFolders(), "/proc", "/sys", "/dev"), func(dir string) bool {
		return within(dir, home) || within(home, dir)
	}) {
		return ""
	}
	return home
}

// show binds a system folder. If the folder is a symbolic link (/bin to usr/bin), it makes the same link instead.
func show(dir string) []string {
	if target, err := os.Readlink(dir); err == nil {
		return []string{"--symlink", target, dir}
	}
	return []string{"--ro-bind-try", dir, dir}
}

// resolverFile binds the target of /etc/resolv.conf if that is below /run (systemd-resolved). Names could not be resolved without it.
func resolverFile() []string {
	path, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil || !within("/run", path) {
		return nil
	}
	return []string{"--ro-bind-try", path, path}
}

// bind shows a view. number is its place among the inherited descriptors.
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

// masks hides what no sandbox may see, whatever its Spec names: private system files, host sockets, and other mounts of the state folder.
func (w bubblewrap) masks(l *layout, mounted []mount) error {
	for _, path := range append(slices.Clone(w.private), hostSockets()...) {
		if err := l.hide(path); err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
	}
	for _, m := range aliases(l.state, l.views, mounted) {
		l.mask(m)
	}
	return nil
}

// hidden mounts masks. The scratch folder may be below a masked folder, so it is bound before the masks become read only.
func (w bubblewrap) hidden(l layout, masks []mask) []string {
	out, last := cover(masks)
	if l.scratch != nil {
		out = append(out, w.bind(*l.scratch, len(l.views))...)
	}
	return append(out, last...)
}

// cover mounts an empty tmpfs over folders and /dev/null over files. The options in last make the folders read only.
func cover(masks []mask) (out, last []string) {
	for _, m := range masks {
		if m.folder {
			out = append(out, "--tmpfs", m.at)
			last = append(last, "--remount-ro", m.at)
		} else {
			out = append(out, "--ro-bind", os.DevNull, m.at) // bind mounts carry nodev, so opening it fails
		}
	}
	return out, last
}

// covers hides the files of a new /proc that still describe the whole machine: keys, timers, memory.
func covers() []string {
	var out []string
	for _, name := range []string{
		"acpi", "asound", "scsi", "kcore", "keys", "key-users", "kallsyms", "kmsg", "latency_stats", "timer_list", "sched_debug", "sysrq-trigger",
		"slabinfo", "vmallocinfo", "pagetypeinfo", "config.gz",
	} {
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

// closed lists what is below a folder and readable by hob, but not by everyone: keys and password hashes. hob can read them if it runs as
// root or shares their group.
func closed(root string) ([]string, error) {
	var list []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		// What hob cannot read, the command cannot read either: it runs as the same user.
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
		// Each mask costs time at the start of each command, so there is none for what the kernel refuses anyway. A folder may let hob
		// through although it cannot be listed.
		if unix.Access(path, unix.R_OK) == nil || unix.Access(path, unix.X_OK) == nil {
			list = append(list, path)
		}
		// A mask over the folder hides everything below it.
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list private files below %s: %w", root, err)
	}
	return list, nil
}
