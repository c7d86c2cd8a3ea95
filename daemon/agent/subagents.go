package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// MaxSubagents is the number of sub-agents that run at the same time. Others wait until one of them ends.
const MaxSubagents = 4

// Children gives SubagentPool the turns of sub-agents.
type Children interface {
	// TakeChild claims the oldest turn of a sub-agent that can run. held are the turns that are already being stepped.
	// It returns false when there is none.
	TakeChild(ctx context.Context, held []int64) (int64, bool, error)
	// Halted lists the running turns of sub-agents that must stop.
	Halted(ctx context.Context) ([]int64, error)
	// DrainChildren puts the running turns back into the queue without counting an attempt.
	DrainChildren(ctx context.Context) error
}

// SubagentPool runs the turns of sub-agents in parallel with the thread, with the same loop. All state is in the rows; memory holds only
// which turns run now.
type SubagentPool struct {
	Thread   *Thread // runs the parent turns
	Children Children
	Named    func(ctx context.Context, model string) *llm.Chain // the chain of models that belongs to a configured name

	mu      sync.Mutex // guards running
	running map[int64]context.CancelCauseFunc
}

// Run steps sub-agents until ctx ends. Then it puts the running ones back into the queue.
func (l *SubagentPool) Run(ctx context.Context) (err error) {
	running := sys.NewGroup(l.Thread.Log, nil)
	inner, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		running.Wait()
		err = errors.Join(err, l.Children.DrainChildren(context.WithoutCancel(ctx)))
	}()
	ended := make(chan struct{}, 1)
	for ctx.Err() == nil {
		// The signal is taken before the rows are read, so that no commit between the two is missed.
		wake := l.Thread.Queue.InboxSignal()
		err := l.fill(inner, running, ended)
		if err == nil && len(l.tracked()) > 0 {
			err = l.halt(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		l.wait(ctx, wake, ended)
	}
	return nil
}

// wait returns when there may be something to do: after a commit, when a sub-agent has ended, or, while sub-agents run, after subagentSleep.
func (l *SubagentPool) wait(ctx context.Context, wake, ended <-chan struct{}) {
	sleep := sys.LongestSleep
	if len(l.tracked()) > 0 {
		sleep = subagentSleep
	}
	timer := l.Thread.Clock.Timer(sleep)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-ended:
	case <-timer.C:
	}
}

// fill starts sub-agents until MaxSubagents run.
func (l *SubagentPool) fill(ctx context.Context, running *sys.Group, ended chan<- struct{}) error {
	for {
		held := l.tracked()
		if len(held) >= MaxSubagents {
			return nil
		}
		id, ok, err := l.Children.TakeChild(ctx, held)
		if err != nil {
			return fmt.Errorf("take a sub-agent: %w", err)
		}
		if !ok {
			return nil
		}
		ctx, cancel := context.WithCancelCause(ctx)
		l.track(id, cancel)
		running.Once(fmt.Sprintf("sub-agent's turn %d", id), func() error {
			defer signal(ended)
			defer l.untrack(id)
			defer cancel(nil)
			// The row says how the turn ended, so the goroutine reports nothing to the parent.
			return l.step(ctx, id)
		})
	}
}

// signal wakes the receiver. The channel holds one value, so signals before the receiver looks count as one.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// step runs one sub-agent's turn until it ends. After an error the row stays in state running, and the next TakeChild counts
// an attempt.
func (l *SubagentPool) step(ctx context.Context, id int64) error {
	st, err := l.Thread.Turns.Load(ctx, id)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load turn %d: %w", id, err)
	}
	if st.Relations.Spec == nil {
		return fmt.Errorf("turn %d does not belong to a sub-agent", id)
	}
	err = newRun(l.child(ctx, *st.Relations.Spec), id).loop(ctx)
	switch {
	case err == nil || ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopped):
		return nil
	case errors.Is(err, turn.ErrStale):
		l.Thread.Log.Warn("the sub-agent was ended elsewhere while it ran", "turn", id)
		return nil
	}
	return fmt.Errorf("turn %d: %w", id, err)
}

// halt cancels the sub-agents that Children.Halted lists.
func (l *SubagentPool) halt(ctx context.Context) error {
	ids, err := l.Children.Halted(ctx)
	if err != nil {
		return fmt.Errorf("list sub-agents to stop: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, id := range ids {
		if cancel := l.running[id]; cancel != nil {
			cancel(errStopped)
		}
	}
	return nil
}

// track records that a turn runs now. cancel ends it; halt uses it.
func (l *SubagentPool) track(id int64, cancel context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running = map[int64]context.CancelCauseFunc{}
	}
	l.running[id] = cancel
}

// untrack removes a turn whose step has returned.
func (l *SubagentPool) untrack(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, id)
}

// tracked lists the turns that are being stepped, oldest first.
func (l *SubagentPool) tracked() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.running))
}
