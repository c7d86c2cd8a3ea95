package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// Waking times of the thread.
const (
	subagentSleep = 30 * time.Second // the longest time between two looks for sub-agents while some run
	notifyAfter   = 3 * time.Second  // people who wait longer learn how many messages are ahead
)

// Causes that end a turn's context.
var (
	errStopped  = errors.New("stopped by the owner")
	errDeadline = errors.New("the turn ran too long")
)

// Thread runs all turns that are not sub-agents', one at a time. It takes the highest-ranked row and steps its turn until the
// turn ends or parks.
type Thread struct {
	Queue      Queue
	Turns      Turns
	Prompts    Prompts
	History    History
	Dispatch   *Dispatch
	Models     func() *llm.Chain // the configured ones, read at each request
	Fallback   Fallback          // when every model is down
	Settings   func(ctx context.Context) Settings
	Boundary   func(ctx context.Context, q turn.Queued) error           // serves a command that takes effect between two turns
	Switched   func(s Switch) event.Out                                 // makes the notice to the owner when another model has answered
	Transcribe func(ctx context.Context, turn int64) error              // adds transcripts of the turn's voice notes to its inputs; nil when transcription is off
	Recall     Recall                                                   // what hob remembers about an input; nil when nothing is recalled
	Ended      func(ctx context.Context, turn int64, call string) error // ends the wait of a parked turn for a call; the turn resumes
	SlowAfter  time.Duration                                            // how long the thread waits for an MCP server; 0: slowAfter
	Feed       *event.Feed
	Hidden     func(io.Writer) io.WriteCloser // takes secrets out of what is published on the feed
	Clock      sys.Clock
	Jitter     func() float64 // in [0,1), spreads retries
	Log        *slog.Logger

	slow *slowCalls // of this Run

	*RunningTurn // made before the thread, because parts that the thread needs use it too
}

// Run steps turns until ctx ends. Then it puts the running turn back into the queue.
func (t *Thread) Run(ctx context.Context) error {
	t.slow = newSlowCalls(t.Log)
	defer t.slow.stop()
	for ctx.Err() == nil {
		if err := t.next(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return t.Queue.Drain(context.WithoutCancel(ctx))
}

// next serves the next row, or waits until there is one.
func (t *Thread) next(ctx context.Context) error {
	t.progress()
	// Both are taken before the rows are read, so that no commit and no due row between the two is missed.
	wake, looked := t.Queue.InboxSignal(), t.Clock.Wall()
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	claim, ok, err := t.take(ctx, cancel)
	if err != nil {
		return fmt.Errorf("take the next row: %w", err)
	}
	if !ok {
		return t.idle(ctx, wake, looked)
	}
	return t.serve(ctx, running, claim)
}

// take claims the next row. A turn is recorded as the running one, with its cancel, before Stop can look for it.
func (t *Thread) take(ctx context.Context, cancel context.CancelCauseFunc) (turn.Claim, bool, error) {
	t.claim.Lock()
	defer t.claim.Unlock()
	c, ok, err := t.Queue.Take(ctx, Boundary(), &opener{thread: t})
	if err == nil && ok && c.Command.Seq == 0 {
		t.set(c.Turn, cancel)
	}
	return c, ok, err
}

// serve handles one claimed row: a command between two turns, or a turn, whose context is running. A turn that was ended elsewhere is not an
// error, because its rows are settled already.
func (t *Thread) serve(ctx, running context.Context, c turn.Claim) error {
	if c.Command.Seq != 0 {
		return t.Boundary(ctx, c.Command)
	}
	defer t.set(0, nil)
	err := t.step(running, c)
	if errors.Is(err, turn.ErrStale) {
		t.Log.Warn("the turn was ended elsewhere while it ran", "turn", c.Turn)
		return nil
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("turn %d: %w", c.Turn, err) // the next Take counts this as an attempt
	}
	return err
}

// idle waits for a commit or for the next row that becomes runnable by time. looked is an instant before the last Take.
func (t *Thread) idle(ctx context.Context, wake <-chan struct{}, looked time.Time) error {
	next, err := t.Queue.NextWake(ctx, looked)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("look for the next wake: %w", err)
	}
	// A time in the past means that the row became runnable since Take; the minimum keeps the loop from spinning.
	sleep := sys.LongestSleep
	if !next.IsZero() {
		sleep = min(sleep, max(next.Sub(t.Clock.Wall()), time.Millisecond))
	}
	timer := t.Clock.Timer(sleep)
	defer timer.Stop()
	// A sleeping thread need not show progress until its timer ends.
	t.RunningTurn.progress(timer.End)
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
	return nil
}

// step runs one turn until it ends or parks.
func (t *Thread) step(ctx context.Context, c turn.Claim) error {
	waiting, cancel := context.WithCancel(ctx)
	waiters := sys.NewGroup(t.Log, nil)
	// It ends with the turn; the thread itself is busy until then.
	waiters.Once("queue", func() error { return t.notifyWaiting(waiting) })
	defer waiters.Wait()
	defer cancel() // runs before Wait
	r := newRun(t, c.Turn)
	r.opening, r.reserved = c.Opening, c.Reserved
	return r.loop(ctx)
}

// notifyWaiting runs beside a turn. It tells people who have waited longer than notifyAfter how many messages are ahead of theirs.
func (t *Thread) notifyWaiting(ctx context.Context) error {
	tick := time.NewTicker(notifyAfter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := t.Queue.NotifyWaiting(ctx, t.Clock.Wall().Add(-notifyAfter)); err != nil && ctx.Err() == nil {
				return fmt.Errorf("notify waiting people: %w", err)
			}
		}
	}
}

// progress is called at each step, at each piece of an answer and at each look for work.
func (t *Thread) progress() { t.RunningTurn.progress(t.Clock.Mono()) }
