package text_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"pgregory.net/rapid"

	"hob/daemon/text"
)

// drain reads all blocks and checks that each but the last ends a line.
func drain(t testing.TB, r *text.Reader) (string, error) {
	t.Helper()
	var all strings.Builder
	for open := false; ; {
		b, err := r.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return all.String(), err
		}
		if len(b) == 0 || open {
			t.Fatalf("a block of %d bytes, after one that ends no line: %v", len(b), open)
		}
		open = b[len(b)-1] != '\n'
		all.Write(b)
	}
}

func encode(s string, order binary.AppendByteOrder, mark string) string {
	out := []byte(mark)
	for _, u := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, u)
	}
	return string(out)
}

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 80) + "\n"
	early := strings.Repeat(long, 100)
	later := strings.Repeat(long, 1000) // more than 64 KB
	for _, c := range []struct {
		name, in, want string
		atOnce, later  bool
	}{
		{"nothing", "", "", false, false},
		{"no last break", "a\nb", "a\nb", false, false},
		{"many blocks", strings.Repeat(later, 20) + "end", strings.Repeat(later, 20) + "end", false, false},
		{"a long line", strings.Repeat("y", 3<<20) + "\nz\n", strings.Repeat("y", 3<<20) + "\nz\n", false, false},
		{"a mark", "\ufeffa\n", "a\n", false, false},
		{"only a mark", "\ufeff", "", false, false},
		{"not UTF-8", "a\xff\n", "a\xff\n", false, false},
		{"NUL at once", "a\nb\x00c\n", "", true, false},
		{"NUL soon", early + "a\x00", "", true, false},
		{"NUL later", later + "half\x00after\n", later[:64<<10/81*81], false, true},
		{"UTF-16 LE", encode("aä€😀\nb", binary.LittleEndian, "\xff\xfe"), "aä€😀\nb", false, false},
		{"UTF-16 BE", encode("aä€😀\nb", binary.BigEndian, "\xfe\xff"), "aä€😀\nb", false, false},
		{"a lone surrogate", "\xff\xfe\x00\xd8a\x00", "\ufffda", false, false},
		{"half a unit", "\xff\xfea\x00b", "a\ufffd", false, false},
		{"long UTF-16", encode(strings.Repeat("😀", 9000), binary.LittleEndian, "\xff\xfe"), strings.Repeat("😀", 9000), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r text.Reader
			for name, src := range map[string]io.Reader{
				"whole": strings.NewReader(c.in), "half": iotest.HalfReader(strings.NewReader(c.in)), "with the end": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				r.Reset(src)
				got, err := drain(t, &r)
				if atOnce, later := r.Binary(); err != nil || got != c.want || atOnce != c.atOnce || later != c.later {
					t.Errorf("%s: %d bytes %.60q, want %d; binary %v %v; %v", name, len(got), got, len(c.want), atOnce, later, err)
				}
			}
		})
	}
}

func TestByBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		in := rapid.StringMatching(`(\x{feff})?([a-zä€]{0,9}\n?){0,20}`).Draw(rt, "in")
		var r text.Reader
		r.Reset(iotest.OneByteReader(strings.NewReader(in)))
		if got, err := drain(t, &r); err != nil || got != strings.TrimPrefix(in, "\ufeff") {
			rt.Fatalf("%q, %v", got, err)
		}
	})
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestBounds(t *testing.T) {
	var r text.Reader
	r.Reset(endless{})
	if _, err := r.Next(); !errors.Is(err, text.ErrLong) {
		t.Errorf("an endless line: %v", err)
	}
	r.Reset(endless{})
	if _, err := r.Whole(); !errors.Is(err, text.ErrLong) {
		t.Errorf("an endless text: %v", err)
	}
	broken := errors.New("broken")
	r.Reset(io.MultiReader(strings.NewReader("a\n"), iotest.ErrReader(broken)))
	if _, err := drain(t, &r); !errors.Is(err, broken) {
		t.Errorf("a broken file: %v", err)
	}
}

func TestWhole(t *testing.T) {
	var r text.Reader
	big := bytes.Repeat([]byte("line\n"), 200_000)
	r.Reset(bytes.NewReader(big))
	if got, err := r.Whole(); err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	r.Reset(strings.NewReader("a\x00b"))
	if got, err := r.Whole(); !errors.Is(err, io.EOF) {
		t.Errorf("%q, %v", got, err)
	}
}
