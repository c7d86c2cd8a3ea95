package fs_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The pair of BenchmarkRead reads line 7,000,000 of a file of about 270 MB: the tool, and bufio.Scanner as the anchor.
// The figure that counts is the ratio of the two in one run.
func BenchmarkRead(b *testing.B) {
	d := newFixture(b)
	path := filepath.Join(d.dir, "big")
	f, err := os.Create(path)
	must(b, err)
	w := bufio.NewWriterSize(f, 1<<20)
	for i := range 7_200_000 {
		_, err := fmt.Fprintf(w, "this is line number %d of the file\n", i)
		must(b, err)
	}
	must(b, w.Flush())
	must(b, f.Close())
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if res := d.do(b, d.read, args{"path": "big", "offset": 7_000_000, "limit": 10}); res.IsError {
				b.Fatal(res.Content)
			}
		}
	})
	b.Run("scanner", func(b *testing.B) {
		for b.Loop() {
			f, err := os.Open(path)
			must(b, err)
			s := bufio.NewScanner(f)
			for n := 0; n < 7_000_010 && s.Scan(); n++ { // the lines are not even looked at
			}
			must(b, s.Err())
			must(b, f.Close())
		}
	})
}
