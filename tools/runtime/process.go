package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	goruntime "runtime"
	"time"

	"hob/daemon/fsguard"
)

// Times around the end of a command.
const (
	lastWords  = 250 * time.Millisecond // for what still writes after the shell has exited
	settle     = 10 * time.Millisecond  // between two looks at who is still there
	killRounds = 100                    // looks after KILL; a process in a system call may take a while
)

// job is a command ready to be started.
type job struct {
	argv   []string
	env    []string
	folder fsguard.Place
	mark   string // NAME=VALUE in the environment of everything that it starts
	limit  time.Duration
}

type reason int

const (
	finished reason = iota
	timedOut
	cancelled
)

// ended is how a command ended.
type ended struct {
	why   reason
	code  int
	took  time.Duration
	limit time.Duration
	left  int // processes that were still running when the shell had exited, and were ended
	stuck int // processes that did not end
	out   *output
}

// process runs a command to its end, or ends it when its time is over or ctx is. Nothing that it started is
// left when process returns, as far as the system shows who was started (see kin). Errors are only that it
// could not be started or read.
func (e executor) process(ctx context.Context, j job) (*ended, error) {
	// The kernel sends the parent-death signal when the thread that started the child ends, so this
	// thread must live as long as the child does.
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	start := time.Now()
	r, err := e.begin(j)
	if err != nil {
		return nil, err
	}
	end := &ended{limit: j.limit, out: &output{limit: e.Limits.Shelf}}
	drained, exited := make(chan error, 1), make(chan error, 1)
	e.Spawn.Once("exec output", func() error { drained <- end.out.drain(r.pipe); return nil })
	e.Spawn.Once("exec wait", func() error { exited <- awaitExit(r.cmd); return nil })
	timer := time.NewTimer(j.limit)
	defer timer.Stop()
	var waited error
	select {
	case waited = <-exited:
	case <-timer.C:
		end.why = timedOut
	case <-ctx.Done():
		end.why = cancelled
	}
	if end.why == finished {
		drainedEarly(drained, lastWords)
	}
	end.left, end.stuck = r.kin(j.mark).end(e.Limits.Grace)
	end.took = time.Since(start)
	if end.why != finished {
		end.left = 0
		if end.stuck > 0 { // perhaps the shell itself, inside the kernel: it is not waited for
			end.code = -1
			return end, r.finish(drained)
		}
		waited = <-exited
	}
	end.code, err = exitCode(r.cmd, errors.Join(waited, reap(r.cmd)))
	return end, errors.Join(err, r.finish(drained))
}

// drainedEarly waits until the output has ended, but not long: a process left in the background may hold it open.
func drainedEarly(drained chan error, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case err := <-drained:
		drained <- err
	case <-t.C:
	}
}

// running is a started command.
type running struct {
	cmd  *osexec.Cmd
	pipe *os.File // its output
}

func (e executor) begin(j job) (*running, error) {
	dir, release, err := enter(e.Guard, j.folder)
	if err != nil {
		return nil, err
	}
	defer release()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	widen(write)
	cmd := osexec.Command(j.argv[0], j.argv[1:]...) //nolint:gosec // running commands is what this tool is for; the gate has decided
	cmd.Dir, cmd.Env, cmd.SysProcAttr = dir, j.env, attributes()
	cmd.Stdout, cmd.Stderr = write, write
	err = cmd.Start()
	if closing := write.Close(); err == nil && closing != nil {
		err = closing
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the command: %w", err), read.Close())
	}
	return &running{cmd, read}, nil
}

// finish ends the reading: what a process that could not be ended still writes is not waited for.
func (r *running) finish(drained <-chan error) error {
	if err := r.pipe.SetReadDeadline(time.Now().Add(time.Second)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return errors.Join(err, r.pipe.Close(), <-drained)
	}
	return errors.Join(<-drained, r.pipe.Close())
}

// exitCode reads the exit code as shells tell it: 128 + the signal when one ended the command.
func exitCode(cmd *osexec.Cmd, err error) (int, error) {
	if _, ok := errors.AsType[*osexec.ExitError](err); err != nil && !ok {
		return -1, fmt.Errorf("wait for the command: %w", err)
	}
	if cmd.ProcessState == nil {
		return -1, errors.New("wait for the command: it left no state")
	}
	if sig := signalOf(cmd.ProcessState); sig > 0 {
		return 128 + sig, nil
	}
	return cmd.ProcessState.ExitCode(), nil
}
