package secret

import (
	"context"
	"os/exec"
	"syscall"
)

func shell(ctx context.Context, line string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "cmd.exe")
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /D /S /C "` + line + `"`}
	return cmd
}

// ownGroup shields the command from Ctrl-C. A cancellation kills only the shell itself on this system.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr.CreationFlags = syscall.CREATE_NEW_PROCESS_GROUP
}

// endGroup does nothing: there are no process groups to kill on this system.
func endGroup(*exec.Cmd) {}
