//go:build unix

package toolset

import (
	"os/exec"
	"syscall"
)

// group starts a hook in its own process group. end kills all processes that remain in the group.
func group(cmd *exec.Cmd) (end func()) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return func() {
		if cmd.Process != nil {
			_ = cmd.Cancel() // usually nothing is left
		}
	}
}
