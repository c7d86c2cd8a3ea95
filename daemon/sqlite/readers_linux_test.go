package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFirstReaderIsShared: the connection that Open begins to open serves the first query, which opens no second one. Each costs time and memory.
func TestFirstReaderIsShared(t *testing.T) {
	for range 20 {
		dir := t.TempDir()
		count(t, must(t, dir))
		n := 0
		links, err := filepath.Glob("/proc/self/fd/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range links {
			if to, err := os.Readlink(link); err == nil && to == filepath.Join(dir, "hob.db") {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%d connections after the first query, want the writer and one reader", n)
		}
	}
}
