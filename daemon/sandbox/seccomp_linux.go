//go:build linux && (amd64 || arm64)

package sandbox

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"hob/daemon/sandbox/entry"
)

// Offsets of the fields that a filter can read (struct seccomp_data in linux/seccomp.h). For an argument this is its lower half.
const (
	dataCall = 0
	dataArch = 4
	dataArg0 = 16
	dataArg1 = 24
	dataArg2 = 32
	dataArg3 = 40
)

// x32 is the bit that marks calls of the x32 ABI. Without a check they would pass a list of plain numbers.
const x32 = 0x40000000

// The answers of a filter: allow the call, fail with EPERM, or fail with ENOSYS as an old kernel would.
const (
	sayYes     = unix.SECCOMP_RET_ALLOW
	sayNo      = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	sayUnknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// newUsers is the flag of unshare and clone that makes a user namespace. A process has all capabilities inside one.
const newUsers = unix.CLONE_NEWUSER

// refused lists calls that no chore needs and that have been used to break kernels: mounts, keys (which no namespace separates), programs
// for the kernel, and calls that only root may make anyway.
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

// unknown lists calls that fail as if the kernel did not have them. Programs fall back then: from clone3 to clone and from openat2 to
// openat, whose flags a filter can read.
func unknown() []uint32 {
	return []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}
}

// setID are the mode bits that make a file run with the rights of its owner or group. Outside of the sandbox that would be hob's user.
const setID = unix.S_ISUID | unix.S_ISGID

// makes are the flags of open that make its mode argument count; otherwise it holds arbitrary bits. O_TMPFILE includes O_DIRECTORY, which
// is removed here.
const makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// flagged lists calls that are refused for certain argument values. Those about modes follow systemd's RestrictSUIDSGID
// (src/shared/seccomp-util.c), with unnamed files added.
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

// flag is a call that is refused if all tests match.
type flag struct {
	call  uint32
	tests []test
}

// test compares one argument of a call.
type test struct {
	arg, value uint32
	bit        bool // true: any bit of value is set; false: the argument equals value
}

// filters reports whether there is a filter for this processor.
func filters() bool { return true }

// program returns the filter as a list of BPF instructions. Each entry is decided on the spot: no jump leaves its own entry.
func program() []unix.SockFilter {
	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	p := []unix.SockFilter{load(dataArch), jump(unix.BPF_JEQ, arch, 1, 0), give(sayUnknown), load(dataCall)} // refuse 32-bit programs
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
		rest := uint8(2*len(f.tests) + 2) // #nosec G115 -- one or two tests
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

// load, jump and give make the three kinds of instructions: read a field, compare it, and return an answer.
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
