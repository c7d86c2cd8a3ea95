package runtime

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"

	"golang.org/x/sys/unix"

	"hob/daemon/fsguard"
)

// enter opens the folder that the permission rules have allowed. The command then starts in that folder even if
// its path meanwhile leads elsewhere. The child changes directory through the descriptor, which is
// still open at that moment.
func enter(g *fsguard.Guard, p fsguard.Place) (dir string, release func(), err error) {
	root, err := g.Folder(p)
	if err != nil {
		return "", nil, err
	}
	d, err := root.Open(".")
	if err != nil {
		return "", nil, errors.Join(err, root.Close())
	}
	dir = fmt.Sprintf("/proc/self/fd/%d", d.Fd())
	if _, err := os.Stat(dir); err != nil { // no /proc here
		dir = p.Path
	}
	return dir, func() {
		_, _ = d.Close(), root.Close() // read only: nothing can be lost
	}, nil
}

// widen enlarges the buffer of a pipe to 1 MB. Without permission the pipe keeps its size; it is
// only slower.
func widen(f *os.File) {
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, 1<<20) // best effort
}

// attributes starts the command in a session of its own. A signal then reaches its whole group, and
// no program can ask for a password on hob's terminal. The kernel kills the command if hob dies.
//
// bubblewrap asks the kernel for that itself, once its child can end with it. If it were killed earlier, the child would stay forever. A
// sandbox that is made after hob's death ends by itself, because package entry cannot report to hob.
func attributes(terminal, confined bool) *unix.SysProcAttr {
	a := &unix.SysProcAttr{Setsid: true, Setctty: terminal, Pdeathsig: unix.SIGKILL}
	if confined {
		a.Pdeathsig = 0
	}
	return a
}

// awaitExit blocks until the shell has exited, and does not reap it. Its process id and group id
// therefore stay reserved.
func awaitExit(cmd *osexec.Cmd) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// reap releases the process id of an exited shell.
func reap(cmd *osexec.Cmd) error { return cmd.Wait() }
