package store_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/sys"
	"hob/scheduler"
	"hob/tools"
)

// The load of the benchmark: so many fires in each of some seconds, among jobs that only wait.
const (
	perSecond = 1000
	seconds   = 5
)

// BenchmarkFires is how late durable fires are at 1,000 a second, each a row and an input in the inbox, among a hundred thousand and a million jobs
// that wait. The anchor is robfig's runner with the same load, which keeps nothing of it but one line per fire in a file that is
// synced.
func BenchmarkFires(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprintf("hob among %d", n), func(b *testing.B) {
			for b.Loop() {
				report(b, hobFires(b, n))
			}
		})
		b.Run(fmt.Sprintf("robfig among %d", n), func(b *testing.B) {
			for b.Loop() {
				report(b, robfigFires(b, n))
			}
		})
	}
}

func report(b *testing.B, late []time.Duration) {
	b.Helper()
	if len(late) != perSecond*seconds {
		b.Fatalf("%d fires, want %d", len(late), perSecond*seconds)
	}
	slices.Sort(late)
	b.ReportMetric(float64(late[len(late)/2].Microseconds())/1000, "ms/p50")
	b.ReportMetric(float64(late[len(late)*99/100].Microseconds())/1000, "ms/p99")
}

// spread is when fire i is due: evenly over the seconds, so that one is due in each millisecond.
func spread(begin time.Time, i int) time.Time {
	return begin.Add(time.Duration(i) * time.Second / perSecond)
}

func hobFires(b *testing.B, idle int) []time.Duration {
	b.Helper()
	s, err := store.Open(b.Context(), store.Options{
		Dir: b.TempDir(), Version: "bench", Clock: sys.RealClock(), IDs: sys.RandomIDs(), Zone: func() string { return "UTC" },
		Owner: func() []event.Address { return nil }, Config: func() store.Config { return store.Config{} },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(context.Background()); err != nil {
			b.Error(err)
		}
	}()
	waiting(b, s, idle)
	begin := time.Now().Add(5 * time.Second).Truncate(time.Second)
	due(b, s, begin)
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	runner := scheduler.NewRunner(s.Jobs, sys.RealClock(), nil, slog.New(slog.DiscardHandler))
	go func() { ended <- runner.Run(ctx) }()
	for signal := s.Turns.InboxSignal(); ; signal = s.Turns.InboxSignal() {
		var n int
		if err := s.Reader().QueryRowContext(ctx, "SELECT count(*) FROM fires").Scan(&n); err != nil {
			b.Fatal(err)
		}
		if n == perSecond*seconds {
			break
		}
		select {
		case <-signal:
			<-time.After(100 * time.Millisecond) // counting must not be what is measured
		case err := <-ended:
			b.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
	rs, err := s.Reader().QueryContext(b.Context(), "SELECT created - due FROM fires")
	if err != nil {
		b.Fatal(err)
	}
	defer rs.Close() //nolint:errcheck // it has been read to its end
	var late []time.Duration
	for rs.Next() {
		var us int64
		if err := rs.Scan(&us); err != nil {
			b.Fatal(err)
		}
		late = append(late, time.Duration(us)*time.Microsecond)
	}
	if err := rs.Err(); err != nil {
		b.Fatal(err)
	}
	return late
}

// waiting fills the table with jobs of the far future.
func waiting(b *testing.B, s *store.Store, n int) {
	b.Helper()
	j, _, err := scheduler.New(scheduler.Draft{Name: "far", Cron: "0 0 1 1 *", Prompt: "say: happy new year", Trust: event.Owner}, time.UTC, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	err = s.Calls.Record(b.Context(), scheduler.Put{Job: j})
	if err == nil {
		err = s.Write(b.Context(), func(tx *store.Tx) error {
			return tx.Run(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
				INSERT INTO triggers (kind, name, body, due, version) SELECT 'job', 'far' || i, t.body, t.due, i + 1 FROM n, triggers t WHERE t.name = 'far'`, n-1)
		})
	}
	if err != nil {
		b.Fatal(err)
	}
}

// due makes the jobs that fire. A schedule has whole seconds: the rows get theirs between them.
func due(b *testing.B, s *store.Store, begin time.Time) {
	b.Helper()
	var batch []tools.Change
	for i := range perSecond * seconds {
		j, _, err := scheduler.New(scheduler.Draft{Name: fmt.Sprint("j", i), At: begin.Add(time.Minute).Format(time.RFC3339), Prompt: "say: now", Trust: event.Owner}, time.UTC, time.Now())
		if err != nil {
			b.Fatal(err)
		}
		j.Due = spread(begin, i)
		j.Spec = "at " + j.Due.UTC().Format(time.RFC3339Nano)
		batch = append(batch, scheduler.Put{Job: j})
	}
	if err := s.Calls.Record(b.Context(), batch...); err != nil {
		b.Fatal(err)
	}
}

// instant is a schedule of robfig's that fires once.
type instant time.Time

func (i instant) Next(now time.Time) time.Time {
	if at := time.Time(i); at.After(now) {
		return at
	}
	return time.Time{}
}

func robfigFires(b *testing.B, idle int) []time.Duration {
	b.Helper()
	file, err := os.Create(filepath.Join(b.TempDir(), "fires"))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = file.Close() }() // every line was synced
	far, err := cron.ParseStandard("0 0 1 1 *")
	if err != nil {
		b.Fatal(err)
	}
	runner := cron.New()
	for range idle {
		runner.Schedule(far, cron.FuncJob(func() {}))
	}
	begin := time.Now().Add(8 * time.Second).Truncate(time.Second)
	var mu sync.Mutex
	var late []time.Duration
	var all sync.WaitGroup
	all.Add(perSecond * seconds)
	for i := range perSecond * seconds {
		at := spread(begin, i)
		runner.Schedule(instant(at), cron.FuncJob(func() {
			defer all.Done()
			mu.Lock()
			defer mu.Unlock()
			if _, err := fmt.Fprintln(file, i); err != nil {
				b.Error(err)
			}
			if err := file.Sync(); err != nil {
				b.Error(err)
			}
			late = append(late, time.Since(at))
		}))
	}
	runner.Start()
	all.Wait()
	<-runner.Stop().Done()
	return late
}
