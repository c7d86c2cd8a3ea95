package search_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"hob/daemon/sys/systest"
)

// duel runs two things in turn and reports the median time of each, and their ratio: the figure that counts.
func duel(b *testing.B, ours, theirs func()) {
	b.Helper()
	var our, their []time.Duration
	ours()
	theirs()
	for b.Loop() {
		start := time.Now()
		ours()
		middle := time.Now()
		theirs()
		our, their = append(our, middle.Sub(start)), append(their, time.Since(middle))
	}
	slices.Sort(our)
	slices.Sort(their)
	o, t := our[len(our)/2], their[len(their)/2]
	b.ReportMetric(float64(o)/1e6, "ms")
	b.ReportMetric(float64(t)/1e6, "theirs-ms")
	b.ReportMetric(float64(o)/float64(t), "ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkGrep searches Go's source tree: the tool, and ripgrep as the anchor.
func BenchmarkGrep(b *testing.B) {
	rg := systest.Program(b, "rg")
	d := fixtureAt(b, b.TempDir(), goroot(b))
	for _, c := range []struct{ name, pattern string }{
		{"literal", "ErrUnexpectedEOF"},
		{"common", "return"},
		{"fold", "(?i)unexpectedeof"},
		{"part", `func \w+Reader\(`},
		{"none", `[A-Z]{4,}_[0-9]+`},
		{"alternation", "ErrShortBuffer|ErrNoProgress|ErrShortWrite|ErrClosedPipe"},
		{"fold alternation", "(?i)shortbuffer|noprogress|closedpipe"},
	} {
		for _, mode := range []string{"count", "content"} {
			b.Run(c.name+"/"+mode, func(b *testing.B) {
				flags := []string{"-c", "--no-messages", c.pattern, "."}
				if mode == "content" {
					flags[0] = "-n"
				}
				duel(b, func() { d.do(b, d.grep, args{"pattern": c.pattern, "output_mode": mode}) }, func() { run(b, d.dir, rg, flags...) })
			})
		}
	}
}

// BenchmarkLarge searches one file of about 270 MB.
func BenchmarkLarge(b *testing.B) {
	rg := systest.Program(b, "rg")
	d := newFixture(b)
	f, err := os.Create(filepath.Join(d.dir, "big"))
	must(b, err)
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range 7_200_000 {
		_, err := fmt.Fprintf(w, "this is line number %d of the file\n", i)
		must(b, err)
	}
	must(b, w.Flush())
	must(b, f.Close())
	for name, pattern := range map[string]string{"literal": "number 7199999 of", "regex": `[0-9]{6}3 of`} {
		b.Run(name, func(b *testing.B) {
			duel(b, func() { d.do(b, d.grep, args{"pattern": pattern, "output_mode": "count"}) }, func() { run(b, d.dir, rg, "-c", pattern, ".") })
		})
	}
}

// BenchmarkGlob looks for files in Go's source tree: the tool, and fd as the anchor.
func BenchmarkGlob(b *testing.B) {
	fd := systest.Program(b, "fdfind", "fd")
	d := fixtureAt(b, b.TempDir(), goroot(b))
	for _, c := range []struct{ pattern, theirs string }{{"**/*_test.go", "*_test.go"}, {"**/*.{s,h}", "*.{s,h}"}, {"**/reader*", "reader*"}} {
		b.Run(c.theirs, func(b *testing.B) {
			duel(b, func() { d.do(b, d.glob, args{"pattern": c.pattern}) }, func() { run(b, d.dir, fd, "-s", "-t", "f", "-g", c.theirs) })
		})
	}
}

// run runs a program and drops what it prints.
func run(b *testing.B, dir, name string, arg ...string) {
	b.Helper()
	cmd := exec.Command(name, arg...)
	cmd.Dir = dir
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	must(b, err)
	cmd.Stdout = null
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	must(b, null.Close())
}
