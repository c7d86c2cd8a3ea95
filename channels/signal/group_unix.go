//go:build unix

package signal

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a program its own process group. When its context ends, the group gets SIGTERM.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// endGroup kills what is left of the group. Usually nothing is left.
func endGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
