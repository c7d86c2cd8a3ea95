package sandbox

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// verb is the word by which hob's executable is asked to confine itself and become another program.
const verb = "__enter"

// enter is the command line, inside a box, of Enter.
func enter(l layout, home string, argv []string) []string {
	out := []string{helperAt, verb}
	for _, path := range l.writable() {
		out = append(out, "--write", path)
	}
	if home != "" {
		out = append(out, "--write", home)
	}
	return append(append(out, "--"), argv...)
}

// Enter serves the second layer: where args, the arguments of hob's executable without its name, are those that Wrap has written, it
// confines this process with Landlock and seccomp and becomes the command. It returns only when it has nothing to do (asked is
// false) or could not do it; code is then the exit code of a shell: 127 not found, 126 cannot be run, 125 not confined.
func Enter(args []string) (code int, asked bool) {
	if len(args) == 0 || args[0] != verb {
		return 0, false
	}
	write, argv, err := parse(args[1:])
	if err == nil {
		err = become(write, argv)
	}
	fmt.Fprintf(os.Stderr, "hob: %v\n", err)
	switch {
	case errors.Is(err, errConfine):
		return 125, true
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, unix.ENOENT):
		return 127, true
	}
	return 126, true
}

// errConfine marks that the layers could not be put on: nothing is run then.
var errConfine = errors.New("cannot be confined")

func parse(args []string) (write, argv []string, err error) {
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "--write":
			write = append(write, args[i+1])
		case "--":
			return write, args[i+1:], nil
		default:
			return nil, nil, fmt.Errorf("%w: unknown word %q", errConfine, args[i])
		}
	}
	return nil, nil, fmt.Errorf("%w: no command", errConfine)
}

// become confines this thread and replaces the process by argv. The kernel carries what a thread has put on over the exec, which ends
// all other threads.
func become(write, argv []string) error {
	runtime.LockOSThread()
	program, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return err
	}
	terminal()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("%w: no new privileges: %w", errConfine, err)
	}
	if err := landlock(write); err != nil {
		return fmt.Errorf("%w: landlock: %w", errConfine, err)
	}
	if err := filter(); err != nil {
		return fmt.Errorf("%w: seccomp: %w", errConfine, err)
	}
	return fmt.Errorf("run %s: %w", strings.ToValidUTF8(program, "?"), unix.Exec(program, argv, os.Environ()))
}

// terminal makes stdin, where it is a terminal that nobody controls (a pty made for this command), the controlling one of a new
// session: a shell without one has no job control. hob's own terminal belongs to another session, and the kernel refuses it.
func terminal() {
	if _, err := unix.IoctlGetTermios(0, unix.TCGETS); err != nil {
		return
	}
	if _, err := unix.Setsid(); err != nil {
		return // it leads a session already
	}
	if err := unix.IoctlSetInt(0, unix.TIOCSCTTY, 0); err != nil {
		return // another session's: the command does without, as it would without this
	}
}

// helperLayers are the layers that Enter puts on here.
func helperLayers() []string {
	var list []string
	if landlockVersion() > 0 {
		list = append(list, "landlock")
	}
	if filters() {
		list = append(list, "seccomp")
	}
	return list
}

// helperGaps says what Enter cannot do here.
func helperGaps() []string {
	var list []string
	switch v := landlockVersion(); {
	case v == 0:
		list = append(list, "no Landlock: the kernel is older than 5.13, or it is switched off or forbidden here")
	case v < 6:
		list = append(list, "Landlock here does not keep abstract sockets and signals in (Linux 6.12 does)")
	}
	if !filters() {
		list = append(list, "no seccomp filter for this processor, so that a command can set setuid and setgid bits")
	}
	return list
}
