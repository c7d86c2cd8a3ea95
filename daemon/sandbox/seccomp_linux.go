//go:build linux && (amd64 || arm64)

package sandbox

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"hob/daemon/sandbox/entry"
)

// The fields of what a filter judges (struct seccomp_data in linux/seccomp.h), by their offset; of an argument the lower half.
const (
	dataCall = 0
	dataArch = 4
	dataArg0 = 16
	dataArg1 = 24
	dataArg2 = 32
	dataArg3 = 40
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

// unknown are the calls that programs do without when the kernel does not have them: clone3 and openat2, whose flags a filter cannot read,
// for clone and openat.
func unknown() []uint32 {
	return []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}
}

// setID are the bits of a mode by which a file outside would run with the rights of hob's user or group.
const setID = unix.S_ISUID | unix.S_ISGID

// makes are the flags of open with which its mode counts; without them the argument holds anything. O_TMPFILE holds O_DIRECTORY too.
const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// flagged are the calls that are refused for one value or flag of an argument. Those about modes are systemd's list (RestrictSUIDSGID in
// src/shared/seccomp-util.c), and files without a name.
func flagged() []flag {
	return append([]flag{
		{call: unix.SYS_UNSHARE, tests: []test{{dataArg0, newUsers, true}}},
		{call: unix.SYS_CLONE, tests: []test{{dataArg0, newUsers, true}}},
		{call: unix.SYS_IOCTL, tests: []test{{dataArg1, unix.TIOCSTI, false}}},   // types into a terminal
		{call: unix.SYS_IOCTL, tests: []test{{dataArg1, unix.TIOCLINUX, false}}}, // pastes into a console
		{call: unix.SYS_FCHMOD, tests: []test{{dataArg1, setID, true}}},
		{call: unix.SYS_FCHMODAT, tests: []test{{dataArg2, setID, true}}},
		{call: unix.SYS_FCHMODAT2, tests: []test{{dataArg2, setID, true}}},
		{call: unix.SYS_MKNODAT, tests: []test{{dataArg2, setID, true}}},
		{call: unix.SYS_MKDIRAT, tests: []test{{dataArg2, setID, true}}},
		{call: unix.SYS_OPENAT, tests: []test{{dataArg2, makes, true}, {dataArg3, setID, true}}},
	}, olderModes()...)
}

// flag is a call that is refused where all tests hold.
type flag struct {
	call  uint32
	tests []test
}

type test struct {
	arg, value uint32
	bit        bool // any of value's bits, not exactly value
}

func filters() bool { return true }

// program is the filter: a list in which every entry is decided where it stands, so that no jump leads beyond its entry.
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
		rest := uint8(2*len(f.tests) + 2) // #nosec G115 -- of one or two tests
		p = append(p, jump(unix.BPF_JEQ, f.call, 0, rest))
		for _, t := range f.tests {
			is := uint16(unix.BPF_JEQ)
			if t.bit {
				is = unix.BPF_JSET
			}
			rest -= 2
			p = append(p, load(t.arg), jump(is, t.value, 0, rest-1))
		}
		p = append(p, give(sayNo), load(dataCall))
	}
	return append(p, give(sayYes))
}

func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

func jump(is uint16, value uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | is | unix.BPF_K, Jt: yes, Jf: no, K: value}
}

func give(answer uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: answer}
}

// filter adds the seccomp filter to an order.
func filter(order []byte) []byte {
	p := program()
	return entry.Append(order, entry.Seccomp, string(unsafe.Slice((*byte)(unsafe.Pointer(&p[0])), len(p)*unix.SizeofSockFilter))) // #nosec G103 -- the kernel's own form
}
