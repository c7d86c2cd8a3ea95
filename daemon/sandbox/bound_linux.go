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

// maxProcesses is how many processes one box has at most; a control group counts threads too.
const maxProcesses = 2000

// where control groups are, and the one that hob moves into: a group in which others are made may hold no process of its own
// (https://docs.kernel.org/admin-guide/cgroup-v2.html, "No Internal Process Constraint").
const (
	groupsAt = "/sys/fs/cgroup"
	ownGroup = "hob"
)

// Bound keeps the processes of one box within its limits of memory and number: a control group does where hob has been given one, else
// the caller asks Over from time to time.
type Bound struct {
	memory int64
	above  string // the control group in which one is made; "": none
	dir    string // the one that was made
	file   *os.File
}

// halfMemory is half of the machine's.
func halfMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 1 << 30 // cannot be: the address is good
	}
	return int64(info.Totalram) * int64(info.Unit) / 2 // #nosec G115 -- far below
}

// delegated is the control group in which hob may make others, since systemd has given it to hob (Delegate=, systemd.resource-control(5)).
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
		return "", errors.New("hob was given no control group of its own: its service has Delegate=yes")
	}
	return dir, divide(dir)
}

// divide moves what is in a control group into one below it, so that others can stand beside that, and tries whether a process can be
// started in one.
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
		if err := set(own, "cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	if err := set(dir, "cgroup.subtree_control", "+memory +pids"); err != nil {
		return err
	}
	b := &Bound{memory: 1 << 30, above: dir}
	cmd := exec.Command("/bin/sh", "-c", ":")
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if err = b.Attach(cmd.SysProcAttr); err == nil {
		err = cmd.Run()
	}
	_, closing := b.Close()
	return errors.Join(err, closing)
}

func set(dir, name, value string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600) // #nosec G703 -- of the kernel's file system
}

// Attach has a process that is started with attr begin in the box's control group, where there is one. Close is called then, also when
// the process could not be started.
func (b *Bound) Attach(attr *syscall.SysProcAttr) (err error) {
	if b.above == "" {
		return nil
	}
	if b.dir, err = os.MkdirTemp(b.above, "box-"); err != nil {
		return fmt.Errorf("make a control group: %w", err)
	}
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
	attr.UseCgroupFD, attr.CgroupFD = true, int(b.file.Fd()) // #nosec G115 -- a descriptor
	return nil
}

// Close gives the control group back when all that was in it has ended, and says what was over its limits; "": nothing.
func (b *Bound) Close() (over string, err error) {
	if b.dir == "" {
		return "", nil
	}
	if b.file != nil {
		err = b.file.Close()
	}
	over = b.met()
	err = errors.Join(err, unix.Rmdir(b.dir))
	b.dir, b.file = "", nil
	return over, err
}

// met is which limit the control group has met (memory.events and pids.events).
func (b *Bound) met() string {
	switch {
	case happened(b.dir, "memory.events", "oom_kill"):
		return b.tooMuch()
	case happened(b.dir, "pids.events", "max"):
		return tooMany()
	}
	return ""
}

// happened says whether a counter of a control group is above zero.
func happened(dir, file, counter string) bool {
	n := value(filepath.Join(dir, file), counter)
	return n != "" && n != "0"
}

// Watched says whether Over must be asked.
func (b *Bound) Watched() bool { return b.above == "" }

// Over says that the box whose first process is pid takes more than it may; "": it does not. Memory that processes share counts once.
func (b *Bound) Over(pid int) string {
	list := family(pid, nil)
	if len(list) > maxProcesses {
		return tooMany()
	}
	if sum(list, resident) > b.memory && sum(list, proportional) > b.memory {
		return b.tooMuch()
	}
	return ""
}

// family lists a process and all that descend from it. In a box nobody has another parent than one in it.
func family(pid int, list []int) []int {
	list = append(list, pid)
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil || len(list) > maxProcesses {
		return list
	}
	for _, task := range tasks {
		text, err := os.ReadFile(task) // #nosec G304 -- of the kernel's file system
		if err != nil {
			continue // it has ended
		}
		for _, word := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(word); err == nil {
				list = family(child, list)
			}
		}
	}
	return list
}

func sum(list []int, of func(pid int) int64) (all int64) {
	for _, pid := range list {
		all += of(pid)
	}
	return all
}

// resident is what a process has in memory, what it shares included; proportional is that with its part of what is shared (proc(5)).
func resident(pid int) int64 { return kilobytes(pid, "status", "VmRSS:") }

func proportional(pid int) int64 { return kilobytes(pid, "smaps_rollup", "Pss:") }

// kilobytes is a value of a file about a process, in bytes; 0: the process has ended.
func kilobytes(pid int, file, name string) int64 {
	n, err := strconv.ParseInt(value(fmt.Sprintf("/proc/%d/%s", pid, file), name), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// value is the word after a name in a file of the kernel's, "" when there is none.
func value(path, name string) string {
	text, err := os.ReadFile(path) // #nosec G304 -- of the kernel's file systems
	words := strings.Fields(string(text))
	if at := slices.Index(words, name); err == nil && at >= 0 && at+1 < len(words) {
		return words[at+1]
	}
	return ""
}
