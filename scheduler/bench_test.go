package scheduler_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"hob/daemon/sys"
	"hob/scheduler"
)

// idle is a store with jobs that are due in the far future.
type idle struct {
	scheduler.Store
	entries []scheduler.Entry
	listed  chan struct{}
}

func (s *idle) Moved(_ context.Context, since int64) ([]scheduler.Entry, int64, error) {
	if since > 0 {
		select {
		case s.listed <- struct{}{}:
		default:
		}
		return nil, 1, nil
	}
	entries := s.entries
	s.entries = nil // as a store would leave them to the collector
	return entries, 1, nil
}

func (s *idle) Report(context.Context) (bool, error) { return false, nil }

// BenchmarkJobs is what many jobs cost the runner, beside robfig's own, which is the anchor: the time until it is ready, and its memory.
func BenchmarkJobs(b *testing.B) {
	for _, n := range []int64{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("hob %d", n), func(b *testing.B) { benchHob(b, n) })
		b.Run(fmt.Sprintf("robfig %d", n), func(b *testing.B) { benchRobfig(b, n) })
	}
}

func benchHob(b *testing.B, n int64) {
	for b.Loop() {
		store := &idle{listed: make(chan struct{}, 1)}
		far := time.Now().Add(time.Hour)
		for i := range n {
			store.entries = append(store.entries, scheduler.Entry{ID: i, Due: far.Add(time.Duration(i*7919%n) * time.Millisecond)})
		}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		runner := scheduler.NewRunner(store, sys.RealClock(), nil, slog.New(slog.DiscardHandler))
		start := time.Now()
		go func() { done <- runner.Run(ctx) }()
		<-store.listed
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "ms/ready")
		with := heap()
		cancel()
		if err := <-done; err != nil {
			b.Fatal(err)
		}
		runtime.KeepAlive(runner)
		runner = nil
		b.ReportMetric(float64(with-min(heap(), with))/float64(n), "B/job")
	}
}

func benchRobfig(b *testing.B, n int64) {
	schedule, err := cron.ParseStandard("0 0 1 1 *")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		before := heap()
		runner := cron.New()
		start := time.Now()
		for range n {
			runner.Schedule(schedule, cron.FuncJob(func() {}))
		}
		runner.Start() // which works out and sorts all next times before its first sleep
		for slices.ContainsFunc(runner.Entries(), func(e cron.Entry) bool { return e.Next.IsZero() }) {
			runtime.Gosched()
		}
		b.ReportMetric(float64(time.Since(start).Microseconds())/1000, "ms/ready")
		b.ReportMetric(float64(heap()-before)/float64(n), "B/job")
		<-runner.Stop().Done()
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
