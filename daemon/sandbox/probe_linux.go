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

// probeTime limits one run of the probe. bubblewrap needs some milliseconds.
const probeTime = 10 * time.Second

// output runs a program and returns its output. The last line on stderr becomes the error. No process is left over when ctx ends: a bwrap
// that is killed before it releases its child (by a service manager that ends all of hob's processes) would leave that child waiting
// forever, so the rest of the process group is killed. For this reason hob's own death does not kill bwrap either: the sandbox notices by
// itself that it cannot report to hob. A terminal's Ctrl-C does not reach the group.
func output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	// bwrap's parent is the thread that started it: the kernel ends bwrap when the thread ends, so the thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var out, errs bytes.Buffer
	if cmd.Env == nil {
		cmd.Env = []string{"LANG=C", "PATH=/usr/local/bin:/usr/bin:/bin"}
	}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // an error means that no process is left
	stop := context.AfterFunc(ctx, end)
	var err error
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); { // waits without reaping: until then no other process can get this process or group number
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
