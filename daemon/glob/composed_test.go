package glob_test

import (
	"testing"

	"hob/daemon/glob"
)

// Patterns and names match in either normal form of Unicode.
func TestComposedAndDecomposedNamesMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"M\u00fcller.txt", "Mu\u0308ller.txt", true},
		{"Mu\u0308ller.txt", "M\u00fcller.txt", true},
		{"*\u00fc*.txt", "Mu\u0308ller.txt", true},
		{"**/F\u00fcr/*.md", "a/Fu\u0308r/b.md", true},
		{"M?ller.txt", "Mu\u0308ller.txt", true},
		{"*.\u00e9", "x.e\u0301", true},
		{"Muller.txt", "Mu\u0308ller.txt", false},
	} {
		p, err := glob.New(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Path(c.path); got != c.want {
			t.Errorf("%+q on %+q: %v", c.pattern, c.path, got)
		}
	}
}
