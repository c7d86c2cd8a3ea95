package runtime

import (
	"context"
	"os"
	osexec "os/exec"
	"strings"
	"syscall"
	"time"

	"hob/daemon/fsguard"
)

// enter checks the folder once more right before the start.
func enter(g *fsguard.Guard, p fsguard.Place) (dir string, release func(), err error) {
	root, err := g.Folder(p)
	if err != nil {
		return "", nil, err
	}
	return p.Path, func() { _ = root.Close() }, nil
}

func widen(*os.File) {}

func attributes(_, _ bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func awaitExit(cmd *osexec.Cmd) error { return cmd.Wait() }

func reap(*osexec.Cmd) error { return nil }

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
