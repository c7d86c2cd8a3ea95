package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// MostLanes is how many sub-agents are stepped at the same time. Further ones wait for a lane.
const MaxLanes = 4

// Family gives the lanes their turns.
type Children interface {
	// TakeChild claims the oldest sub-agent's turn that can go on; held are those that are being stepped. False: none.
	TakeChild(ctx context.Context, held []int64) (int64, bool, error)
	// Halted lists the turns of sub-agents that run and are to stop.
	Halted(ctx context.Context) ([]int64, error)
	// DrainChildren puts those that run back without counting an attempt.
	DrainChildren(ctx context.Context) error
}

// Lanes steps the turns of sub-agents, beside the thread and by the same loop. Its rows say what is to be done; what it holds in
// memory is only who is being stepped.
type Lanes struct {
	Thread   *Thread // that the sub-agents belong to
	Children Children
	Named    func(ctx context.Context, model string) *llm.Chain // the models behind a name

	mu      sync.Mutex // guards what follows
	running map[int64]context.CancelCauseFunc
}

// Run steps sub-agents until ctx ends, then hands the running ones back to the queue.
func (l *Lanes) Run(ctx context.Context) (err error) {
	lanes := sys.NewGroup(l.Thread.Log, nil)
	inner, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		lanes.Wait()
		err = errors.Join(err, l.Children.DrainChildren(context.WithoutCancel(ctx)))
	}()
	freed := make(chan struct{}, 1)
	for ctx.Err() == nil {
		bell := l.Thread.Queue.InboxSignal()
		err := l.fill(inner, lanes, freed)
		if err == nil {
			err = l.halt(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
		wait(ctx, bell, freed)
	}
	return nil
}

// wait ends when there may be something to do: a commit, a lane that is free, or half a minute.
func wait(ctx context.Context, bell, freed <-chan struct{}) {
	timer := time.NewTimer(longestSleep)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-bell:
	case <-freed:
	case <-timer.C:
	}
}

// fill starts sub-agents in the lanes that are free.
func (l *Lanes) fill(ctx context.Context, lanes *sys.Group, freed chan<- struct{}) error {
	for {
		held := l.held()
		if len(held) >= MaxLanes {
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
		l.hold(id, cancel)
		lanes.Once(fmt.Sprintf("sub-agent's turn %d", id), func() error {
			defer signal(freed)
			defer l.release(id)
			defer cancel(nil)
			return l.step(ctx, id)
		})
	}
}

func signal(bell chan<- struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// step runs one sub-agent's turn until it ends. After an error the row still says that it runs, and the next TakeChild counts an
// attempt.
func (l *Lanes) step(ctx context.Context, id int64) error {
	st, err := l.Thread.Turns.Load(ctx, id)
	if err != nil && ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("load turn %d: %w", id, err)
	}
	if st.Relations.Spec == nil {
		return fmt.Errorf("turn %d is no sub-agent's", id)
	}
	err = newRun(l.child(ctx, *st.Relations.Spec), id).loop(ctx)
	switch {
	case err == nil || ctx.Err() != nil && !errors.Is(context.Cause(ctx), errStopped):
		return nil
	case errors.Is(err, turn.ErrStale):
		l.Thread.Log.Warn("a sub-agent was ended by somebody else while it ran", "turn", id)
		return nil
	default:
		return fmt.Errorf("turn %d: %w", id, err)
	}
}

// halt stops the sub-agents whose rows say that they are to stop.
func (l *Lanes) halt(ctx context.Context) error {
	ids, err := l.Children.Halted(ctx)
	if err != nil {
		return fmt.Errorf("look who is to stop: %w", err)
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

func (l *Lanes) hold(id int64, cancel context.CancelCauseFunc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == nil {
		l.running = map[int64]context.CancelCauseFunc{}
	}
	l.running[id] = cancel
}

func (l *Lanes) release(id int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.running, id)
}

// held are the turns that are being stepped, oldest first.
func (l *Lanes) held() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.running))
}
