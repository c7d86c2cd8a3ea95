package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// probeTime bounds one try of the probe; bubblewrap needs some milliseconds.
const probeTime = 10 * time.Second

// output runs a program and returns what it says; its last line on stderr is the error. When ctx ends, and when hob does, nothing of
// it is left: a bubblewrap that is killed before it has let its child go leaves that child waiting for it, so both are killed.
func output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	// The kernel sends the parent-death signal when the thread that started the child ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out, errs bytes.Buffer
	if cmd.Env == nil {
		cmd.Env = []string{"LANG=C", "PATH=/usr/local/bin:/usr/bin:/bin"}
	}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	stop()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return nil, errors.Join(fmt.Errorf("%w: %s", err, lines[len(lines)-1]), context.Cause(ctx))
	}
	return out.Bytes(), nil
}
