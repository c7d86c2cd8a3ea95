package signal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"hob/daemon/sys"
)

// Timeouts of a daemon that hob runs.
const (
	startTime = 30 * time.Second // for its first answer; the Java runtime starts slowly
	lookEvery = 100 * time.Millisecond
	lastSend  = 3 * time.Second // for messages that are being sent when it is to end
	endTime   = 5 * time.Second // between the request to end and the kill
)

// served calls f while a daemon runs: one that already runs, or one that hob starts and stops (mine).
func (c *Channel) served(ctx context.Context, f func(ctx context.Context, mine bool) error) error {
	if c.command == "" {
		return f(ctx, false)
	}
	// A daemon that runs already is used as it is, and not stopped.
	if c.rpc.check(ctx) == nil {
		c.log.Info("signal-cli already runs, hob starts none", "channel", c.name, "url", c.rpc.base)
		return f(ctx, false)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	inner, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	end, err := c.start(ctx, cancel)
	if err != nil {
		return err
	}
	defer end()
	if err := c.answers(inner); err != nil {
		return err
	}
	if err := f(inner, true); err != nil {
		if ctx.Err() == nil && inner.Err() != nil {
			return context.Cause(inner)
		}
		return err
	}
	return context.Cause(inner)
}

// start starts signal-cli in the mode on-connection, so that it takes messages from Signal only while hob
// reads them; until then Signal stores them. ended is called if it ends by itself. end stops it with its
// children, and waits. It does not outlive hob, if the system can ensure that.
func (c *Channel) start(ctx context.Context, ended context.CancelCauseFunc) (end func(), err error) {
	u, err := url.Parse(c.rpc.base)
	if err != nil {
		return nil, fmt.Errorf("start signal-cli: %w", err)
	}
	// Not a child of ctx: reading must end before the program does.
	life, stop := context.WithCancel(context.WithoutCancel(ctx))                                                                                       // it outlives ctx by the time in which reading ends
	cmd := exec.CommandContext(life, c.command, "-a", c.account, "daemon", "--http", u.Host, "--receive-mode", "on-connection", "--no-receive-stdout") //nolint:gosec // the owner's own configuration names it
	var notes outputTail
	cmd.Stderr = &notes
	// The program must not see hob's secrets.
	cmd.Env = sys.Environ()
	cmd.WaitDelay = endTime
	ownGroup(cmd)
	g, begun := sys.NewGroup(c.log, nil), make(chan error, 1)
	g.Once("signal-cli", func() error {
		runtime.LockOSThread() // the kernel kills it when this thread ends, so the thread must stay
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		begun <- err
		if err != nil {
			return nil
		}
		err = cmd.Wait()
		endGroup(cmd)
		if life.Err() == nil {
			ended(errors.Join(fmt.Errorf("signal-cli ended by itself%s", notes.last()), err))
		}
		return nil
	})
	if err := <-begun; err != nil {
		stop()
		g.Wait()
		return nil, fmt.Errorf("start signal-cli: %w; set command to its path, or remove command and run signal-cli yourself", err)
	}
	return func() {
		late := time.AfterFunc(lastSend, stop)
		defer late.Stop()
		c.sends.Lock() // a message whose send is cut off may have arrived or not
		defer c.sends.Unlock()
		stop()
		g.Wait()
	}, nil
}

// answers waits until the daemon answers.
func (c *Channel) answers(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	limit := time.NewTimer(startTime)
	defer limit.Stop()
	for {
		err := c.rpc.check(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			return fmt.Errorf("signal-cli was started but does not answer: %w", err)
		case <-tick.C:
		}
	}
}

// outputTail keeps the end of a program's output.
type outputTail struct {
	mu   sync.Mutex
	kept []byte
}

// Write keeps the last 4 KB.
func (t *outputTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = bytes.Clone(t.kept[max(0, len(t.kept)-4<<10):])
	return len(p), nil
}

// last returns the last non-empty line, as the end of a sentence.
func (t *outputTail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	if line := strings.TrimSpace(lines[len(lines)-1]); line != "" {
		return fmt.Sprintf(": %.300s", line)
	}
	return ""
}
