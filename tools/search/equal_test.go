package search_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/daemon/fsguard"
	"hob/daemon/sys/systest"
	"hob/tools/search"
)

// whole compares every mode also on the large trees.
var whole = flag.Bool("whole", false, "compare every mode with ripgrep also on the large trees")

// trees are the source trees on which hob must find what ripgrep and fd find: a part of Go's own with texts, binaries and odd names, and one with
// rules and junk of every kind. With -whole it is all of Go's own, and a library.
func trees(t *testing.T) map[string]fixture {
	t.Helper()
	src := goroot(t)
	if testing.Short() {
		src = filepath.Join(src, "net")
	} else if !*whole {
		src = filepath.Join(src, "internal")
	}
	all := map[string]fixture{"go": fixtureAt(t, t.TempDir(), src), "junk": junk(t)}
	mods, err := filepath.Glob(filepath.Join(modules(t), "golang.org/x/tools@*"))
	must(t, err)
	if len(mods) > 0 && *whole {
		all["x/tools"] = fixtureAt(t, t.TempDir(), mods[0])
	}
	return all
}

func modules(t *testing.T) string {
	t.Helper()
	return strings.Join(lines(t, os.Getenv("HOME"), ".", "go", "env", "GOMODCACHE"), "")
}

// junk is a repository with rules in every place, and files of every kind.
func junk(t *testing.T) fixture {
	t.Helper()
	d := newFixture(t)
	lines(t, d.top, d.dir, systest.Program(t, "git"), "init", "-q", ".")
	text := "func main() {\n\treturn err // TODO: error in reader\n}\n\nFoo foo FOO_1 straße\n"
	for _, name := range []string{
		"a.go", "b.txt", "build/out.go", "build/keep/x.go", "src/a.log", "src/keep.log", "src/x/y/z.go", "src/x/gen.pb.go", "docs/one.md", "docs/two.md",
		"tmp/x.go", "a/tmp/x.go", "foo[1].go", "sp ace.txt", "sp ace .txt", ".hidden", ".config/x", "ignored-by-info", "ignored-by-home", "dot/ignored", "dot/rg",
		"dot/back", "nested/.git/HEAD", "nested/a.log", "nested/b.go", "node_modules/m/i.js", "x/node_modules/m/i.js", "deep/a/b/c/d/e/f.go", "UP.GO", "ab.c",
		"ac.c", "[lit].c", "trail", "hash#.c", "#hash.c", "!bang.c", "dir only/f", "file/dironly", "dironly/f.go", "all/x", "all/sub/y", "star.a.b",
	} {
		d.put(t, name, text+name+"\n")
	}
	d.put(
		t, ".gitignore", "*.log\n!keep.log\n/build/*\n!/build/keep\n**/tmp/\nfoo\\[1\\].go\nsp ace.txt   \nsp\\ ace\\ .txt\nnode_modules\n*.pb.go\ndironly/\na[!b].c\n\\#hash.c\n\\!bang.c\n# no\n\nall/**\n*.a.*\n",
		"src/.gitignore", "!a.log\nx/**/z.go\r\n", "docs/.ignore", "two.md\n", "dot/.ignore", "ignored\nback\n", "dot/.rgignore", "rg\n!back\n",
		".git/info/exclude", "ignored-by-info\n", "bin", "text\x00func main", "later", strings.Repeat("func main\n", 9000)+"\x00func main\n",
		"odd.txt", "caf\xe9\x81 error\n", "crlf.txt", "error\r\nend error\r\n", "bom.txt", "\xef\xbb\xbffunc bom\n",
		"utf16.txt", "\xff\xfef\x00u\x00n\x00c\x00 \x00m\x00a\x00i\x00n\x00\n\x00", "empty", "", "nolast", "error",
	)
	must(t, os.WriteFile(filepath.Join(d.top, ".gitconfig"), []byte("[user]\n\tname = x\n[Core]\n\texcludesFile = ~/my-ignores\n"), 0o600))
	must(t, os.WriteFile(filepath.Join(d.top, "my-ignores"), []byte("ignored-by-home\n"), 0o600))
	must(t, os.Symlink("a.go", filepath.Join(d.dir, "link.go")))
	must(t, os.Symlink("src", filepath.Join(d.dir, "linked")))
	return d
}

