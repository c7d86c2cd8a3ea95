package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxProcesses is the largest number of processes in one sandbox. A control group counts threads too.
const maxProcesses = 2000

// groupsAt is the mount point of the control groups. hob moves itself into the subgroup ownGroup, because a group that has subgroups with
// controllers may hold no process of its own (https://docs.kernel.org/admin-guide/cgroup-v2.html, "No Internal Process Constraint").
const (
	groupsAt = "/sys/fs/cgroup"
	ownGroup = "hob"
)

// Bound limits the memory and the number of processes of one sandbox. If systemd delegated a control group to hob, the kernel enforces
// both limits. Otherwise the caller must poll Over and end the sandbox itself.
type Bound struct {
	memory int64
	above  string // the control group in which Attach makes one for this sandbox; "": none
	dir    string // the control group that Attach made
	file   *os.File
}

// halfMemory returns half of the machine's memory, in bytes.
func halfMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 1 << 30 // impossible: the address is valid
	}
	return int64(info.Totalram) * int64(info.Unit) / 2 // #nosec G115 -- far below
}

// delegated returns the control group in which hob may make others. systemd marks it with the extended attribute user.delegate when the
// service has Delegate= (systemd.resource-control(5)).
func delegated() (string, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(groupsAt, &st); err != nil || st.Type != unix.CGROUP2_SUPER_MAGIC {
		return "", errors.New("no control groups of version 2 here")
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	_, path, _ := strings.Cut(strings.TrimSpace(string(text)), "0::")
	dir := strings.TrimSuffix(filepath.Join(groupsAt, path), "/"+ownGroup)
	mark := make([]byte, 8)
	n, err := unix.Getxattr(dir, "user.delegate", mark)
	if err != nil || string(mark[:n]) != "1" {
		return "", errors.New("hob has no control group of its own; the service that hob installs has one (Delegate=yes)")
	}
	return dir, divide(dir)
}

// divide moves the processes of a control group into the subgroup ownGroup, so that sandboxes can get groups next to it. Then it starts
// one process in a new group to prove that this works.
func divide(dir string) error {
	own := filepath.Join(dir, ownGroup)
	if err := os.Mkdir(own, 0o700); err != nil && !errors.Is(err, fs.ErrExist) { // #nosec G703 -- of the kernel's file system
		return err
	}
	list, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // #nosec G703 -- of the kernel's file system
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(string(list)) {
		// ESRCH: the process has ended since the list was read.
		if err := set(own, "cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	if err := set(dir, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return err
	}
	// The settings may be accepted and a process in the group still be refused, so one is started.
	b := &Bound{memory: 1 << 30, above: dir}
	cmd := exec.Command("/bin/sh", "-c", ":")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if err = b.Attach(cmd.SysProcAttr); err == nil {
		err = cmd.Run()
	}
	_, closing := b.Close()
	return errors.Join(err, closing)
}

// set writes a value into a file of a control group.
func set(dir, name, value string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600) // #nosec G703 -- of the kernel's file system
}

// Attach makes a control group for the sandbox and sets attr so that the process starts inside it. It does nothing if hob has no
// delegated group. The caller calls Close afterwards, also if the process could not be started.
func (b *Bound) Attach(attr *syscall.SysProcAttr) (err error) {
	if b.above == "" {
		return nil
	}
	if b.dir, err = os.MkdirTemp(b.above, "box-"); err != nil {
		return fmt.Errorf("make a control group: %w", err)
	}
	// memory.oom.group makes the kernel end all processes of the sandbox together, not one at random.
	for _, limit := range [][2]string{{"memory.max", strconv.FormatInt(b.memory, 10)}, {"memory.oom.group", "1"}, {"pids.max", strconv.Itoa(maxProcesses)}} {
		if err := set(b.dir, limit[0], limit[1]); err != nil {
			return fmt.Errorf("limit a control group: %w", err)
		}
	}
	if err := set(b.dir, "memory.swap.max", "0"); err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without swap has no such file
		return fmt.Errorf("limit a control group: %w", err)
	}
	if b.file, err = os.Open(b.dir); err != nil {
		return fmt.Errorf("open a control group: %w", err)
	}
	// The kernel starts the process inside the group (clone3(2), CLONE_INTO_CGROUP), so it is limited from its first instruction.
	attr.UseCgroupFD, attr.CgroupFD = true, int(b.file.Fd()) // #nosec G115 -- a descriptor
	return nil
}

