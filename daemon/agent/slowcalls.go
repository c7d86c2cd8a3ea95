package agent

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/sys"
	"hob/tools"
)

// slowAfter is how long the thread waits for an MCP server. A call that takes longer goes on beside the thread, and its turn parks.
const slowAfter = 5 * time.Second

// slowCalls are the calls that take longer than that. A result is in memory until its turn resumes; after a restart it is missing, and the call
// counts as interrupted.
type slowCalls struct {
	group *sys.Group
	mu    sync.Mutex
	open  map[string]context.CancelCauseFunc // by the id of the call
	ended map[string]slowCall
}

// slowCall is a call that has ended, with its result.
type slowCall struct {
	judged Judged
	result tools.Result
	took   time.Duration
}

func newSlowCalls(log *slog.Logger) *slowCalls {
	return &slowCalls{group: sys.NewGroup(log, nil), open: map[string]context.CancelCauseFunc{}, ended: map[string]slowCall{}}
}

// begin records a call that goes on. The returned function records its result.
func (s *slowCalls) begin(id string, cancel context.CancelCauseFunc) (end func(slowCall)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[id] = cancel
	return func(c slowCall) {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, id)
		s.ended[id] = c
	}
}

// take returns a result, once.
func (s *slowCalls) take(id string) (slowCall, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.ended[id]
	delete(s.ended, id)
	return c, ok
}

// stop cancels all calls and waits for their ends.
func (s *slowCalls) stop() {
	s.mu.Lock()
	for cancel := range maps.Values(s.open) {
		cancel(errStopped)
	}
	s.mu.Unlock()
	s.group.Wait()
}

// await runs a call. If an MCP server takes too long, it parks the turn; the result then comes by collect. Sub-agents wait themselves, because
// they hold up nobody.
func (r toolCalls) await(ctx context.Context, step turn.Step, j Judged, run func(context.Context) tools.Result) error {
	t, start := r.run.thread, r.run.thread.Clock.Mono()
	if j.Intent.Server == "" || r.st.Turn.Parent != 0 {
		result := run(ctx)
		return r.ended(ctx, step, slowCall{j, result, t.Clock.Mono() - start})
	}
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	done := make(chan tools.Result, 1)
	t.slow.group.Once("MCP call", func() error {
		done <- run(own)
		return nil
	})
	timer := t.Clock.Timer(cmp.Or(t.SlowAfter, slowAfter))
	defer timer.Stop()
	select {
	case result := <-done:
		cancel(nil)
		return r.ended(ctx, step, slowCall{j, result, t.Clock.Mono() - start})
	case <-ctx.Done():
		cancel(context.Cause(ctx))
		return r.ended(ctx, step, slowCall{j, <-done, t.Clock.Mono() - start})
	case <-timer.C:
	}
	end := t.slow.begin(j.Call.ID, cancel)
	if err := r.park(ctx, step, j, tools.Wait{Kind: tools.ForProcess, Subject: j.Call.Name}, tools.Result{}); err != nil {
		cancel(nil)
		return err
	}
	t.slow.group.Once("slow MCP call", func() error {
		result, wanted := r.follow(own, cancel, done)
		end(slowCall{j, result, t.Clock.Mono() - start})
		if !wanted {
			t.slow.take(j.Call.ID)
			return nil
		}
		if err := t.Ended(context.WithoutCancel(ctx), r.run.id, j.Call.ID); err != nil {
			return fmt.Errorf("resume turn %d: %w", r.run.id, err)
		}
		return nil
	})
	return nil
}

// follow waits for the result of a slow call. It cancels the call when its turn has ended, and returns false then.
func (r toolCalls) follow(ctx context.Context, cancel context.CancelCauseFunc, done <-chan tools.Result) (tools.Result, bool) {
	defer cancel(nil)
	for {
		changed := r.run.thread.Queue.InboxSignal()
		if now, err := r.run.thread.Turns.Load(ctx, r.run.id); err == nil && now.Turn.State.Final() {
			cancel(errStopped)
			return <-done, false
		}
		select {
		case result := <-done:
			return result, ctx.Err() == nil
		case <-changed:
		case <-ctx.Done():
			return <-done, false
		}
	}
}

// collect commits the result of a slow call. If hob has been restarted since, the call counts as interrupted.
func (r toolCalls) collect(ctx context.Context, a turn.Collect) error {
	if c, ok := r.run.thread.slow.take(a.Step.CallID); ok {
		return r.ended(ctx, a.Step, c)
	}
	return r.run.carryOut(ctx, r.st, turn.Interrupted(a.Step, a.Call))
}
