package agent_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/agent"
	"hob/daemon/agent/turn"
	"hob/daemon/llm/llmtest"
)

// slowQueue takes a second to say that nothing can run. Time passes so under load, after the queue was read.
type slowQueue struct {
	agent.Queue
	takes int
}

func (q *slowQueue) Take(ctx context.Context, boundary []string, opener turn.Opener) (turn.Claim, bool, error) {
	c, ok, err := q.Queue.Take(ctx, boundary, opener)
	if !ok {
		q.takes++
		time.Sleep(time.Second)
	}
	return c, ok, err
}

// A message that becomes runnable between Take and NextWake is not left until the next look, which is half a minute away. When it has been
// answered, the thread sleeps.
func TestAMessageThatIsDueWhileTheQueueIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHarness(t, t.TempDir(), llmtest.InOrder(llmtest.Say("done")))
		slow := &slowQueue{Queue: r.thread.Queue}
		r.thread.Queue = slow
		in := ownerSays("hello")
		in.NotBefore = r.clock.Wall().Add(500 * time.Millisecond)
		r.post(in)
		r.start()
		defer r.close()
		time.Sleep(3 * time.Second)
		r.settle()
		r.wantBodies("done")
		if slow.takes > 3 {
			t.Errorf("the queue was read %d times in 3 s", slow.takes)
		}
	})
}

// stoppedQueue is one whose first turn somebody stops as soon as the database has it running.
type stoppedQueue struct {
	agent.Queue
	stop    func(id int64) int64
	stopped chan int64 // what stop has returned
}

func (q *stoppedQueue) Take(ctx context.Context, boundary []string, opener turn.Opener) (turn.Claim, bool, error) {
	c, ok, err := q.Queue.Take(ctx, boundary, opener)
	if ok && c.Turn == 1 {
		begun := make(chan struct{})
		go func() {
			close(begun)
			q.stopped <- q.stop(0)
		}()
		<-begun
		for range 1000 { // a chance to come first
			runtime.Gosched()
		}
	}
	return c, ok, err
}

// A turn is stopped between the commit that makes it running and its first step. It ends, and is not left to run.
func TestStopWhileATurnIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newHarness(t, t.TempDir(), hang)
		q := &stoppedQueue{Queue: r.thread.Queue, stop: r.thread.Stop, stopped: make(chan int64, 1)}
		r.thread.Queue = q
		r.post(ownerSays("go"))
		r.start()
		defer r.close()
		r.settle()
		if id := <-q.stopped; id != 1 {
			t.Fatalf("turn %d was stopped", id)
		}
		r.wantStates(turn.Stopped)
	})
}
