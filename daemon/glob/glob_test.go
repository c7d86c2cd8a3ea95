package glob_test

import (
	"errors"
	"path"
	"strings"
	"testing"

	"hob/daemon/glob"
)

// Unsupported forms are errors: a pattern that silently matches nothing would look like a tree without such files.
func TestUnknownFormsAreErrors(t *testing.T) {
	for _, pattern := range []string{"@(a|b)", "+(a)", "*(a).go", "?(a)x", "x@(a)", "**/@(a|b)/c", "{a,+(b)}", "[[:letter:]]", "[[:^alpha:]]", "[[:alpha:]", "!(@(a))", "*.@(go|c)"} {
		if _, err := glob.New(pattern); !errors.Is(err, glob.ErrPattern) {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"*.go", []string{"a.go", "ä.go"}, []string{"a/b.go", "a.goo", ".a.go", "go"}},
		{"**/*.go", []string{"a.go", "a/b.go", "a/b/c.go"}, []string{"a/b.c", ".git/a.go", "a/.b/c.go"}},
		{"a/**", []string{"a/b", "a/b/c"}, []string{"a", "b/a", "a/.b"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"a/xb", "ab"}},
		{"**/a/**/b/*.c", []string{"a/b/x.c", "1/a/2/3/b/x.c"}, []string{"a/x.c", "b/a/x.c"}},
		{"?.c", []string{"a.c", "ä.c"}, []string{"ab.c", ".c"}},
		{"[a-c]x", []string{"ax", "cx"}, []string{"dx", "x", "bbx"}},
		{"[!a-c]x", []string{"dx", "ßx"}, []string{"ax", "x"}},
		{"[^a]x", []string{"bx"}, []string{"ax"}},
		{"[]x]y", []string{"]y", "xy"}, []string{"y"}},
		{"[a-]b", []string{"ab", "-b"}, []string{"bb"}},
		{"{a,b}.c", []string{"a.c", "b.c"}, []string{"c.c", "ab.c"}},
		{"{a/b,c}/*.d", []string{"a/b/x.d", "c/x.d"}, []string{"b/x.d"}},
		{"x{,.go}", []string{"x", "x.go"}, []string{"x."}},
		{"{a,{b,c}d}e", []string{"ae", "bde", "cde"}, []string{"be"}},
		{"{a}", []string{"{a}"}, []string{"a"}},
		{`\{a,b\}`, []string{"{a,b}"}, []string{"a"}},
		{"[{,}]", []string{"{", ",", "}"}, []string{"a"}},
		{"!(a)", []string{"b", "aa", "ab"}, []string{"a", ".b"}},
		{"!(a|b).c", []string{"c.c", "ab.c"}, []string{"a.c", "b.c", ".c"}},
		{"!(*.test).ts", []string{"x.ts", "test.ts"}, []string{"x.test.ts"}},
		{"*.!(go|mod)", []string{"a.c", "a.go.c"}, []string{"a.go", "a.mod", "a"}},
		{"!(vendor)/**/*.go", []string{"a/b.go", "a/vendor/b.go"}, []string{"vendor/b.go", "b.go"}},
		{"a!(b)c", []string{"ac", "axc", "abbc"}, []string{"abc"}},
		{"!(!(a))", []string{"a"}, []string{"b"}},
		{`\*`, []string{"*"}, []string{"a"}},
		{`a\[b`, []string{"a[b"}, []string{"ab"}},
		{"*a*b*c", []string{"abc", "xaxbxc"}, []string{"acb", "ab"}},
		{"a**b", []string{"ab", "axb"}, []string{"a/b"}},
		{".github/*", []string{".github/x"}, []string{".github/.x"}},
		{".*", []string{".env"}, []string{"env"}},
		{"[[:alpha:]]*", []string{"a1", "Z", "ä"}, []string{"1a", "_"}},
		{"[[:digit:][:upper:]_]", []string{"7", "Q", "_"}, []string{"q", "-"}},
		{"[![:space:]]", []string{"a", "]"}, []string{" "}},
		{"{[[:alpha:],],x}.c", []string{"a.c", ",.c", "x.c"}, []string{"1.c"}},
		{"[[:xdigit:]][[:punct:]][[:lower:]]", []string{"F-z", "0_a"}, []string{"G-z", "Faz"}},
		{"[a[:]", []string{"a", "[", ":"}, []string{"b"}},
		{"a(b)", []string{"a(b)"}, []string{"ab"}},
		{`\@(a)`, []string{"@(a)"}, []string{"a"}},
		{"./a//b", []string{"a/b"}, []string{"b"}},
		{"0\x8f*", []string{"0\x8f", "0\x8fa"}, []string{"0\xe9", "0\ufffd"}},
		{"[\x8f]?", []string{"\x8f\xe9"}, []string{"\xe9a", "\ufffda"}},
		{"a/", []string{"a/b", "a/b/c"}, []string{"a"}},
		{"!a", []string{"!a"}, []string{"b"}},
		{"**/a", []string{"a"}, []string{"", "/b", "a/"}},
	} {
		p, err := glob.New(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		for _, path := range c.yes {
			if !p.Path(path) {
				t.Errorf("%q does not match %q", c.pattern, path)
			}
		}
		for _, path := range c.no {
			if p.Path(path) {
				t.Errorf("%q matches %q", c.pattern, path)
			}
		}
	}
}

func TestErrors(t *testing.T) {
	for _, pattern := range []string{"", "/", ".", "a[b", "!(a", "!(a/b)", "x/!(a|b/c)", "[z-a]", "a/../b", strings.Repeat("{a,b}", 9), strings.Repeat("!(", 20)} {
		if _, err := glob.New(pattern); !errors.Is(err, glob.ErrPattern) {
			t.Errorf("%.20q: %v", pattern, err)
		}
	}
}

// A pattern enters an ignored folder if it gives the folder's literal name. The ignore rules then do not apply below it.
func TestNamedFolders(t *testing.T) {
	for _, c := range []struct {
		pattern string
		state   glob.FolderState
		enters  bool
		named   bool
	}{
		{"build/*.o", glob.Ignored, true, true},
		{"**/build/x.o", glob.Ignored, true, true},
		{"**/*.o", glob.Ignored, false, false},
		{"b*/*.o", glob.Ignored, false, false},
		{"b*/*.o", glob.ContentsIgnored, true, false},
		{"build/*.o", glob.ContentsIgnored, true, true},
		{"build/*.o", glob.Shown, true, false},
		{"build/**", glob.Ignored, true, true},
		{"{src,build}/*.o", glob.Ignored, true, true},
	} {
		p, err := glob.New(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		s := p.Enter(p.Start(), "build", c.state)
		if len(s) > 0 != c.enters {
			t.Errorf("%q enters build: %v", c.pattern, len(s) > 0)
		}
		if ok, named := p.Match(s, "y.o"); c.enters && c.pattern != "**/build/x.o" && (!ok || named != c.named) {
			t.Errorf("%q in build: match %v, named %v", c.pattern, ok, named)
		}
	}
}

// path.Match of the standard library and this package agree on the patterns that both support. Nothing panics or hangs.
func FuzzWild(f *testing.F) {
	for _, s := range []string{"a*b?c", "[a-z]*", "!(a|b)*", "{a,b}", `\`, "[", "!(!(!(a)*)*)*b", "**", "[^-a]"} {
		f.Add(s, "abc.go")
		f.Add(s, "a//b/")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 60 || len(name) > 60 {
			return
		}
		p, err := glob.New(pattern)
		if err != nil || name == "" {
			return
		}
		got := p.Path(name)
		if strings.ContainsAny(pattern+name, `/{}!\[`) || strings.Contains(pattern, "**") || name[0] == '.' || pattern == "." {
			return
		}
		if want, err := path.Match(pattern, name); err == nil && got != want {
			t.Errorf("%q with %q: %v", pattern, name, got)
		}
	})
}

func BenchmarkExcept(b *testing.B) {
	p, err := glob.New("!(*a*b)*!(c*d*)*!(e)f")
	if err != nil {
		b.Fatal(err)
	}
	name := strings.Repeat("abcdef", 40)
	for b.Loop() {
		p.Path(name)
	}
}
