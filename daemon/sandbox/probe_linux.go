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

	"golang.org/x/sys/unix"
)

// probeTime bounds one try of the probe; bubblewrap needs some milliseconds.
const probeTime = 10 * time.Second

// output runs a program and returns what it says; its last line on stderr is the error. When ctx ends, and when hob does, nothing of
// it is left: a bubblewrap that is killed (by a service manager that ends all of hob's processes) before it has let its child go leaves that
// child waiting for it for good, so what is left of its group is killed. A terminal's Ctrl-C does not reach the group.
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
	end := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // an error says that nothing is left
	stop := context.AfterFunc(ctx, end)
	var err error
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); { // until it is reaped its number, and its group's, is taken
		err = unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
	}
	stop()
	end()
	err = errors.Join(err, cmd.Wait())
	if err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return nil, errors.Join(fmt.Errorf("%w: %s", err, lines[len(lines)-1]), context.Cause(ctx))
	}
	return out.Bytes(), nil
}
