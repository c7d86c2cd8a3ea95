package edit_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"hob/daemon/fsguard"
	"hob/tools/edit"
)

// window is how much is looked at in one go: what stands across its edges is what can go wrong.
const window = 1 << 20

func open(t testing.TB, data []byte) *edit.LongText {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(path, data, 0o600))
	f, err := os.Open(path)
	must(t, err)
	text := edit.NewLongText(f, int64(len(data)))
	t.Cleanup(func() { must(t, text.Close()) })
	return text
}

func all(t testing.TB, text *edit.LongText) []byte {
	t.Helper()
	data, err := text.Head(1 << 30)
	must(t, err)
	return data
}

// every is what Find should find.
func every(data, old []byte) []edit.Span {
	var found []edit.Span
	for at := range data {
		if bytes.HasPrefix(data[at:], old) {
			found = append(found, edit.Span{From: int64(at), To: int64(at + len(old))})
		}
	}
	return found
}

func TestFindAcrossWindows(t *testing.T) {
	for _, c := range []struct {
		name, old, flat string
		at              []int
	}{
		{"nowhere", "needle", "needle", nil},
		{"at both ends", "needle", "needle", []int{0, 3*window - 6}},
		{"across every edge", "needle", "needle", []int{window - 1, 2*window - 5}},
		{"up to an edge, and from it", "needle", "needle", []int{window - 6, window, 2 * window}},
		{"overlapping across an edge", "aaaa", "aaaa", []int{window - 4, window - 3, window - 2, window - 1}},
		{"a byte on both sides of an edge", "#", "#", []int{window - 1, window}},
		{"CR LF across an edge", "x\r\ny", "x\ny", []int{window - 2, 2*window - 3, 2*window + 9}},
		{"CR LF alone", "\r\n", "\n", []int{window - 1, 2*window - 2}},
		{"CR LF at an edge, then more", "\r\nzz\r\n", "\nzz\n", []int{window - 1, 2*window - 5}},
		{"several CR LF from the last byte on", "a\r\nb\r\nc\r\nd", "a\nb\nc\nd", []int{window - 1}},
		{"CR without LF", "a\rb", "a\rb", []int{window - 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := bytes.Repeat([]byte("."), 3*window)
			for _, at := range c.at {
				copy(data[at:], c.old)
			}
			want := every(data, []byte(c.old))
			if len(c.at) != len(want) {
				t.Fatalf("the case says %d places, there are %d", len(c.at), len(want))
			}
			text := open(t, data)
			if got, err := text.Find(t.Context(), []byte(c.old), 9); err != nil || !slices.Equal(got, want) {
				t.Errorf("%v %v, want %v", got, err, want)
			}
			if got, err := text.FindFlat(t.Context(), []byte(c.flat), 9); err != nil || !slices.Equal(got, want) {
				t.Errorf("flat: %v %v, want %v", got, err, want)
			}
		})
	}
}

// A CR at the very edge does not count as one without its LF.
func TestACutCRIsNoCR(t *testing.T) {
	data := bytes.Repeat([]byte("."), 2*window)
	copy(data[window-2:], "a\r\nb")
	if got, err := open(t, data).FindFlat(t.Context(), []byte("a\r"), 9); err != nil || len(got) > 0 {
		t.Errorf("%v %v", got, err)
	}
}

