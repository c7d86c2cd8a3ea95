//go:build unix

package search_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/search"
)

func TestGrep(t *testing.T) {
	d := newFixture(t)
	d.put(
		t, "a.txt", "one\ntwo foo\nthree\nFOO four\nfive\n", "sub/b.go", "foo\nbar\nbaz\n", ".hidden", "foo", "bin", "foo\x00", ".gitignore", "skip/\n", "skip/x", "foo",
		"crlf", "line foo\r\n", "long", strings.Repeat("x", 3000)+"foo"+strings.Repeat("y", 3000)+"\n", "utf16", "\xff\xfef\x00o\x00o\x00", "bad", "f\xff foo\n",
	)
	for _, c := range []struct {
		name string
		args args
		want string
	}{
		{"path:line:text", args{"pattern": "two"}, "a.txt:2:two foo"},
		{"hidden, ignored and binary files are skipped", args{"pattern": "foo", "output_mode": "files_with_matches"}, "a.txt\nbad\ncrlf\nlong\nsub/b.go\nutf16"},
		{"count", args{"pattern": "(?i)foo", "output_mode": "count", "include": "*.txt"}, "a.txt:2"},
		{"ignore_case", args{"pattern": "foo", "ignore_case": true, "path": "a.txt"}, "a.txt:2:two foo\na.txt:4:FOO four"},
		{"before", args{"pattern": "three", "before": 1}, "a.txt-2-two foo\na.txt:3:three"},
		{"after", args{"pattern": "three", "after": 1}, "a.txt:3:three\na.txt-4-FOO four"},
		{"context", args{"pattern": "^three|^bar", "context": 1}, "a.txt-2-two foo\na.txt:3:three\na.txt-4-FOO four\n--\nsub/b.go-1-foo\nsub/b.go:2:bar\nsub/b.go-3-baz"},
		{"context that meets", args{"pattern": "one|three", "context": 1}, "a.txt:1:one\na.txt-2-two foo\na.txt:3:three\na.txt-4-FOO four"},
		{"context apart", args{"pattern": "one|five", "context": 1}, "a.txt:1:one\na.txt-2-two foo\n--\na.txt-4-FOO four\na.txt:5:five"},
		{"include by name", args{"pattern": "foo", "include": "*.go"}, "sub/b.go:1:foo"},
		{"include by path", args{"pattern": "foo", "include": "sub/**"}, "sub/b.go:1:foo"},
		{"include with braces", args{"pattern": "one|bar", "include": "*.{txt,go}"}, "a.txt:1:one\nsub/b.go:2:bar"},
		{"include that leaves out", args{"pattern": "one|bar", "include": "!*.go"}, "a.txt:1:one"},
		{"type", args{"pattern": "foo", "type": "go"}, "sub/b.go:1:foo"},
		{"path, a folder", args{"pattern": "foo", "path": "sub"}, "sub/b.go:1:foo"},
		{"path, an ignored folder", args{"pattern": "foo", "path": "skip"}, "skip/x:1:foo"},
		{"path, a hidden file", args{"pattern": "foo", "path": ".hidden"}, ".hidden:1:foo"},
		{"a line break of two characters", args{"pattern": "foo$", "path": "crlf"}, "crlf:1:line foo"},
		{"not UTF-8", args{"pattern": "foo", "path": "bad"}, "bad:1:f\uFFFD foo"},
		{"over lines", args{"pattern": `foo\nbar`, "multiline": true}, "sub/b.go:1:foo\nsub/b.go:2:bar"},
		{"over lines, count", args{"pattern": `(?s)o.*r`, "multiline": true, "output_mode": "count", "type": "go"}, "sub/b.go:1"},
		{"long lines are cut", args{"pattern": "foo", "path": "long"}, "long:1:[2,920 bytes before] …" + strings.Repeat("x", 80) + "foo" + strings.Repeat("y", 417) + "… [line cut: 2,583 bytes more]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := d.found(t, c.args); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestGrepPages(t *testing.T) {
	d := newFixture(t)
	for _, name := range []string{"a", "b", "c"} {
		d.put(t, name, strings.Repeat("hit\n", 200))
	}
	res := d.do(t, d.grep, args{"pattern": "hit"})
	out, _ := res.Data.(search.GrepOutput)
	if out.Shown != 250 || out.Total != 600 || out.InFiles != 3 || out.Next != 250 || len(out.Lines) != 250 {
		t.Errorf("%d shown of %d in %d, next %d", out.Shown, out.Total, out.InFiles, out.Next)
	}
	if !strings.HasSuffix(res.Content, "(1 to 250 of 600 matching lines in 3 files shown; cut: continue with offset=250)") {
		t.Errorf("the note is %q", res.Content[len(res.Content)-100:])
	}
	var all []search.FoundLine
	for offset := 0; ; {
		out, _ := d.do(t, d.grep, args{"pattern": "hit", "offset": offset, "head_limit": 77}).Data.(search.GrepOutput)
		if all = append(all, out.Lines...); out.Next == 0 {
			break
		}
		offset = out.Next
	}
	if len(all) != 600 || all[199].Path != "a" || all[199].Line != 200 || all[200].Path != "b" || all[200].Line != 1 || all[599].Path != "c" {
		t.Errorf("%d lines over all pages", len(all))
	}
	if res := d.do(t, d.grep, args{"pattern": "hit", "offset": 900}); !strings.Contains(res.Content, "nothing at offset 900") {
		t.Error(res.Content)
	}
	d.put(t, "wide", strings.Repeat(strings.Repeat("w", 499)+"\n", 400))
	res = d.do(t, d.grep, args{"pattern": "^w", "head_limit": 400})
	if out, _ := res.Data.(search.GrepOutput); len(res.Content) > 100<<10 || out.Next == 0 || out.Next != out.Shown {
		t.Errorf("%d bytes, %d shown, next %d", len(res.Content), out.Shown, out.Next)
	}
}

func TestRefusals(t *testing.T) {
	d := newFixture(t)
	d.put(t, "a", "x")
	must(t, syscall.Mkfifo(filepath.Join(d.dir, "pipe"), 0o600))
	for _, c := range []struct {
		tool tools.Tool
		args args
		code tools.Code
		want string
	}{
		{d.grep, args{}, tools.Validation, "pattern"},
		{d.grep, args{"pattern": "("}, tools.Validation, "missing closing )"},
		{d.grep, args{"pattern": `a\nb`}, tools.Validation, "set multiline"},
		{d.grep, args{"pattern": "a", "path": "gone"}, tools.NotFound, "no such file"},
		{d.grep, args{"pattern": "a", "type": "pyhton"}, tools.Validation, "python"},
		{d.grep, args{"pattern": "a", "include": "["}, tools.Validation, "include"},
		{d.grep, args{"pattern": "a", "output_mode": "x"}, tools.Validation, "output_mode"},
		{d.grep, args{"pattern": "a", "path": "../state"}, tools.Denied, "hob's own state"},
		{d.grep, args{"pattern": "a", "path": "pipe"}, tools.Validation, "regular"},
		{d.glob, args{"pattern": "[a"}, tools.Validation, "pattern"},
		{d.glob, args{"pattern": "@(a|b)"}, tools.Validation, `"@(" is not supported`},
		{d.glob, args{"pattern": "/tmp/+(a)/x"}, tools.Validation, `"+(" is not supported`},
		{d.glob, args{"pattern": "*(a)"}, tools.Validation, `"*(" is not supported`},
		{d.glob, args{"pattern": "[[:letter:]]"}, tools.Validation, "no class [:letter:]"},
		{d.grep, args{"pattern": "a", "include": "?(a)"}, tools.Validation, `"?(" is not supported`},
		{d.glob, args{"pattern": "*", "path": "a"}, tools.NotFound, "not a folder"},
		{d.glob, args{"pattern": "*", "path": "../state"}, tools.Denied, "hob's own state"},
	} {
		if res := d.do(t, c.tool, c.args); !res.IsError || res.Code != c.code || !strings.Contains(res.Content, c.want) {
			t.Errorf("%v: %s", c.args, res.Content)
		}
	}
}

// What must not be looked into is passed over on the way, whatever leads to it.
func TestKeepsOut(t *testing.T) {
	d := newFixture(t)
	must(t, os.WriteFile(filepath.Join(d.top, "state", "db"), []byte("needle"), 0o600))
	must(t, os.Link(filepath.Join(d.top, "state", "db"), filepath.Join(d.dir, "hard")))
	must(t, os.Symlink(filepath.Join(d.top, "state"), filepath.Join(d.dir, "soft")))
	must(t, os.Symlink("ok.txt", filepath.Join(d.dir, "link.txt")))
	must(t, syscall.Mkfifo(filepath.Join(d.dir, "pipe"), 0o600))
	d.put(t, "ok.txt", "needle", "my-secret.txt", "needle", "keys/server.pem", "needle", "credentials/x", "needle", ".scratch/main/x", "needle")
	if got := d.found(t, args{"pattern": "needle", "output_mode": "files_with_matches"}); got != "ok.txt" {
		t.Errorf("found in %q", got)
	}
	if res := d.do(t, d.grep, args{"pattern": "needle"}); !strings.Contains(res.Content, "3 files or folders with keys or credentials left out") {
		t.Error(res.Content)
	}
	for path, want := range map[string]string{"credentials": "credentials/x:1:needle", "my-secret.txt": "my-secret.txt:1:needle", ".scratch": ".scratch/main/x:1:needle"} {
		if got := d.found(t, args{"pattern": "needle", "path": path}); got != want {
			t.Errorf("%s named: %q", path, got)
		}
	}
	if got := d.globbed(t, args{"pattern": "**"}); !slices.Equal(sorted(got), []string{"hard", "ok.txt"}) {
		t.Errorf("glob lists %q", got)
	}
	inner := fixtureAt(t, d.top, d.top) // the workspace holds the state folder
	if got := inner.found(t, args{"pattern": "needle", "output_mode": "files_with_matches"}); got != "ws/ok.txt" {
		t.Errorf("around the state folder: %q", got)
	}
	if got := inner.globbed(t, args{"pattern": "state/*"}); len(got) != 0 {
		t.Errorf("in the state folder: %q", got)
	}
}

// Whatever the guard takes for a name of keys or credentials is withheld by both tools, and so is what it takes for one by
// its place.
func TestWithholds(t *testing.T) {
	d := newFixture(t)
	names := []string{
		"prod.env", "my-credentials.json", "SECRET.txt", "id_rsa", "id_ed25519.bak", "a.pem", "B.KEY", "c.p12", "d.pfx", "e.ppk", "f.jks", "g.kdbx", "h.keychain", "i.keychain-db",
		"_netrc", "authorized_keys", "ssh_host_key", "wallet.dat", "keychains/x", "keyrings/x", "\u017fecret", "to\u212aen-\u017fecret",
	}
	for _, name := range names {
		top, _, _ := strings.Cut(name, "/")
		if !fsguard.SecretName(top) {
			t.Errorf("%s: not a secret name", name)
		}
		d.put(t, name, "needle")
	}
	d.put(t, "open.txt", "needle", "id_rsa.pub", "needle")
	for pattern, a := range map[string]args{"grep": {"pattern": "needle", "output_mode": "files_with_matches"}, "glob": {"pattern": "**"}} {
		if pattern == "grep" {
			if got := d.found(t, a); got != "id_rsa.pub\nopen.txt" {
				t.Errorf("grep finds %q", got)
			}
		} else if got := sorted(d.globbed(t, a)); !slices.Equal(got, []string{"id_rsa.pub", "open.txt"}) {
			t.Errorf("glob finds %q", got)
		}
	}
	home := fixtureAt(t, d.top, filepath.Join(d.top, "ws"), fsguard.Root{Path: d.top}) // the home itself is open to hob
	for _, name := range []string{".config/gh/hosts.yml", ".docker/config.json", ".docker/plain.json", ".m2/settings.xml", "Library/Cookies/x"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(d.top, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(d.top, name), []byte("needle"), 0o600))
	}
	for path, want := range map[string][]string{".config": nil, ".docker": {filepath.Join(d.top, ".docker/plain.json")}, ".m2": nil, "Library": nil} {
		a := args{"path": filepath.Join(d.top, path), "pattern": "**"}
		if got := home.globbed(t, a); !slices.Equal(got, want) {
			t.Errorf("glob in %s lists %q", path, got)
		}
		a["pattern"] = "needle"
		a["output_mode"] = "files_with_matches"
		if got := home.found(t, a); got != strings.Join(want, "") {
			t.Errorf("grep in %s lists %q", path, got)
		}
	}
}

func TestForeign(t *testing.T) {
	d := newFixture(t)
	d.put(t, "own.txt", "needle own", "attachments/x.txt", "needle mail", "sub/marked.txt", "needle mark", "dir marked.txt/x", "")
	for pattern, want := range map[string]string{"needle own": "", "needle mail": "attachment", "needle mark": "written by a tainted turn", "nowhere": ""} {
		if res := d.do(t, d.grep, args{"pattern": pattern}); res.Foreign != want {
			t.Errorf("grep %q: foreign %q, want %q", pattern, res.Foreign, want)
		}
	}
	for pattern, want := range map[string]string{"*.txt": "", "attachments/*": "attachment", "sub/*": "written by a tainted turn", "d*/": "written by a tainted turn"} {
		if res := d.do(t, d.glob, args{"pattern": pattern}); res.Foreign != want {
			t.Errorf("glob %q: foreign %q, want %q", pattern, res.Foreign, want)
		}
	}
	raw, err := json.Marshal(args{"pattern": "x", "path": "attachments/x.txt"})
	must(t, err)
	intent, err := d.grep.Intent(t.Context(), tools.Call{Args: raw, Workdir: d.dir})
	must(t, err)
	if len(intent.Paths) != 1 || intent.Paths[0].Foreign != "attachment" || intent.Effect != tools.Read || !slices.Equal(intent.Scopes, []tools.Scope{tools.FSRead}) {
		t.Errorf("intent %+v", intent)
	}
}

// A file that cannot be searched does not stop a search.
func TestOneBadFile(t *testing.T) {
	d := newFixture(t)
	d.put(t, "a", "needle", "bad", strings.Repeat("x", 65<<20), "dir/c", "needle") // a line of more than 64 MB
	if res := d.do(t, d.grep, args{"pattern": "needle"}); res.Content != "a:1:needle\ndir/c:1:needle\n(1 file or folder could not be read)" {
		t.Error(res.Content)
	}
}

func TestCancelled(t *testing.T) {
	d := newFixture(t)
	d.put(t, "a", "x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tool := range []tools.Tool{d.grep, d.glob} {
		if res, err := d.try(ctx, t, tool, args{"pattern": "x"}); err != nil || res.Code != tools.Cancelled {
			t.Errorf("%s: %v, %s", tool.Spec().Name, err, res.Content)
		}
	}
}

func TestGlob(t *testing.T) {
	d := newFixture(t)
	d.put(
		t, "a.go", "", "b.txt", "", "sub/c.go", "", "sub/deep/d.go", "", ".github/w.yml", "", ".gitignore", "build/\nout/*\n*.log\n", "build/x.o", "", "build/sub/y.o", "",
		"out/z.o", "", "app.log", "", "sub/app.log", "",
	)
	now := time.Now()
	for i, name := range []string{"a.go", "sub/c.go", "sub/deep/d.go"} {
		must(t, os.Chtimes(filepath.Join(d.dir, name), now, now.Add(time.Duration(i)*time.Hour)))
	}
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"**/*.go", []string{"sub/deep/d.go", "sub/c.go", "a.go"}}, // newest first
		{"*.go", []string{"a.go"}},
		{"sub/*.go", []string{"sub/c.go"}},
		{"{a,b}.*", []string{"a.go", "b.txt"}},
		{"[a-b].go", []string{"a.go"}},
		{"?.go", []string{"a.go"}},
		{"!(a).*", []string{"b.txt"}},
		{"**/!(c|d).go", []string{"a.go"}},
		{"**/*.o", nil},
		{"build/*.o", []string{"build/x.o"}},
		{"build/**", []string{"build/sub/y.o", "build/x.o"}},
		{"out/*.o", []string{"out/z.o"}},
		{"*.log", nil},
		{"app.log", []string{"app.log"}},
		{".github/*", []string{".github/w.yml"}},
		{"*/w.yml", nil},
		{d.dir + "/sub/*.go", []string{"sub/c.go"}},
		{"../ws/*.go", []string{"a.go"}},
	} {
		got := d.globbed(t, args{"pattern": c.pattern})
		if c.pattern != "**/*.go" {
			slices.Sort(got)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.pattern, got, c.want)
		}
	}
	if res := d.do(t, d.glob, args{"pattern": "c.go"}); !strings.Contains(res.Content, "**/c.go looks in all folders") {
		t.Error(res.Content)
	}
}

