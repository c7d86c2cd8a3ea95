package daemon_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/sys"
)

// A process at rest does not wake: in an hour without messages and jobs the parts run fewer statements than one look every half minute would.
func TestRestRunsNoStatements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := sys.RealClock()
		w := &simulation{t: t, dir: t.TempDir(), clock: clock, jobs: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		watch := sys.NewGroup(nil, nil)
		watch.Once("clock", func() error {
			return clock.WatchJumpsBy(ctx, func(ctx context.Context, _ func()) error {
				<-ctx.Done()
				return nil
			})
		})
		synctest.Wait()
		w.start()
		time.Sleep(time.Minute)
		synctest.Wait()
		before := w.store.Counts().Run
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := w.store.Counts().Run - before; n > 60 {
			t.Errorf("%d statements in an hour of rest", n)
		}
		w.end()
		stop()
		watch.Wait()
	})
}
