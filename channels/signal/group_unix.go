//go:build unix

package signal

import (
	"os/exec"
	"syscall"
)

// ownGroup gives a program a process group of its own, which is asked to end when its context does.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = attributes()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// endGroup ends what is left of the group. Nothing being there any more is the rule.
func endGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
