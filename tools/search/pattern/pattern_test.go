package pattern_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"hob/tools/search/pattern"
)

// lines are the numbers, from 0, of the lines that a pattern finds.
func lines(t testing.TB, expr, text string, fold bool) []int {
	t.Helper()
	p, err := pattern.Compile(expr, pattern.Options{IgnoreCase: fold})
	if err != nil {
		t.Fatal(err)
	}
	s := p.Searcher()
	s.Reset([]byte(text))
	var found []int
	for from := 0; ; {
		start, end := s.Next(from)
		if start < 0 {
			return found
		}
		if start < from || end < start {
			t.Fatalf("%q in %q: line %d to %d, looked for from %d", expr, text, start, end, from)
		}
		found = append(found, strings.Count(text[:start], "\n"))
		from = end + 1
	}
}

// anchor is what the standard package finds, line by line; $ may stand before a carriage return.
func anchor(re *regexp.Regexp, text string) []int {
	var found []int
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if text == "" {
			break
		}
		if re.MatchString(line) {
			found = append(found, i)
		}
	}
	return found
}

func expressions() []string {
	return []string{
		"foo", "", "^", "$", "^$", "a|b", "foo|bar|baz", "f(oo|ar)b", "[Ff]oo", "fo{2,3}", "(foo)+x?", "x*", "^foo", "foo$", `\bfoo\b`, `\Bo`,
		`\Afoo\z`, `[^a]`, `\s`, `\S+\s\S+`, `\w+\(`, `.`, `.{3}`, `ä`, `[ä-ö]`, `\pL+`, `\P{Greek}`, `(?i)straße`, `(?i)K`, `(?i)ask`, `(?i:f)oo`,
		`(?-m:^)a`, `(?s).`, `a.b`, `[[:upper:]]{2}`, `foo.*bar`, `(a|b)*c`, `a{0}`, "\ufffd", "x\ufffd|y", `[\x{fffd}]`, `err(or)?s?$`, `(?U)a+`, `(|a)b`, `\x00`, `[^\n]$`, `x\.y`, `fo(o)?:`, "[\n\r]", "[\na]b?",
	}
}

func texts() []string {
	return []string{
		"", "\n", "\n\n", "foo", "foo\n", "a\nfoo bar\n\nbaz\n", "xfoo foo\nFOO\nfoobar\nfarb\n", "straße STRASSE STRAßE\n", "K k \u212a\n\u212a\nas\u212a\na\u017fk\n",
		"ä\nö\nü\n", "a\xffb\n\xff\n\xe2\x82\na\u20acb\n", "\ufffd\nx\xfe\n", "error\nerrors\nerr \n", "func main() {\n\treturn\n}\n", strings.Repeat("x", 300) + "\nfoo(\n",
		"a\x00b\n", "αβγ\nabc\n", "b\nab\naab\nc\naabbc", "X.Y x.y\nX.y\nFoo: fO:\nxFO:\n",
	}
}

func TestFindsWhatTheStandardPackageFinds(t *testing.T) {
	for _, expr := range expressions() {
		for _, fold := range []bool{false, true} {
			prefix := "(?m)"
			if fold {
				prefix = "(?mi)"
			}
			re := regexp.MustCompile(prefix + expr)
			for _, text := range texts() {
				if got, want := lines(t, expr, text, fold), anchor(re, text); !slices.Equal(got, want) {
					t.Errorf("%q (fold %v) in %q: lines %v, want %v", expr, fold, text, got, want)
				}
			}
		}
	}
}

// Several needles, and one in any case, are found wherever they stand, however they overlap and wherever the text ends.
func TestFindsNeedlesAnywhere(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, expr := range []string{
		"(?i)abcab", "abcab|bcabc", "(?i)abcabcabcab|bbbbb", "(?i)aaaaaa|abbbbbbbbbbbbbbbbbbbbbbb", "(?i)kabcas|sabcak", "abcabcabcabcabcabcabcabc|abcabcbbbb",
	} {
		re := regexp.MustCompile("(?m)" + expr)
		found := 0
		for range 4000 {
			var text strings.Builder
			for range random.IntN(90) {
				text.WriteString([]string{"a", "b", "c", "abc", "abcab", "A", "B", "BCABC", "\n", "x", "bbbb", "k", "\u212a", "\u017f"}[random.IntN(14)])
			}
			got, want := lines(t, expr, text.String(), false), anchor(re, text.String())
			if !slices.Equal(got, want) {
				t.Fatalf("%q in %q: lines %v, want %v", expr, text.String(), got, want)
			}
			found += len(want)
		}
		if found == 0 {
			t.Errorf("%q stands nowhere: the texts prove nothing", expr)
		}
	}
}