// A slash at the end of a pattern asks for folders, and for nothing that is in them.
func TestGlobFolders(t *testing.T) {
	d := newFixture(t)
	d.put(t, "a/x", "", "b/c/y", "", ".h/z", "", "vendor/v", "", ".gitignore", "vendor\n", "credentials/x", "", "top", "")
	for pattern, want := range map[string][]string{
		"*/": {"a/", "b/"}, "**/": {"a/", "b/", "b/c/"}, "b/*/": {"b/c/"}, ".h/": {".h/"}, "vendor/": {"vendor/"}, "top/": nil, "a": nil, "{a,b}/": {"a/", "b/"},
		"[[:alpha:]]/": {"a/", "b/"},
	} {
		if got := sorted(d.globbed(t, args{"pattern": pattern})); !slices.Equal(got, want) {
			t.Errorf("%s: %q", pattern, got)
		}
	}
	if res := d.do(t, d.glob, args{"pattern": "nothing*/"}); !strings.Contains(res.Content, "no folder matches") {
		t.Error(res.Content)
	}
	if res := d.do(t, d.glob, args{"pattern": filepath.ToSlash(d.dir) + "/*/", "head_limit": 1}); !strings.Contains(res.Content, "cut: the newest 1 of 2 folders") {
		t.Error(res.Content)
	}
}

