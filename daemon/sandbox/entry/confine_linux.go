package entry

import (
	"syscall"
	"unsafe"
)

// Numbers of Linux that package syscall does not have. They are the same on all processors that hob is built for.
const (
	setNoNewPrivs   = 38       // PR_SET_NO_NEW_PRIVS
	setSeccomp      = 22       // PR_SET_SECCOMP
	filterMode      = 2        // SECCOMP_MODE_FILTER
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

// confine checks what this process sees, and puts Landlock and seccomp on its thread: the kernel carries them over the exec, which
// ends all other threads. It says what is wrong; "" is nothing.
func (o order) confine() string {
	closeRest()
	terminal()
	all, why := mounts()
	if why != "" {
		return why
	}
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
		case Seccomp:
			if why = l.restrict(); why == "" {
				why = filter(r.data)
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

// closeRest closes what bubblewrap may have left open of the descriptors by which it mounts: a command that has a folder of the machine's
// open goes where it likes from there.
func closeRest() {
	if _, _, errno := syscall.Syscall(callCloseRange, Status+1, mostDescriptors, 0); errno == 0 {
		return
	}
	for fd := Status + 1; fd < 1<<16; fd++ { // a kernel older than 5.9
		_ = syscall.Close(fd) // mostly there is none
	}
}

// terminal makes stdin, where it is a terminal that nobody controls (one made for this command), the controlling one of a new
// session: a shell without one has no job control. hob's own terminal belongs to another session, and the kernel refuses it.
func terminal() {
	var state syscall.Termios
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TCGETS, uintptr(unsafe.Pointer(&state))); errno != 0 { // #nosec G103 -- the call's own form
		return
	}
	if _, err := syscall.Setsid(); err != nil {
		return // it leads a session already
	}
	_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, 0, syscall.TIOCSCTTY, 0) // refused for another session's: the command does without
}

// landlock is a rule set. The kernel of hob's machine is this one, so what hob asks for is known here.
type landlock struct{ rules uintptr }

func (l *landlock) create(attr []byte) string {
	fd, _, errno := syscall.Syscall(landlockCreate, uintptr(unsafe.Pointer(&attr[0])), uintptr(len(attr)), 0) // #nosec G103 -- the call's own form
	if errno != 0 {
		return "landlock: " + errno.Error()
	}
	l.rules = fd
	return ""
}

// allow gives rights below a path; other ones where it is a file.
func (l *landlock) allow(data []byte) string {
	path := string(data[16:])
	fd, err := syscall.Open(path, openPath|syscall.O_CLOEXEC, 0)
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
	rights := data[:8]
	if info.Mode&syscall.S_IFMT != syscall.S_IFDIR {
		rights = data[8:16]
	}
	var rule [ruleSize]byte
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

// restrict puts the rule set on, once.
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

// instructionSize is that of struct sock_filter.
const instructionSize = 8

// filter puts a seccomp filter on. The system calls after it are write, execve and exit.
func filter(code []byte) string {
	prog := struct {
		size uint16
		code *byte
	}{uint16(len(code) / instructionSize), &code[0]} // #nosec G115 -- some hundred
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, setSeccomp, filterMode, uintptr(unsafe.Pointer(&prog)), 0, 0, 0); errno != 0 { // #nosec G103 -- the call's own form
		return "seccomp: " + errno.Error()
	}
	return ""
}
