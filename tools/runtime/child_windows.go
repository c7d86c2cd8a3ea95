package runtime

import (
	"context"
	"os"
	"strings"
	"syscall"
	"time"
)

func attributes(_, _ bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func signalOf(*os.ProcessState) int { return 0 }

// processTree is the started process alone. Its children cannot be found here.
type processTree struct{ leader *os.Process }

func (r *running) processTree(string, bool) processTree { return processTree{r.cmd.Process} }

func (k processTree) end(time.Duration) (left, stuck int) {
	if err := k.leader.Kill(); err != nil {
		return 0, 0 // it has already exited
	}
	return 0, 0
}

// signal ends the process: Windows has no other signals.
func (k processTree) signal(syscall.Signal) error { return k.leader.Kill() }

// pause sleeps for d.
func pause(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
}

// signalNamed accepts KILL only.
func signalNamed(name string) (syscall.Signal, bool) {
	return syscall.SIGKILL, strings.TrimPrefix(strings.ToUpper(name), "SIG") == "KILL"
}

// KillOrphans does nothing on Windows.
func KillOrphans(context.Context, string) (int, error) { return 0, nil }