// Folders are not entered for a pattern that ends above what is in them: the folders of the root are there at once.
func TestGlobOfTheRoot(t *testing.T) {
	d := newFixture(t)
	start := time.Now()
	res := d.do(t, d.glob, args{"pattern": "/*/"})
	if res.IsError || !strings.Contains(res.Content, "/") || time.Since(start) > 5*time.Second {
		t.Errorf("%s in %s", res.Content, time.Since(start))
	}
}

func TestGrepWithoutALimit(t *testing.T) {
	d := newFixture(t)
	d.put(t, "a.txt", strings.Repeat("hit\n", 30_000))
	out, _ := d.do(t, d.grep, args{"pattern": "hit", "head_limit": 0}).Data.(search.GrepOutput)
	if out.Shown < 5000 || out.Next != out.Shown {
		t.Errorf("%d shown, %d next", out.Shown, out.Next)
	}
	if out, _ = d.do(t, d.grep, args{"pattern": "hit", "head_limit": 0, "offset": 29_000}).Data.(search.GrepOutput); out.Shown != 1000 || out.Next != 0 {
		t.Errorf("%d shown, %d next", out.Shown, out.Next)
	}
	if out, _ = d.do(t, d.grep, args{"pattern": "hit"}).Data.(search.GrepOutput); out.Shown != 250 {
		t.Errorf("%d shown", out.Shown)
	}
}

