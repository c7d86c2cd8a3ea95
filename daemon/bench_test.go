//go:build linux

package daemon_test

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

	"golang.org/x/sys/unix"

	"hob/daemon/event"
	"hob/daemon/store"
	"hob/daemon/sys"
)

// anchor appends and syncs, as the cheapest durable write there is.
type anchor struct {
	f   *os.File
	buf []byte
}

func newAnchor(b *testing.B, bytes int) *anchor {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "anchor"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	})
	return &anchor{f: f, buf: make([]byte, bytes)}
}

func (a *anchor) write(b *testing.B) time.Duration {
	b.Helper()
	start := time.Now()
	if _, err := a.f.Write(a.buf); err != nil {
		b.Fatal(err)
	}
	if err := unix.Fdatasync(int(a.f.Fd())); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func benchStore(b *testing.B) *store.Store {
	b.Helper()
	s, err := store.Open(b.Context(), store.Options{
		Dir: b.TempDir(), Version: "bench", Clock: sys.RealClock(), IDs: sys.RandomIDs(), Zone: func() string { return "UTC" }, Log: slog.New(slog.DiscardHandler),
		Owner: func() []event.Address { return nil }, Config: func() store.Config { return store.Config{} },
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return s
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// BenchmarkCommit is one durable commit of the store beside append + fdatasync of 4 KiB, one after the other.
func BenchmarkCommit(b *testing.B) {
	s, a := benchStore(b), newAnchor(b, 4096)
	var ours, theirs []time.Duration
	for i := 0; b.Loop(); i++ {
		theirs = append(theirs, a.write(b))
		start := time.Now()
		if err := s.Write(b.Context(), func(tx *store.Tx) error {
			return tx.Run("INSERT INTO settings (key, value) VALUES (?, 'x')", fmt.Sprint("k", i))
		}); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))
	}
	x, y := median(ours), median(theirs)
	b.ReportMetric(micros(x), "commit-µs")
	b.ReportMetric(micros(y), "fdatasync-µs")
	b.ReportMetric(float64(x)/float64(y), "ratio")
}

// BenchmarkBurst accepts 256 messages from 64 producers at once, beside the same messages one at a time.
func BenchmarkBurst(b *testing.B) {
	const producers, each = 64, 4
	s := benchStore(b)
	accept := func(id string) {
		in := event.In{Source: "chat", ExtID: id, Session: "main", Kind: event.Message, Rank: event.RankOwner, Trust: event.Owner, ReplyTo: "chat:1", Parts: event.Say("hello")}
		if _, err := s.Inbox.Accept(context.Background(), []event.In{in}, nil); err != nil {
			b.Error(err)
		}
	}
	var burst, single []time.Duration
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		for n := range producers * each {
			accept(fmt.Sprint("s", i, "-", n))
		}
		single = append(single, time.Since(start))
		start = time.Now()
		var wg sync.WaitGroup
		for p := range producers {
			wg.Go(func() {
				for n := range each {
					accept(fmt.Sprint("b", i, "-", p, "-", n))
				}
			})
		}
		wg.Wait()
		burst = append(burst, time.Since(start))
	}
	x, y := median(burst), median(single)
	b.ReportMetric(micros(x)/(producers*each), "burst-µs/msg")
	b.ReportMetric(micros(y)/(producers*each), "single-µs/msg")
	b.ReportMetric(float64(y)/float64(x), "speedup")
}
