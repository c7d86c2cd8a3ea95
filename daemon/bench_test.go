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

	"hob/daemon/api/client"
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
		Owner: func() []event.Address { return nil }, Policy: func() store.Policy { return store.Policy{} },
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

// BenchmarkTurn is one whole turn of the running daemon, from the message posted on its socket to the answer read from
// its event stream, with the built-in interpreter and every message durable,
// beside 10 × fdatasync. Each conversation has ten turns.
func BenchmarkTurn(b *testing.B) {
	r, a := start(b, b.TempDir()), newAnchor(b, 4096)
	frames := make(chan event.Event, 1024)
	ctx, cancel := context.WithCancel(b.Context())
	followed := make(chan error, 1)
	go func() {
		followed <- r.client.Follow(ctx, 0, true, func(f client.Frame) error {
			if f.Event != nil && f.Event.Type == "turn.finished" {
				frames <- *f.Event
			}
			return nil
		})
	}()
	var ours, theirs []time.Duration
	for i := 0; b.Loop(); i++ {
		var ten time.Duration
		for range 10 {
			ten += a.write(b)
		}
		theirs = append(theirs, ten)
		start := time.Now()
		if _, err := r.client.Post(b.Context(), client.Message{Text: "help", Session: fmt.Sprint("s", i/10)}); err != nil {
			b.Fatal(err)
		}
		<-frames
		ours = append(ours, time.Since(start))
	}
	cancel()
	<-followed
	x, y := median(ours), median(theirs)
	b.ReportMetric(micros(x), "turn-µs")
	b.ReportMetric(micros(ours[len(ours)*99/100]), "turn-p99-µs")
	b.ReportMetric(micros(y), "10-fdatasync-µs")
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