func TestGlobKeepsTheNewest(t *testing.T) {
	d := newFixture(t)
	old := time.Now().Add(-time.Hour)
	for i := range 1200 {
		name := filepath.Join(d.dir, strings.Repeat("x", i/100+1)+string(rune('a'+i%100)))
		must(t, os.WriteFile(name, nil, 0o600))
		must(t, os.Chtimes(name, old, old.Add(time.Duration(i)*time.Second)))
	}
	res := d.do(t, d.glob, args{"pattern": "*"})
	out, _ := res.Data.(search.GlobOutput)
	if len(out.Files) != 1000 || out.Total != 1200 || !out.Cut || !strings.HasSuffix(res.Content, "(cut: the newest 1,000 of 1,200 files)") {
		t.Errorf("%d of %d: %.80s", len(out.Files), out.Total, res.Content)
	}
	if !slices.IsSortedFunc(out.Files, func(a, b search.GlobbedFile) int { return b.Modified.Compare(a.Modified) }) {
		t.Error("not the newest first")
	}
}

// Where relative paths start elsewhere, or the search does, results are named so that read finds them.
func TestNames(t *testing.T) {
	other := t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "x"), []byte("needle"), 0o600))
	d := newFixture(t, fsguard.Root{Path: other})
	if got := d.found(t, args{"pattern": "needle", "path": other}); got != other+"/x:1:needle" {
		t.Errorf("outside the workspace: %q", got)
	}
}