// Close removes the control group after all of its processes have ended. over names the limit that was reached; "": none.
func (b *Bound) Close() (over string, err error) {
	if b.dir == "" {
		return "", nil
	}
	if b.file != nil {
		err = b.file.Close()
	}
	// The counters disappear with the group, so they are read first.
	over = b.reached()
	err = errors.Join(err, unix.Rmdir(b.dir))
	b.dir, b.file = "", nil
	return over, err
}

// reached names the limit that the control group reached, from the counters in memory.events and pids.events. "" means none.
func (b *Bound) reached() string {
	switch {
	case happened(b.dir, "memory.events", "oom_kill"):
		return b.overMemory()
	case happened(b.dir, "pids.events", "max"):
		return overProcesses()
	}
	return ""
}

// happened reports whether a counter of a control group is above zero.
func happened(dir, file, counter string) bool {
	n := value(filepath.Join(dir, file), counter)
	return n != "" && n != "0"
}

// Watched reports whether the caller must poll Over.
func (b *Bound) Watched() bool { return b.above == "" }

// Over names the limit that the sandbox with the first process pid exceeds; "": none. Memory that several processes share counts once:
// the cheap sum of resident memory is checked first, the exact proportional sum only if that is too large.
func (b *Bound) Over(pid int) string {
	threads := 0
	list := descendants(pid, nil, &threads)
	if threads > maxProcesses {
		return overProcesses()
	}
	if sum(list, resident) > b.memory && sum(list, proportional) > b.memory || sum(list, virtual) > b.memory && shared(list) > b.memory {
		return b.overMemory()
	}
	return ""
}

// descendants lists a process and everything that descends from it, and counts their threads. Orphans are not lost: inside the PID
// namespace their new parent is its first process.
func descendants(pid int, list []int, threads *int) []int {
	list = append(list, pid)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	// Beyond the limit the exact number does not matter.
	if *threads += len(tasks); err != nil || *threads > maxProcesses {
		return list
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task) // #nosec G304 -- of the kernel's file system
		if err != nil {
			continue // it has ended
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = descendants(child, list, threads)
			}
		}
	}
	return list
}

// shared is the size of the shared mappings without a file, each counted once. Their pages stay when no process has them in its tables,
// so the other sums may miss them. Other memory of this kind, with a name or a descriptor, is refused by the filter.
func shared(list []int) (all int64) {
	seen := map[string]bool{}
	for _, pid := range list {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid)) // #nosec G304 -- nothing if it has ended
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line) // from-to, rights, offset, device, inode, path (proc(5))
			if len(f) < 6 || f[5] != "/dev/zero" || seen[f[4]+f[2]] {
				continue
			}
			seen[f[4]+f[2]] = true
			var from, to int64
			if _, err := fmt.Sscanf(f[0], "%x-%x", &from, &to); err == nil {
				all += to - from
			}
		}
	}
	return all
}

func sum(list []int, of func(pid int) int64) (all int64) {
	for _, pid := range list {
		all += of(pid)
	}
	return all
}

// resident is the memory of a process including pages that it shares. proportional counts its share of those only (proc(5), VmRSS and
// Pss).
func resident(pid int) int64 { return kilobytes(pid, "status", "VmRSS:") }

func virtual(pid int) int64 { return kilobytes(pid, "status", "VmSize:") }

func proportional(pid int) int64 { return kilobytes(pid, "smaps_rollup", "Pss:") }

// kilobytes reads a size from a file about a process and returns it in bytes; 0: the process has ended.
func kilobytes(pid int, file, name string) int64 {
	n, err := strconv.ParseInt(value(fmt.Sprintf("/proc/%d/%s", pid, file), name), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// value returns the word that follows name in a kernel file; "": there is none.
func value(path, name string) string {
	text, err := os.ReadFile(path) // #nosec G304 -- of the kernel's file systems
	words := strings.Fields(string(text))
	if at := slices.Index(words, name); err == nil && at >= 0 && at+1 < len(words) {
		return words[at+1]
	}
	return ""
}
