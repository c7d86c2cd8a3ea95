//go:build unix && !linux

package runtime

import (
	"context"
	"syscall"
	"time"
)

// processTree is the process group of a command. Processes that leave the group are not found.
type processTree struct{ group int }

func (r *running) processTree(string, bool) processTree { return processTree{r.cmd.Process.Pid} }

// end ends the group: SIGTERM, then after grace SIGKILL. It counts groups: left is 1 if the group
// outlived the shell, stuck is 1 if it did not end.
func (k processTree) end(grace time.Duration) (left, stuck int) {
	if syscall.Kill(-k.group, syscall.SIGTERM) != nil {
		return 0, 0
	}
	if k.gone(int(grace / pollInterval)) {
		return 1, 0
	}
	if syscall.Kill(-k.group, syscall.SIGKILL) != nil || k.gone(killRounds) {
		return 1, 0
	}
	return 1, 1
}

// signal sends a signal to the group.
func (k processTree) signal(sig syscall.Signal) error { return syscall.Kill(-k.group, sig) }

// gone checks up to rounds times whether the group is empty.
func (k processTree) gone(rounds int) bool {
	for range rounds {
		if syscall.Kill(-k.group, 0) != nil {
			return true
		}
		pause(pollInterval)
	}
	return false
}

// pause sleeps for d.
func pause(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
}

// KillOrphans does nothing: only /proc shows the environment of a process.
func KillOrphans(context.Context, string) (int, error) { return 0, nil }
