package edit_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// BenchmarkEdit changes one line in the middle of a file of 64 MB with the tool, which leaves it durable, and does beside it, turn
// and turn about, the two anchors: cp over an older copy; and the same durable work, a copy that is synced, renamed over an older
// one, and its folder synced. Its figures are medians in milliseconds, and the ratios of the tool to each anchor.
func BenchmarkEdit(b *testing.B) {
	d := newFixture(b)
	var text bytes.Buffer
	for i := 0; text.Len() < 64<<20; i++ {
		text.WriteString("this is line number " + strconv.Itoa(i) + " of the file\n")
	}
	must(b, os.WriteFile(filepath.Join(d.dir, "f"), text.Bytes(), 0o600))
	shell := func(line string) func() {
		return func() {
			cmd := exec.CommandContext(b.Context(), "sh", "-c", line)
			cmd.Dir = d.dir
			must(b, cmd.Run())
		}
	}
	n, old := 0, "this is line number 900000 of the file\n"
	names := []string{"edit", "cp", "durable-cp"}
	work := []func(){func() {
		n++
		put := "this is line number 900000 for the " + strconv.Itoa(n) + "th time\n"
		if res := d.do(b, d.edit, args{"path": "f", "old_text": old, "new_text": put}); res.IsError {
			b.Fatal(res.Content)
		}
		old = put
	}, shell("cp f g"), shell("cp f h && sync h && mv h g && sync .")}
	took := make([][]float64, len(work))
	for b.Loop() {
		for i, do := range work {
			start := time.Now()
			do()
			took[i] = append(took[i], float64(time.Since(start).Microseconds())/1000)
		}
	}
	median := make([]float64, len(work))
	for i, t := range took {
		slices.Sort(t)
		median[i] = t[len(t)/2]
		b.ReportMetric(median[i], names[i]+"-ms")
	}
	b.ReportMetric(median[0]/median[1], "of-cp")
	b.ReportMetric(median[0]/median[2], "of-durable-cp")
}
