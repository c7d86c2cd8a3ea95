package text_test

import (
	"strings"
	"testing"

	"hob/daemon/text"
)

func TestThereAre(t *testing.T) {
	for _, c := range []struct {
		names string
		most  int
		want  string
	}{
		{"once", 3, "there is: once"}, {"a b", 3, "there are: a, b"}, {"a b c", 3, "there are: a, b, c"}, {"a b c d", 3, "there are: a, b, c and 1 more"}, {"a b c", 1, "there are: a and 2 more"},
	} {
		if got := text.ThereAre(strings.Fields(c.names), c.most); got != c.want {
			t.Errorf("%s, at most %d: %q, want %q", c.names, c.most, got, c.want)
		}
	}
}
