package runtime

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"

	"golang.org/x/sys/unix"

	"hob/daemon/fsguard"
)

// enter opens the folder that was judged, so that a command runs there and nowhere else, whatever its name
// means by now. The child changes into it by the descriptor, which it still has at that moment.
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
		_, _ = d.Close(), root.Close() // only looked through
	}, nil
}

// widen makes a pipe take more at once; without the right to, it stays as it is.
func widen(f *os.File) {
	_, _ = unix.FcntlInt(f.Fd(), unix.F_SETPIPE_SZ, 1<<20) // only faster, never needed
}

// attributes: a session of its own, so that a signal reaches the whole group and no terminal but its own
// can be asked for passwords; killed when hob dies.
func attributes(terminal bool) *unix.SysProcAttr {
	return &unix.SysProcAttr{Setsid: true, Setctty: terminal, Pdeathsig: unix.SIGKILL}
}

// awaitExit blocks until the shell has exited, and leaves it unreaped: so its number and its group's stay taken.
func awaitExit(cmd *osexec.Cmd) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func reap(cmd *osexec.Cmd) error { return cmd.Wait() }
