package filewatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/sys"
	"hob/scheduler/filewatch"
	"hob/scheduler/filewatch/watchtest"
)

// stopped is a store whose list of watches does not come while it is stopped.
type stopped struct {
	*watchtest.Memory
	free chan struct{}
}

func (s stopped) Watches(ctx context.Context) ([]filewatch.Watch, error) {
	<-s.free
	return s.Memory.Watches(ctx)
}

// A watcher that lives is seen to; one whose store hangs is not.
func TestProgress(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		w := newWatchedHome(t)
		w.watch(nil)
		synctest.Test(t, func(t *testing.T) {
			s, c := stopped{w.store, make(chan struct{})}, sys.RealClock()
			if !hangs {
				close(s.free)
			}
			r := filewatch.NewWatcher(s, c, nil, nil, filewatch.Access{Guard: w.guard, State: w.state}, slog.New(slog.DiscardHandler))
			r.OpenWith(func() (filewatch.Notifier, error) { return nil, errors.New("none in a bubble") })
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			oldest := time.Duration(0)
			for range 20 {
				time.Sleep(10 * time.Second)
				synctest.Wait()
				oldest = max(oldest, c.Mono()-r.Progress())
			}
			if hangs != (oldest > 90*time.Second) || !hangs && oldest > 31*time.Second {
				t.Errorf("hangs: %v, and the oldest sign of life is %s old", hangs, oldest)
			}
			stop()
			if hangs {
				close(s.free)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// A notifier takes memory, so it is opened by the first watch and not again.
func TestTheNotifierIsOpenedWithTheFirstWatch(t *testing.T) {
	for watches := range 3 {
		w := newWatchedHome(t)
		for i := range watches {
			w.watch(func(watch *filewatch.Watch) { watch.Name = fmt.Sprint("watch ", i) })
		}
		synctest.Test(t, func(t *testing.T) {
			opened := 0
			r := filewatch.NewWatcher(w.store, sys.RealClock(), nil, nil, filewatch.Access{Guard: w.guard, State: w.state}, slog.New(slog.DiscardHandler))
			r.OpenWith(func() (filewatch.Notifier, error) { opened++; return nil, errors.New("none in a bubble") })
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- r.Run(ctx) }()
			time.Sleep(10 * time.Minute)
			stop()
			if err := <-ended; err != nil || opened != min(watches, 1) {
				t.Errorf("%d watches opened %d notifiers; %v", watches, opened, err)
			}
		})
	}
}

// noted is a store that keeps the order in which watches were done with their first look.
type noted struct {
	*watchtest.Memory
	order chan string
}

func (s noted) Saw(ctx context.Context, seen filewatch.Seen) error {
	if len(seen.Files) == 1 && seen.Files[0].Path == "." {
		s.order <- seen.Watch.Name
	}
	return s.Memory.Saw(ctx, seen)
}

// The first look of a watch with very many files leaves the other watches their turns.
func TestALargeFirstLookHoldsUpNobody(t *testing.T) {
	w := newWatchedHome(t)
	must(t, os.MkdirAll(w.dir+"/large", 0o700))
	must(t, os.MkdirAll(w.dir+"/small", 0o700))
	for i := range 3 * filewatch.MaxFirst {
		must(t, os.WriteFile(fmt.Sprintf("%s/large/%d", w.dir, i), nil, 0o600))
	}
	w.watch(func(watch *filewatch.Watch) { watch.Name, watch.Paths = "large", []string{w.dir + "/large"} })
	w.watch(func(watch *filewatch.Watch) { watch.Name, watch.Paths = "small", []string{w.dir + "/small"} })
	s := noted{w.store, make(chan string, 2)}
	r := filewatch.NewWatcher(s, sys.RealClock(), nil, nil, filewatch.Access{Guard: w.guard, State: w.state}, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	if first, second := <-s.order, <-s.order; first != "small" || second != "large" {
		t.Errorf("done first: %s, then %s", first, second)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
