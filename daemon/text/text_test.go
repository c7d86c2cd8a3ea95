package text_test

import (
	"strings"
	"testing"

	"hob/daemon/text"
)

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"äöü", 3, "äöü"}, // six bytes, three characters
		{"äöüß", 3, "äöü…"},
		{"a b", 1, "a…"},
	} {
		if got := text.Shorten(c.in, c.n); got != c.want {
			t.Errorf("%q to %d: %q, want %q", c.in, c.n, got, c.want)
		}
	}
	if got := text.Line(" a\n\tb  c ", 3); got != "a b…" {
		t.Errorf("line: %q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"read", "read", 0},
		{"raed", "read", 1}, // neighbours swapped
		{"reed", "read", 1}, // replaced
		{"red", "read", 1},  // left out
		{"ca", "abc", 3},    // a swap is not edited again: this is not the unrestricted distance, which is 2
		{"größe", "grösse", 2},
		{strings.Repeat("x", 64) + "a", strings.Repeat("x", 64) + "b", 0}, // beyond what is compared
	} {
		if got, back := text.Distance(c.a, c.b), text.Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q and %q: %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
