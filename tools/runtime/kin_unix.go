//go:build unix && !linux

package runtime

import (
	"context"
	"syscall"
	"time"
)

// kin is the process group of a command. Here, what leaves the group is not found.
type kin struct{ group int }

func (r *running) kin(string, bool) kin { return kin{r.cmd.Process.Pid} }

// end ends the group: TERM, a while, KILL. It reports how many groups were still there, and were not ended.
func (k kin) end(grace time.Duration) (left, stuck int) {
	if syscall.Kill(-k.group, syscall.SIGTERM) != nil {
		return 0, 0
	}
	if k.gone(int(grace / settle)) {
		return 1, 0
	}
	if syscall.Kill(-k.group, syscall.SIGKILL) != nil || k.gone(killRounds) {
		return 1, 0
	}
	return 1, 1
}

// signal sends a signal to the group.
func (k kin) signal(sig syscall.Signal) error { return syscall.Kill(-k.group, sig) }

func (k kin) gone(rounds int) bool {
	for range rounds {
		if syscall.Kill(-k.group, 0) != nil {
			return true
		}
		pause(settle)
	}
	return false
}

func pause(d time.Duration) {
	t := time.NewTimer(d)
	<-t.C
}

// KillOrphans finds nothing here: only /proc shows the environment of a process.
func KillOrphans(context.Context, string) (int, error) { return 0, nil }
