//go:build unix

package hooks

import (
	"os/exec"
	"syscall"
)

// group gives a hook a process group of its own, which ends with it.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