func TestGrepFindsWhatRipgrepFinds(t *testing.T) {
	rg := systest.Program(t, "rg")
	patterns := []string{
		"error", "func main", "TODO", "Reader", "return err", "xyzzy_nowhere", "(?i)todo", "(?i)READER", "(?i)straße", `func [A-Z][a-z]+\(`, `[A-Z]{5,}`, `[0-9]{4}`,
		"foo|bar|baz", "ErrShort|ErrNo|ErrClosed", "(?i)foo|todo", "^func", `^\t*return$`, "^$", `\{$`, "err(or)?s?:", "e.r.r", "a{3}", `"[^"]{30,}"`, `x\.y`, `\bio\b`,
		`[^ -~\t\r\x{fffd}]`, "(a|e)(r|n){2}", "[[:upper:]]{3}_[[:digit:]]", `[^\x{fffd}]{120}`, "=>", `\\n`, "}$", `https?://[a-z.]+/`, "(?s)a.b", "日本", "[α-ω]", "k", "_", "z{2}|q{2}", "switch .* := .*\\.\\(type\\)",
	}
	if len(patterns) < 40 {
		t.Fatalf("only %d patterns", len(patterns))
	}
	for name, d := range trees(t) {
		t.Run(name, func(t *testing.T) {
			for i, p := range patterns {
				compare(t, d, rg, p, "count", "-c")
				if name != "junk" && i%4 != i/4%4 && !*whole {
					continue // each mode still comes
				}
				switch i % 4 {
				case 0:
					compare(t, d, rg, p, "files_with_matches", "-l")
				case 1:
					compare(t, d, rg, p, "content", "-n")
				case 2:
					compare(t, d, rg, p, "count", "-ci")
				case 3:
					compare(t, d, rg, p, "content", "-ni", "-tgo")
				}
			}
		})
	}
}

// compare compares what both find. To hob as to RE2 words are in ASCII, and "." takes a byte that is not UTF-8; to ripgrep
// neither, so the patterns ask for neither.
func compare(t *testing.T, d fixture, rg, pattern, mode string, flags ...string) {
	t.Helper()
	all := append(flags, "--no-messages", "--no-heading", "--crlf", "--no-config", "--", pattern, ".")
	want := lines(t, d.top, d.dir, rg, all...)
	for i := range want {
		want[i] = strings.TrimSuffix(strings.TrimPrefix(want[i], "./"), "\r")
	}
	want = slices.DeleteFunc(want, func(s string) bool { return strings.Contains(s, "WARNING: stopped searching binary file") })
	a := args{"pattern": pattern, "output_mode": mode, "head_limit": 5000, "ignore_case": strings.HasSuffix(flags[0], "i")}
	if len(flags) > 1 {
		a["type"] = "go"
	}
	want = d.public(t, want)
	res := d.do(t, d.grep, a)
	data, ok := res.Data.(search.GrepOutput)
	if !ok {
		t.Fatalf("%q: %s", pattern, res.Content)
	}
	got := drawn(data)
	if data.Next > 0 { // more than is shown at once: what is shown is among what ripgrep finds, and there are as many
		all := data.Total
		if mode == "count" {
			all = data.InFiles
		}
		if all != len(want) {
			t.Errorf("%q %v: %d, want %d", pattern, flags, all, len(want))
		}
		shown := map[string]bool{}
		for _, s := range got {
			shown[plainly(s)] = true
		}
		want = slices.DeleteFunc(want, func(s string) bool { return !shown[plainly(s)] })
	}
	differ(t, fmt.Sprintf("%q %v", pattern, flags), sorted(got), want)
}

const longLine = 400

// plainly is a result without what hob shows otherwise: bytes that are not UTF-8, and of a long line all but where it is.
func plainly(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if len(s) > longLine {
		s = strings.Join(strings.SplitN(s, ":", 3)[:2], ":")
	}
	return s
}

// drawn are the results as ripgrep writes them.
func drawn(data search.GrepOutput) []string {
	var got []string
	for _, l := range data.Lines {
		if l.Cut {
			l.Text = strings.Repeat("x", longLine) // compared by where it is
		}
		got = append(got, fmt.Sprintf("%s:%d:%s", l.Path, l.Line, l.Text))
	}
	for _, f := range data.Files {
		if f.Count > 0 {
			got = append(got, fmt.Sprintf("%s:%d", f.Path, f.Count))
		} else {
			got = append(got, f.Path)
		}
	}
	return got
}

