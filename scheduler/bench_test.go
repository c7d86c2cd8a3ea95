package scheduler_test

import (
	"context"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"hob/daemon/clock"
	"hob/scheduler"
)

const million = 1_000_000

func BenchmarkNext(b *testing.B) {
	z := zone(b, "Europe/Berlin")
	now := time.Date(2027, 7, 1, 9, 30, 0, 0, time.UTC) // not the stretch that package time keeps at hand
	for _, text := range []string{"0 9 * * 1-5", "*/5 * * * *", "0 0 29 2 *"} {
		spec := parse(b, "cron "+text)
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				spec.Next(now, z, now)
			}
		})
		robfig, err := cron.ParseStandard(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("robfig "+text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				robfig.Next(now.In(z))
			}
		})
	}
}

// idle is a store with a million jobs that are due in the far future.
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

func BenchmarkMillionJobs(b *testing.B) {
	for b.Loop() {
		store := &idle{listed: make(chan struct{}, 1)}
		far := time.Now().Add(time.Hour)
		for i := range int64(million) {
			store.entries = append(store.entries, scheduler.Entry{ID: i, Due: far.Add(time.Duration(i*7919%million) * time.Millisecond)})
		}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		runner := scheduler.NewRunner(store, clock.Real(), nil, slog.New(slog.DiscardHandler))
		start := time.Now()
		go func() { done <- runner.Run(ctx) }()
		<-store.listed
		b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms/load")
		b.ReportMetric(float64(heap())/million, "B/job")
		cancel()
		<-done
		runtime.KeepAlive(runner)
	}
}

// BenchmarkRobfigMillionJobs is the anchor: the library's own runner.
func BenchmarkRobfigMillionJobs(b *testing.B) {
	schedule, err := cron.ParseStandard("0 0 1 1 *")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		before := heap()
		runner := cron.New()
		for range million {
			runner.Schedule(schedule, cron.FuncJob(func() {}))
		}
		b.ReportMetric(float64(heap()-before)/million, "B/job")
		runtime.KeepAlive(runner)
	}
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
