package memory_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"hob/daemon/memory"
)

// A heading stands in every window below it, so a long one is cut.
func TestLongHeadings(t *testing.T) {
	f := newFixture(t)
	f.put(t, "memory/long.md", "# needle "+strings.Repeat("ü", 50_000)+"\n\nthe first\n\n## "+strings.Repeat("漢", 90)+"\n\n### "+strings.Repeat("x", 90)+"\n\n#### "+strings.Repeat("y", 90)+"\n\n##### innermost\n\nthe quail\n\n# short\n\nthe heron\n")
	f.sync(t)
	above := func(ask string) string {
		t.Helper()
		r := f.search(t, ask)
		if len(r.Passages) == 0 {
			t.Fatalf("%s: nothing", ask)
		}
		return r.Passages[0].Above
	}
	if got := above("first"); !strings.HasPrefix(got, "needle ü") || len(got) > 110 || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %.200q", len(got), got)
	}
	if got := above("quail"); !strings.HasSuffix(got, strings.Repeat("y", 90)) || len(got) > 300 || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %.400q", len(got), got)
	}
	if got := above("heron"); got != "" { // the window holds its heading itself
		t.Errorf("%q", got)
	}
}

// A file of nothing but short sections does not fill the disk: the index ends somewhere, and says so.
func TestMostChunks(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct {
		headings, windows int
		state, problem    string
	}{
		{100_000, 100_000, "indexed", ""},
		{100_001, 100_000, "cut", "it has more than 100000 passages, most of them headings; only these are indexed"},
		{1_000_000, 100_000, "cut", "it has more than 100000 passages, most of them headings; only these are indexed"},
	} {
		f.put(t, "memory/many.md", strings.Repeat("# a\n", c.headings))
		if windows, state, problem := memory.Read(f.guard, "memory/many.md"); windows != c.windows || state != c.state || problem != c.problem {
			t.Errorf("%d headings: %d windows, %s, %s", c.headings, windows, state, problem)
		}
	}
}
