package memory_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/sqlite"
)

// manyFiles and its size make about 100,000 chunks.
const (
	manyFiles = 420
	lineWords = 12
	pageLines = 240
)

// page writes a memory file of random words, as frequent as those of the book: the tenth of them is new to the file, like names and numbers.
func page(r *rand.Rand, words []string) string {
	var b strings.Builder
	for line := range pageLines {
		b.WriteString("- ")
		for range lineWords {
			if r.IntN(10) == 0 {
				fmt.Fprintf(&b, "%s%d ", words[r.IntN(len(words))][:1], r.IntN(1<<20))
			}
			b.WriteString(words[r.IntN(len(words))] + " ")
		}
		b.WriteString("\n")
		if line%20 == 19 {
			fmt.Fprintf(&b, "\n# %s\n\n", words[r.IntN(len(words))])
		}
	}
	return b.String()
}

// large makes a memory of about 100,000 chunks and indexes it.
func large(b *testing.B) (f *fixture, asks []string) {
	f = newFixture(b)
	all := texts(b)
	words := strings.Fields(all["memory/book.md"])
	r := rand.New(rand.NewPCG(1, 2))
	size := 0
	for i := range manyFiles {
		text := page(r, words)
		size += len(text)
		f.put(b, fmt.Sprintf("memory/%02d/%04d.md", i%50, i), text)
	}
	start := used()
	if _, err := f.index.Sync(b.Context()); err != nil {
		b.Fatal(err)
	}
	made := used() - start
	status, err := f.index.Status(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(f.database())
	if err != nil {
		b.Fatal(err)
	}
	fmt.Printf("%d files with %d MB: %d chunks, indexed in %v; the index has %d MB, %.1f times the text\n", manyFiles, size>>20, status.Chunks, made.Round(time.Millisecond), info.Size()>>20, float64(info.Size())/float64(size))
	for _, q := range questions(b) {
		asks = append(asks, q.ask)
	}
	return f, asks
}

// used is the processor time of this process: unlike the time of a clock, it does not grow when others use the machine.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// percentiles reports the median and the 99th percentile.
func percentiles(b *testing.B, all []time.Duration) {
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-cpu-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-cpu-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkLarge measures, over 100,000 chunks: a search, the full-text index alone with the same questions, the indexing of one changed file
// together with the search that finds it, and a start.
func BenchmarkLarge(b *testing.B) {
	f, asks := large(b)
	b.Run("search", func(b *testing.B) {
		var all []time.Duration
		for b.Loop() {
			for _, ask := range asks {
				start := used()
				f.search(b, ask)
				all = append(all, used()-start)
			}
		}
		percentiles(b, all)
	})
	b.Run("fts5 alone", func(b *testing.B) {
		db, err := sql.Open("sqlite", "file:"+f.database()+"?mode=ro")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		var all []time.Duration
		for b.Loop() {
			for _, ask := range asks {
				start := used()
				rows, err := db.QueryContext(b.Context(), "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 6", plainQuery(ask))
				if _, err = sqlite.Collect(rows, err, func(rs *sql.Rows) (id int64, err error) { return id, rs.Scan(&id) }); err != nil {
					b.Fatal(err)
				}
				all = append(all, used()-start)
			}
		}
		percentiles(b, all)
	})
	b.Run("one changed file", func(b *testing.B) {
		r := rand.New(rand.NewPCG(3, 4))
		words := strings.Fields(texts(b)["memory/book.md"])
		var all []time.Duration
		for b.Loop() {
			for i := range 20 {
				f.put(b, "memory/00/0000.md", page(r, words)+fmt.Sprintf("\nneedle%dx\n", i))
				start := used()
				if _, err := f.index.Sync(b.Context()); err != nil {
					b.Fatal(err)
				}
				all = append(all, used()-start)
			}
		}
		percentiles(b, all)
	})
	b.Run("start", func(b *testing.B) {
		var all []time.Duration
		for b.Loop() {
			if err := f.index.Close(); err != nil {
				b.Fatal(err)
			}
			f.open(b)
			start := used()
			if _, err := f.index.Sync(b.Context()); err != nil {
				b.Fatal(err)
			}
			all = append(all, used()-start)
		}
		percentiles(b, all)
	})
}
