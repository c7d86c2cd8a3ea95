//go:build linux && (amd64 || arm64)

package sandbox

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The fields of what a filter judges (struct seccomp_data in linux/seccomp.h), by their offset; of an argument the lower half.
const (
	dataCall = 0
	dataArch = 4
	dataArg0 = 16
	dataArg1 = 24
)

// x32 is the bit of calls in the x32 form, which would pass a list of plain numbers.
const x32 = 0x40000000

// What a filter answers.
const (
	sayYes     = unix.SECCOMP_RET_ALLOW
	sayNo      = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	sayUnknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// newUsers is the flag of unshare and clone that makes a user namespace, in which a process would have all capabilities.
const newUsers = unix.CLONE_NEWUSER

// refused are the calls that no chore needs, and by which kernels have been broken: mounts, keys that no namespace keeps apart, programs for
// the kernel, and what only root may do anyway.
func refused() []uint32 {
	return []uint32{
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK,
		unix.SYS_MOUNT_SETATTR, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_QUOTACTL,
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_SYSLOG,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_REBOOT, unix.SYS_SWAPON,
		unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_VHANGUP, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
		unix.SYS_FANOTIFY_INIT,
	}
}

// unknown are the calls that programs do without when the kernel does not have them: clone3, whose flags a filter cannot read, for clone.
func unknown() []uint32 {
	return []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}
}

// flagged are the calls that are refused for one value or flag of an argument.
func flagged() []flag {
	return []flag{
		{call: unix.SYS_UNSHARE, arg: dataArg0, value: newUsers, bit: true},
		{call: unix.SYS_CLONE, arg: dataArg0, value: newUsers, bit: true},
		{call: unix.SYS_IOCTL, arg: dataArg1, value: unix.TIOCSTI},   // types into a terminal
		{call: unix.SYS_IOCTL, arg: dataArg1, value: unix.TIOCLINUX}, // pastes into a console
	}
}

type flag struct {
	call, arg, value uint32
	bit              bool // any of value's bits, not exactly value
}

func filters() bool { return true }

// program is the filter: a list in which every entry is decided where it stands, so that no jump is longer than one entry.
func program() []unix.SockFilter {
	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	p := []unix.SockFilter{load(dataArch), jump(unix.BPF_JEQ, arch, 1, 0), give(sayUnknown), load(dataCall)} // 32-bit programs do not run in a box
	if runtime.GOARCH == "amd64" {
		p = append(p, jump(unix.BPF_JGE, x32, 0, 1), give(sayUnknown))
	}
	for _, call := range refused() {
		p = append(p, jump(unix.BPF_JEQ, call, 0, 1), give(sayNo))
	}
	for _, call := range unknown() {
		p = append(p, jump(unix.BPF_JEQ, call, 0, 1), give(sayUnknown))
	}
	for _, f := range flagged() {
		test := uint16(unix.BPF_JEQ)
		if f.bit {
			test = unix.BPF_JSET
		}
		p = append(p, jump(unix.BPF_JEQ, f.call, 0, 4), load(f.arg), jump(test, f.value, 0, 1), give(sayNo), load(dataCall))
	}
	return append(p, give(sayYes))
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func jump(test uint16, value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, Jt: yes, Jf: no, K: value}
}

func give(answer uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer}
}

// filter puts the seccomp filter on this thread.
func filter() error {
	p := program()
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}                                                     // #nosec G115 -- some 120
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog))) // #nosec G103 -- the call's own form
	if errno != 0 {
		return errno
	}
	return nil
}