// public leaves out the files that hob searches only when they are named.
func (d fixture) public(t *testing.T, found []string) []string {
	t.Helper()
	known := map[string]bool{}
	return slices.DeleteFunc(found, func(s string) bool {
		path, _, _ := strings.Cut(s, ":")
		if _, ok := known[path]; !ok {
			p, err := d.guard.Resolve("", path)
			must(t, err)
			known[path] = p.Area == fsguard.Sensitive
		}
		return known[path]
	})
}

// differ reports what only one of two sorted lists has. Long lines are compared by their beginning, which is what hob shows.
func differ(t *testing.T, what string, got, want []string) {
	t.Helper()
	short := func(list []string) map[string]bool {
		m := map[string]bool{}
		for _, s := range list {
			m[plainly(s)] = true
		}
		return m
	}
	g, w := short(got), short(want)
	n := 0
	for s := range w {
		if !g[s] && n < 5 {
			n++
			t.Errorf("%s: not found: %.200s", what, s)
		}
	}
	for s := range g {
		if !w[s] && n < 5 {
			n++
			t.Errorf("%s: only hob finds: %.200s", what, s)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d, want %d", what, len(got), len(want))
	}
}

func TestGlobFindsWhatFdFinds(t *testing.T) {
	fd := systest.Program(t, "fdfind", "fd")
	globs := []string{
		"*.go", "*_test.go", "*.{md,txt}", "[a-c]*", "[!a-z]*", "?", "??.go", "*.s", "read*", "*er.go", "doc.go", "{a,b,z}*.go", "*.[ch]", "x*y*", "*-*", "*_*_*.go",
		"Makefile", "*.pb.go", "*[0-9].go", "*.log", "f", "*",
	}
	for name, d := range trees(t) {
		t.Run(name, func(t *testing.T) {
			for _, g := range globs {
				want := lines(t, d.top, d.dir, fd, "-s", "-t", "f", "-g", "--strip-cwd-prefix", g)
				// fd does not read .rgignore.
				want = slices.DeleteFunc(want, func(s string) bool { return s == "dot/rg" })
				want = d.public(t, want)
				if slices.Contains(want, "dot/ignored") {
					t.Fatal("fd reads no .ignore?")
				}
				res := d.do(t, d.glob, args{"pattern": "**/" + g})
				data, _ := res.Data.(search.GlobOutput)
				if data.Total > 1000 {
					if data.Total != len(want) {
						t.Errorf("%s: %d files, want %d", g, data.Total, len(want))
					}
					continue
				}
				var got []string
				for _, f := range data.Files {
					got = append(got, f.Path)
				}
				got = slices.DeleteFunc(sorted(got), func(s string) bool { return s == "dot/back" })
				differ(t, g, got, want)
			}
		})
	}
}

// A large file is searched by parts: that must not show, wherever lines begin and end.
func TestLargeFilesAreSearchedAsSmallOnes(t *testing.T) {
	rg := systest.Program(t, "rg")
	const part, size = 256 << 10, 5 << 20
	edges := []byte(strings.Repeat("some line of text\n", size/18))
	for i, at := 0, part; at+40 < len(edges); i, at = i+1, at+part { // line breaks at, before and after each edge
		copy(edges[at-30:], strings.Repeat("~", 60))
		edges[at-2+i%4] = '\n'
		copy(edges[at-1+i%4:], "needle")
	}
	text := string(edges)
	d := newFixture(t)
	d.put(
		t, "edges", text, "nolast", text+"needle", "blank", strings.Repeat("\n", size)+"needle\n", "crlf", strings.ReplaceAll(text, "\n", "\r\n"),
		"long", text+strings.Repeat("x", 3*part)+"needle\n"+text, "one", strings.Repeat("x", size)+"needle", "early", "\x00"+text,
		"mark", "\ufeffneedle"+text,
	)
	for n := range 3 { // a line is a part long, or one byte less or more
		d.put(t, fmt.Sprint("whole", n), strings.Repeat(strings.Repeat("x", part-8+n)+"needle\n", size/part))
	}
	for _, p := range []string{"needle", "^needle", "(?i)NEEDLE$", "needle~+$", "nowhere"} {
		compare(t, d, rg, p, "count", "-c")
		compare(t, d, rg, p, "files_with_matches", "-l")
		compare(t, d, rg, p, "content", "-n")
	}
	d.put(t, "nul", text+"needle\x00"+text) // binary, as shows late: nothing of it counts
	compare(t, d, rg, "^needle", "count", "-c")
}
