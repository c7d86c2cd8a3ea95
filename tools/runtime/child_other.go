//go:build !linux

package runtime

import (
	"os"
	osexec "os/exec"

	"hob/daemon/fsguard"
)

// enter checks the folder once more right before the start. These systems offer no way to start a
// process in an open folder.
func enter(g *fsguard.Guard, p fsguard.Place) (dir string, release func(), err error) {
	root, err := g.Folder(p)
	if err != nil {
		return "", nil, err
	}
	return p.Path, func() { _ = root.Close() }, nil
}

func widen(*os.File) {}

// awaitExit waits for the shell and reaps it, because these systems cannot do one without the
// other. The group id stays reserved while any process of the group lives.
func awaitExit(cmd *osexec.Cmd) error { return cmd.Wait() }

func reap(*osexec.Cmd) error { return nil }
