package entry

import (
	"syscall"
	"unsafe"
)

// Constants of Linux that package syscall lacks. They have the same value on every processor that hob is built for.
const (
	setNoNewPrivs   = 38       // PR_SET_NO_NEW_PRIVS
	setFilter       = 1        // SECCOMP_SET_MODE_FILTER
	landlockCreate  = 444      // landlock_create_ruleset
	landlockAdd     = 445      // landlock_add_rule
	landlockSelf    = 446      // landlock_restrict_self
	pathBeneath     = 1        // LANDLOCK_RULE_PATH_BENEATH
	openPath        = 0x200000 // O_PATH
	readOnly        = 1        // ST_RDONLY
	callCloseRange  = 436
	mostDescriptors = 1<<32 - 1
	ruleSize        = 12 // struct landlock_path_beneath_attr, which is packed
)

// confine checks the view of this process and applies Landlock and seccomp to its thread. The kernel keeps both over the exec, which ends
// all other threads. The result is an error text; "" is success.
func (o *order) confine() string {
	// Descriptors first: an open folder would make all checks of paths pointless.
	closeRest()
	terminal()
	// A crash must not start the machine's handler of core dumps, which often runs as root.
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return "core dumps: " + err.Error()
	}
	// The table of mounts is read once, for all checks below.
	all, why := mounts()
	if why != "" {
		return why
	}
	// Landlock and seccomp require it of an unprivileged process (landlock(7), seccomp(2)).
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); errno != 0 {
		return "no new privileges: " + errno.Error()
	}
	var l landlock
	for _, r := range o.rules {
		var why string
		switch r.tag {
		case View:
			why = all.view(r.data)
		case Mask:
			why = all.mask(r.data)
		case Dir:
			why = differs(".", r.data)
		case State:
			why = all.state(r.data)
		case Landlock:
			why = l.create(r.data)
		case Allow:
			why = l.allow(r.data)
		// Landlock comes first, because after the filter this process makes hardly any calls.
		case Seccomp:
			if why = l.restrict(); why == "" {
				o.listener, why = filter(r.data)
			}
		default:
			why = "unknown record " + string(r.tag)
		}
		if why != "" {
			return why
		}
	}
	return l.restrict()
}

// closeRest closes descriptors that bubblewrap may have left open after its mounts. With an open folder of the host, a command could
// reach every file below it.
func closeRest() {
	if _, _, errno := syscall.Syscall(callCloseRange, Status+1, mostDescriptors, 0); errno == 0 {
		return
	}
	for fd := Status + 1; fd < 1<<16; fd++ { // a kernel older than 5.9
		_ = syscall.Close(fd) // most numbers are not open
	}
}

// terminal makes stdin the controlling terminal of a new session. A shell needs one for job control. This happens only to a terminal that
// was made for this command: hob's own terminal belongs to another session, and the kernel refuses to take it.
func terminal() {
	var state syscall.Termios
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TCGETS, uintptr(unsafe.Pointer(&state))); errno != 0 { // #nosec G103 -- the call's own form
		return
	}
	if _, err := syscall.Setsid(); err != nil {
		return // it leads a session already
	}
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCSCTTY, 0) // refused for a terminal of another session; the command works without
}

// landlock is a rule set. hob and this process share one kernel, so the version that hob chose is supported here.
type landlock struct{ rules uintptr }

func (l *landlock) create(attr []byte) string {
	fd, _, errno := syscall.Syscall(landlockCreate, uintptr(unsafe.Pointer(&attr[0])), uintptr(len(attr)), 0) // #nosec G103 -- the call's own form
	if errno != 0 {
		return "landlock: " + errno.Error()
	}
	l.rules = fd
	return ""
}

// allow grants rights below a path. data holds two sets of rights: one for a folder, one for a file.
func (l *landlock) allow(data []byte) string {
	path := string(data[16:])
	fd, err := syscall.Open(path, openPath|syscall.O_CLOEXEC, 0)
	// A path that does not exist needs no rule.
	if err == syscall.ENOENT {
		return ""
	}
	var info syscall.Stat_t
	if err == nil {
		err = syscall.Fstat(fd, &info)
	}
	if err != nil {
		return "landlock: " + path + ": " + err.Error()
	}
	// The kernel refuses rights that only folders have in a rule for a file.
	rights := data[:8]
	if info.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights = data[8:16]
	}
	var rule [ruleSize]byte
	// The structure has the rights in 8 bytes, then the descriptor in 4 (landlock_add_rule(2)).
	copy(rule[:], rights)
	*(*int32)(unsafe.Pointer(&rule[8])) = int32(fd)                                                                // #nosec G103 G115 -- the call's own form
	_, _, errno := syscall.Syscall6(landlockAdd, l.rules, pathBeneath, uintptr(unsafe.Pointer(&rule[0])), 0, 0, 0) // #nosec G103 -- the call's own form
	if errno == 0 {
		err = syscall.Close(fd)
	} else {
		err = errno
	}
	if err != nil {
		return "landlock: allow " + path + ": " + err.Error()
	}
	return ""
}

// restrict applies the rule set to this thread, once.
func (l *landlock) restrict() string {
	if l.rules == 0 {
		return ""
	}
	if _, _, errno := syscall.Syscall(landlockSelf, l.rules, 0, 0); errno != 0 {
		return "landlock: " + errno.Error()
	}
	err := syscall.Close(int(l.rules))
	if l.rules = 0; err != nil {
		return "landlock: " + err.Error()
	}
	return ""
}

// instructionSize is the size of struct sock_filter, in bytes.
const instructionSize = 8

// filter applies a seccomp filter. After it the process calls only write, sendmsg, execve and exit. The listener is 0 if no flag asks for it.
func filter(data []byte) (listener int, why string) {
	flags, code := number(data, 8), data[8:]
	// The layout of struct sock_fprog: the number of instructions, then their address.
	prog := struct {
		size uint16
		code *byte
	}{uint16(len(code) / instructionSize), &code[0]} // #nosec G115 -- some hundred
	fd, _, errno := syscall.Syscall(callSeccomp, setFilter, uintptr(flags), uintptr(unsafe.Pointer(&prog))) // #nosec G103 -- the call's own form
	if errno != 0 {
		return 0, "seccomp: " + errno.Error()
	}
	return int(fd), "" // #nosec G115 -- a descriptor
}
