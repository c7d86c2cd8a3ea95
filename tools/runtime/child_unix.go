//go:build unix && !linux

package runtime

import (
	"os"
	osexec "os/exec"
	"syscall"

	"hob/daemon/fsguard"
)

// enter checks the folder once more right before the start; there is no way here to start in an open folder.
func enter(g *fsguard.Guard, p fsguard.Place) (dir string, release func(), err error) {
	root, err := g.Folder(p)
	if err != nil {
		return "", nil, err
	}
	return p.Path, func() { _ = root.Close() }, nil
}

func widen(*os.File) {}

func attributes(terminal bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Setctty: terminal}
}

// awaitExit reaps the shell: there is no waiting without it here. While any process of its group lives, the
// group's number stays taken.
func awaitExit(cmd *osexec.Cmd) error { return cmd.Wait() }

func reap(*osexec.Cmd) error { return nil }