func TestFindStops(t *testing.T) {
	text := open(t, bytes.Repeat([]byte("ab"), window))
	for _, find := range []func(context.Context, []byte, int) ([]edit.Span, error){text.Find, text.FindFlat} {
		if got, err := find(t.Context(), []byte("ab"), 10); !errors.Is(err, edit.ErrMany) || len(got) > 11 {
			t.Errorf("%d %v", len(got), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := find(ctx, []byte("none"), 10); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
}

func TestLines(t *testing.T) {
	data := bytes.Repeat([]byte("0123456\n"), window/4) // two windows
	copy(data[window+8:], "needle")
	text := open(t, data)
	offs := []int64{0, 7, 8, window - 1, window, window + 8, 2*window - 1, 2 * window}
	want := []int{0, 0, 1, window/8 - 1, window / 8, window/8 + 1, window/4 - 1, window / 4}
	if got, err := text.Lines(t.Context(), offs...); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v %v, want %v", got, err, want)
	}
	if _, err := text.Find(t.Context(), []byte("needle"), 1); err != nil { // from now on it knows a number
		t.Fatal(err)
	}
	for i, off := range offs {
		if got, err := text.Lines(t.Context(), off); err != nil || got[0] != want[i] {
			t.Errorf("%d: %v %v, want %d", off, got, err, want[i])
		}
	}
}

// Whatever is replaced, in several rounds, the text reads and is written as one in memory would be; what Middle leaves out is shared.
func TestReplaceIsThatInMemory(t *testing.T) {
	base := make([]byte, 400<<10) // longer than what the system copies by itself
	for i := range base {
		base[i] = byte('a' + i*7/13%26)
	}
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		want := slices.Clone(base)
		text := open(t, base)
		for range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			var spans []edit.Span
			var next []byte
			at := 0
			for range rapid.IntRange(0, 4).Draw(rt, "spans") {
				from := rapid.IntRange(at, len(want)).Draw(rt, "from")
				to := min(len(want), from+rapid.SampledFrom([]int{0, 1, 5, 100 << 10, 1 << 20}).Draw(rt, "length"))
				spans = append(spans, edit.Span{From: int64(from), To: int64(to)})
				next = append(append(next, want[at:from]...), "<new>"...)
				at = to
			}
			want = append(next, want[at:]...)
			must(t, text.Replace(spans, func(edit.Span) ([]byte, error) { return []byte("<new>"), nil }))
		}
		if got := all(t, text); text.Size() != int64(len(want)) || !bytes.Equal(got, want) {
			rt.Fatalf("it reads as %d bytes, want %d", len(got), len(want))
		}
		f, err := os.Create(filepath.Join(dir, "out"))
		must(t, err)
		must(t, errors.Join(text.Fill(f), f.Close()))
		if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("it is written as %d bytes, want %d: %v", len(got), len(want), err)
		}
		old, now := text.Middle()
		if !bytes.Equal(base[:old.From], want[:now.From]) || !bytes.Equal(base[old.To:], want[now.To:]) || now.From > now.To || old.From > old.To {
			rt.Fatalf("%v %v", old, now)
		}
		if !bytes.Equal(all(t, text.Source()), base) || !text.Changed() && !bytes.Equal(want, base) {
			rt.Fatal("the source is not the file")
		}
	})
}

// To take something away at an end is a change too.
func TestChanged(t *testing.T) {
	for _, c := range []struct {
		span edit.Span
		want bool
	}{{edit.Span{From: 0, To: 0}, false}, {edit.Span{From: 0, To: 1}, true}, {edit.Span{From: 2, To: 3}, true}, {edit.Span{From: 1, To: 2}, true}, {edit.Span{From: 0, To: 3}, true}} {
		text := open(t, []byte("abc"))
		must(t, text.Replace([]edit.Span{c.span}, func(edit.Span) ([]byte, error) { return nil, nil }))
		if text.Changed() != c.want {
			t.Errorf("%v: %v", c.span, text.Changed())
		}
	}
}

// A file that became shorter meanwhile is not taken for a whole one.
func TestAFileThatShrank(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(path, bytes.Repeat([]byte("x"), 2*window), 0o600))
	src, err := os.Open(path)
	must(t, err)
	text := edit.NewLongText(src, 2*window)
	defer func() { must(t, text.Close()) }()
	must(t, text.Replace([]edit.Span{{From: 9, To: 10}}, func(edit.Span) ([]byte, error) { return []byte("y"), nil }))
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	must(t, err)
	defer func() { must(t, f.Close()) }()
	must(t, os.Truncate(path, window))
	if err := text.Fill(f); !errors.Is(err, fsguard.ErrMoved) {
		t.Errorf("fill: %v", err)
	}
	if _, err := text.Find(t.Context(), []byte("z"), 1); !errors.Is(err, fsguard.ErrMoved) {
		t.Errorf("find: %v", err)
	}
}
