//go:build unix

package pattern_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hob/tools/search/pattern"
)

// guarded returns room for a text that ends where the next page may not be read. Reading past the text kills the test.
func guarded(t *testing.T) []byte {
	t.Helper()
	page := os.Getpagesize()
	room, err := unix.Mmap(-1, 0, 2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(room); err != nil {
			t.Error(err)
		}
	})
	if err := unix.Mprotect(room[page:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return room[:page:page]
}

// word makes a text of few different letters, so that needles overlap and nearly occur.
func word(random *rand.Rand, letters string, size int) string {
	var w strings.Builder
	for range size {
		w.WriteByte(letters[random.IntN(len(letters))])
	}
	return w.String()
}

// Each kind of search finds the first line with a needle, from any position of texts of any size, and reads nothing after the text.
func TestFinders(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	room := guarded(t)
	found := 0
	for range 3000 {
		fold := random.IntN(2) == 0
		var needles []string
		for range 1 + random.IntN(16) {
			needles = append(needles, word(random, "abk\xe4", 5+random.IntN(20)))
		}
		size := random.IntN(400)
		text := room[len(room)-size:]
		copy(text, word(random, "abkABK\xe4\n", size))
		// Random texts are too unlike long needles, so some are written into the text.
		for range random.IntN(4) {
			n := needles[random.IntN(len(needles))]
			if at := random.IntN(size + 1); at+len(n) <= size {
				copy(text[at:], n)
			}
		}
		from := 0
		if i := bytes.IndexByte(text, '\n'); i >= 0 && random.IntN(2) == 0 {
			from = i + 1
		}
		line := lineOf(text, from, needles, fold)
		for name, f := range pattern.Finders(needles, fold) {
			got := pattern.Find(f, text, from)
			if got < size {
				got = bytes.Count(text[:got], []byte("\n"))
				found++
			} else {
				got = -1
			}
			if got != line {
				t.Fatalf("%s: %q (fold %v) in %q from %d: line %d, want %d", name, needles, fold, text, from, got, line)
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d searches found a needle", found)
	}
}

// lineOf is the number of the first line at from or later that contains a needle, or -1.
func lineOf(text []byte, from int, needles []string, fold bool) int {
	first := bytes.Count(text[:from], []byte("\n"))
	for i, line := range strings.Split(string(text[from:]), "\n") {
		if fold {
			line = lower(line)
		}
		for _, n := range needles {
			if strings.Contains(line, n) {
				return first + i
			}
		}
	}
	return -1
}

// lower changes ASCII letters only, and no byte that is not valid UTF-8.
func lower(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
