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

// ownGroup keeps Ctrl-C away from the command; cancelling kills only the shell itself here.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr.CreationFlags = syscall.CREATE_NEW_PROCESS_GROUP
}

// endGroup has nothing to do: there are no groups to kill here.
func endGroup(*exec.Cmd) {}