func TestSpecs(t *testing.T) {
	d := newFixture(t)
	for _, tool := range []tools.Tool{d.grep, d.glob} {
		s := tool.Spec()
		if s.Group != "search" || !s.Core || !s.SelfPaging || !s.ReadOnly || len(s.Description) > 160 {
			t.Errorf("%+v", s)
		}
		t.Logf("%s: %d bytes of schema", s.Name, len(s.Parameters))
	}
}

// Some files are secret by their place alone. A search around them leaves them out before it reads them: it counts none of their lines.
func TestWithholdsByPlace(t *testing.T) {
	if _, err := os.ReadFile("/etc/shadow"); err != nil {
		t.Skip("these tests cannot read /etc/shadow either")
	}
	d := newFixture(t)
	res := d.do(t, d.grep, args{"pattern": "^root:", "path": "/etc", "output_mode": "count", "head_limit": 5000})
	out, ok := res.Data.(search.GrepOutput)
	if !ok || out.Withheld == 0 || out.Next != 0 || out.InFiles != len(out.Files) {
		t.Fatalf("%s", res.Content)
	}
	for _, f := range out.Files {
		if strings.Contains(f.Path, "shadow") {
			t.Errorf("searched %s", f.Path)
		}
	}
}

// T12: after foreign text a search shows nothing that is guarded, unless it begins there and so has asked.
func TestWithholdsWhatIsGuarded(t *testing.T) {
	d := newFixture(t)
	d = fixtureAt(t, d.top, filepath.Join(d.top, "ws"))
	d.dir = d.top
	d.put(t, ".tool/auth.json", "needle", "docs/token.txt", "needle", "docs/a.txt", "needle")
	for _, tainted := range []bool{false, true} {
		d.tainted = tainted
		want := []string{".tool/auth.json", "docs/a.txt", "docs/token.txt"}
		if tainted {
			want = []string{"docs/a.txt"}
		}
		if got := sorted(d.globbed(t, args{"pattern": "{.tool,docs}/*"})); !slices.Equal(got, want) {
			t.Errorf("tainted %v: glob lists %q", tainted, got)
		}
		got := d.found(t, args{"pattern": "needle", "path": d.top, "output_mode": "files_with_matches"})
		if strings.Contains(got, "token.txt") == tainted || strings.Contains(got, ".tool") || !strings.Contains(got, "a.txt") {
			t.Errorf("tainted %v: grep finds %q", tainted, got)
		}
		if got := d.globbed(t, args{"pattern": "*", "path": ".tool"}); len(got) != 1 {
			t.Errorf("tainted %v: in the folder itself glob lists %q", tainted, got)
		}
	}
}