func TestDollarStandsBeforeCRLF(t *testing.T) {
	for expr, want := range map[string][]int{"one$": {0, 1}, "^$": {2}, `\r`: {0, 2}, `one\r$`: {0}, `(one|two)$`: {0, 1}, "e.$": {0}} {
		if got := lines(t, expr, "one\r\none\n\r\ntwo x", false); !slices.Equal(got, want) {
			t.Errorf("%q: lines %v, want %v", expr, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	for _, expr := range []string{`a\nb`, "[\n]", "x(\n)"} {
		if _, err := pattern.Compile(expr, pattern.Options{}); !errors.Is(err, pattern.ErrLineBreak) {
			t.Errorf("%q: %v", expr, err)
		}
		if _, err := pattern.Compile(expr, pattern.Options{Multiline: true}); err != nil {
			t.Errorf("%q over lines: %v", expr, err)
		}
	}
	for _, expr := range []string{"(", "a)(b", "[", `(?=x)`, `\1`, "a**", strings.Repeat("(", 2000)} {
		var bad *syntax.Error
		if _, err := pattern.Compile(expr, pattern.Options{}); !errors.As(err, &bad) {
			t.Errorf("%.20q: %v", expr, err)
		}
	}
}

func TestOverLines(t *testing.T) {
	for _, c := range []struct {
		expr, text string
		want       bool
	}{
		{`a\nb`, "x\na\nb", true},
		{`a\nb`, "a b", false},
		{`a.b`, "a\nb", false},
		{`(?s)a.b`, "a\nb", true},
		{`^b$`, "a\nb\nc", true},
		{`\Ab`, "a\nb", false},
		{`b\z`, "b\na", false},
		{`a[^x]+b`, "a\n\n\nb", true},
	} {
		p, err := pattern.Compile(c.expr, pattern.Options{Multiline: true})
		if err != nil {
			t.Fatal(err)
		}
		s := p.Searcher()
		s.Reset([]byte(c.text))
		if got := s.Any(); got != c.want || (p.All([]byte(c.text)) != nil) != c.want {
			t.Errorf("%q in %q: %v", c.expr, c.text, got)
		}
	}
}

// An expression with more states than are kept is forgotten and worked out again, and finds the same.
func TestForgetsStates(t *testing.T) {
	expr := `(a|b)*a(a|b){14}c`
	var text bytes.Buffer
	for i := range 40_000 {
		for bit := range 15 {
			text.WriteByte("ab"[i*2654435761>>bit&1])
		}
		if i%1000 == 0 {
			text.WriteString("c")
		}
		text.WriteByte('\n')
	}
	re := regexp.MustCompile(expr)
	if got, want := lines(t, expr, text.String(), false), anchor(re, text.String()); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
}

func FuzzPattern(f *testing.F) {
	for _, expr := range expressions() {
		f.Add(expr, "foo bar\nBAZ\xff\nä\r\n", true)
	}
	f.Fuzz(func(t *testing.T, expr, text string, fold bool) {
		if len(expr) > 200 || len(text) > 2000 || strings.Contains(text, "\r") {
			return
		}
		if _, err := pattern.Compile(expr, pattern.Options{IgnoreCase: fold}); err != nil {
			return
		}
		prefix := "(?m)"
		if fold {
			prefix = "(?mi)"
		}
		re := regexp.MustCompile(prefix + expr)
		if got, want := lines(t, expr, text, fold), anchor(re, text); !slices.Equal(got, want) {
			t.Errorf("%q (fold %v) in %q: lines %v, want %v", expr, fold, text, got, want)
		}
	})
}
