//go:build linux && (amd64 || arm64)

package sandbox

import (
	"cmp"
	"runtime"
	"slices"
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

// The answers of a filter: allow the call, fail with EPERM, fail with ENOSYS as an old kernel would, or fail as a kernel without this kind
// of socket would.
const (
	sayYes      = unix.SECCOMP_RET_ALLOW
	sayNo       = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	sayUnknown  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	sayNoFamily = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	sayNoMemory = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOMEM)
	ask         = unix.SECCOMP_RET_USER_NOTIF // see Calls
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
func flagged(k kinds) []flag {
	return append([]flag{
		{call: unix.SYS_UNSHARE, tests: []test{{dataArg0, newUsers, has}}},
		{call: unix.SYS_CLONE, tests: []test{{dataArg0, newUsers, has}}},
		{call: unix.SYS_IOCTL, tests: []test{{dataArg1, unix.TIOCSTI, is}}},   // types into a terminal
		{call: unix.SYS_IOCTL, tests: []test{{dataArg1, unix.TIOCLINUX, is}}}, // pastes into a console
		{call: unix.SYS_FCHMOD, tests: []test{{dataArg1, setID, has}}},
		{call: unix.SYS_FCHMODAT, tests: []test{{dataArg2, setID, has}}},
		{call: unix.SYS_FCHMODAT2, tests: []test{{dataArg2, setID, has}}},
		{call: unix.SYS_MKNODAT, tests: []test{{dataArg2, setID, has}}},
		{call: unix.SYS_MKDIRAT, tests: []test{{dataArg2, setID, has}}},
		{call: unix.SYS_OPENAT, tests: []test{{dataArg2, makes, has}, {dataArg3, setID, has}}},
		{call: unix.SYS_MKNODAT, tests: []test{{dataArg2, unix.S_IFIFO, has}}, answer: k.fifos()},
	}, slices.Concat(olderModes(k.fifos()), k.sockets(), k.uncounted())...)
}

// kinds says which sockets, FIFOs and memory a sandbox may use.
type kinds struct {
	asks    bool // hob decides about the paths of sockets and FIFOs; otherwise there are none with a path
	owner   bool // it may use all unix sockets, the owner's too
	watched bool // no memory that Bound.Over cannot count
}

// uncounted lists the calls that make memory which belongs to no process. Programs fall back to files in /dev/shm, which has a limit.
// Segments of System V below 16 KB stay, since databases hold a lock with one; a namespace has at most 4,096 of them.
func (k kinds) uncounted() []flag {
	if !k.watched {
		return nil
	}
	return []flag{
		{call: unix.SYS_MEMFD_CREATE, answer: sayUnknown},
		{call: unix.SYS_MEMFD_SECRET, answer: sayUnknown},
		{call: unix.SYS_SHMGET, answer: sayNoMemory, tests: []test{{dataArg1, ^uint32(1<<14 - 1), has}}},
		{call: unix.SYS_SHMGET, answer: sayNoMemory, tests: []test{{dataArg1 + 4, ^uint32(0), has}}},
	}
}

// fifos is the answer to a call that makes a FIFO.
func (k kinds) fifos() uint32 {
	if k.asks {
		return ask
	}
	return sayNo
}

// sockets lists the sockets that a namespace of networks does not hold: all but those of the internet, of this machine's files, and the
// list of routes. vsock(7) reaches the hypervisor, and other kinds have been used to break kernels.
//
// A datagram can be sent to any path, and a filter sees only the address of the path. So there are only sockets that connect first, which
// those of a pair cannot do again.
func (k kinds) sockets() []flag {
	list := []flag{
		{call: unix.SYS_SOCKET, answer: sayNoFamily, tests: []test{
			{dataArg0, unix.AF_UNIX, isNot}, {dataArg0, unix.AF_INET, isNot}, {dataArg0, unix.AF_INET6, isNot}, {dataArg0, unix.AF_NETLINK, isNot},
		}},
		{call: unix.SYS_SOCKET, answer: sayNoFamily, tests: []test{{dataArg0, unix.AF_NETLINK, is}, {dataArg2, unix.NETLINK_ROUTE, isNot}}},
		{call: unix.SYS_SOCKETPAIR, answer: sayNoFamily, tests: []test{{dataArg0, unix.AF_UNIX, isNot}}},
	}
	const datagrams = unix.SOCK_DGRAM & unix.SOCK_RAW // the bit that these two types have, and no other
	switch {
	case k.owner:
		return list
	case k.asks:
		list = append(list, flag{call: unix.SYS_SOCKET, answer: sayNoFamily, tests: []test{{dataArg0, unix.AF_UNIX, is}, {dataArg1, datagrams, has}}},
			flag{call: unix.SYS_CONNECT, answer: ask}, flag{call: unix.SYS_BIND, answer: ask})
	default:
		list = append(list, flag{call: unix.SYS_SOCKET, answer: sayNoFamily, tests: []test{{dataArg0, unix.AF_UNIX, is}}})
	}
	return append(list, flag{call: unix.SYS_SOCKETPAIR, answer: sayNoFamily, tests: []test{{dataArg1, datagrams, has}}})
}

// flag is a call that is refused if all tests match.
type flag struct {
	call   uint32
	tests  []test
	answer uint32 // 0: sayNo
}

// test compares one argument of a call.
type test struct {
	arg, value uint32
	how        comparison
}

// comparison says when a test matches.
type comparison int

const (
	is    comparison = iota // the argument equals the value
	isNot                   // it does not
	has                     // it has any bit of the value
)

// filters reports whether there is a filter for this processor.
func filters() bool { return true }

// program returns the filter as a list of BPF instructions. Each entry is decided on the spot: no jump leaves its own entry.
func program(k kinds) []unix.SockFilter {
	arch := uint32(unix.AUDIT_ARCH_X86_64)
	if runtime.GOARCH == "arm64" {
		arch = unix.AUDIT_ARCH_AARCH64
	}
	p := []unix.SockFilter{load(dataArch), jump(unix.BPF_JEQ, arch, 1, 0), give(sayUnknown), load(dataCall)} // refuse 32-bit programs
	if runtime.GOARCH == "amd64" {
		p = append(p, jump(unix.BPF_JGE, x32, 0, 1), give(sayUnknown))
	}
	calls := refused()
	if landlockVersion() == 0 {
		// Landlock keeps processes from tracing bubblewrap's own, which has no filter.
		calls = append(calls, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_WRITEV)
	}
	for _, call := range calls {
		p = append(p, jump(unix.BPF_JEQ, call, 0, 1), give(sayNo))
	}
	for _, call := range unknown() {
		p = append(p, jump(unix.BPF_JEQ, call, 0, 1), give(sayUnknown))
	}
	for _, f := range flagged(k) {
		rest := uint8(2*len(f.tests) + 2) // #nosec G115 -- a few tests
		p = append(p, jump(unix.BPF_JEQ, f.call, 0, rest))
		for _, t := range f.tests {
			rest -= 2
			next := jump(unix.BPF_JEQ, t.value, 0, rest-1)
			switch t.how {
			case has:
				next = jump(unix.BPF_JSET, t.value, 0, rest-1)
			case isNot:
				next.Jt, next.Jf = next.Jf, next.Jt
			}
			p = append(p, load(t.arg), next)
		}
		p = append(p, give(cmp.Or(f.answer, sayNo)), load(dataCall))
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
func filter(order []byte, k kinds) []byte {
	p, flags := program(k), uint64(0)
	if k.asks {
		flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
	}
	return entry.Append(order, entry.Seccomp, string(unsafe.Slice((*byte)(unsafe.Pointer(&p[0])), len(p)*unix.SizeofSockFilter)), flags) // #nosec G103 -- the kernel's own form
}
