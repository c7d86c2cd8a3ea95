//go:build unix

package toolset

import (
	"os/exec"
	"syscall"
)

// group gives a hook a process group of its own. end ends what is left of the group.
func group(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return func() {
		if cmd.Process != nil {
			_ = cmd.Cancel() // mostly nothing is left
		}
	}
}
