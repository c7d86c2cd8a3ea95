package edit_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"pgregory.net/rapid"

	"hob/tools"
	"hob/tools/edit"
)

// one is a single replacement in f.
func one(old, put string) args { return args{"path": "f", "old_text": old, "new_text": put} }

func everywhere(old, put string) args {
	return args{"path": "f", "old_text": old, "new_text": put, "replace_all": true}
}

func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name, file string
		args       args
		want       string // the file afterwards
		n          int    // replacements
		err        string
		code       tools.Code
	}{
		{name: "once", file: abc, args: one("b", "B"), want: "a\nB\nc\n", n: 1},
		{name: "several lines", file: abc, args: one("a\nb\n", "x\n"), want: "x\nc\n", n: 1},
		{name: "nothing is put there", file: abc, args: one("b\n", ""), want: "a\nc\n", n: 1},
		{name: "the whole file", file: abc, args: one(abc, ""), want: "", n: 1},
		{name: "everywhere", file: "x y x\nx\n", args: everywhere("x", "zz"), want: "zz y zz\nzz\n", n: 3},
		{name: "everywhere, once", file: abc, args: everywhere("b", "B"), want: "a\nB\nc\n", n: 1},
		{name: "everywhere, side by side", file: "aaaa", args: everywhere("aa", "b"), want: "bb", n: 2},
		{name: "what is put there is not looked through", file: "a", args: everywhere("a", "aa"), want: "aa", n: 1},
		{name: "twice", file: "x\ny\nx\n", args: one("x", "z"), err: "old_text occurs 2 times, on lines 1, 3", code: tools.Validation},
		{name: "overlapping", file: "aaa", args: one("aa", "b"), err: "2 times, on lines 1, 1", code: tools.Validation},
		{name: "often", file: strings.Repeat("x\n", 30), args: one("x", "z"), err: "30 times, on lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20 …", code: tools.Validation},
		{name: "not there", file: "alpha\nbeta line\n", args: one("beta lime", "x"), err: "old_text is not in the file\nhint: the closest lines:\n     2\tbeta line", code: tools.NotFound},
		{name: "other indentation is shown", file: "if x {\n\treturn nil\n}\n", args: one("    return nil", "x"), err: "     2\t\treturn nil", code: tools.NotFound},
		{name: "nothing alike", file: abc, args: one("zzzzzz", "x"), err: "hint: read the file again", code: tools.NotFound},
		{name: "the same", file: abc, args: one("b", "b"), err: "are the same", code: tools.Validation},
		{name: "CR LF stays", file: crlf(abc), args: one("a\nb", "x\ny\nz"), want: crlf("x\ny\nz\nc\n"), n: 1},
		{name: "CR LF in what is put in one line", file: crlf(abc), args: one("b", "x\ny"), want: crlf("a\nx\ny\nc\n"), n: 1},
		{name: "CR LF in a last line", file: "a\r\nb", args: one("b", "x\ny"), want: "a\r\nx\r\ny", n: 1},
		{name: "CR LF asked for, LF there", file: abc, args: one("a\r\nb", "x\r\ny"), want: "x\ny\nc\n", n: 1},
		{name: "CR LF written on purpose", file: abc, args: one("b\n", "b\r\n"), want: "a\nb\r\nc\n", n: 1},
		{name: "CR LF taken out on purpose", file: "a\r\nb\r\n", args: everywhere("\r\n", "\n"), want: "a\nb\n", n: 2},
		{name: "mixed endings: that of the place", file: "a\nb\r\nc\n", args: one("b", "x\ny"), want: "a\nx\r\ny\r\nc\n", n: 1},
		{name: "across mixed endings", file: "a\nb\r\nc\r\nd\n", args: one("a\nb\nc", "x"), want: "x\r\nd\n", n: 1},
		{name: "missing last line break stays", file: "a\nb", args: one("a", "A"), want: "A\nb", n: 1},
		{name: "a line break that is not there", file: "a\nb", args: one("b\n", "B\n"), want: "a\nB", n: 1},
		{name: "a byte order mark stays", file: "\ufeffa\nb\n", args: one("\ufeffa\n", "x\n"), want: "\ufeffx\nb\n", n: 1},
		{name: "bytes that are no UTF-8 stay", file: "caf\xe9 x\n", args: one("x", "y"), want: "caf\xe9 y\n", n: 1},
		{name: "binary", file: "a\x00b", args: one("a", "b"), err: "is a binary file", code: tools.Validation},
		{name: "no old_text", file: abc, args: args{"path": "f", "new_text": "x"}, err: "old_text: missing", code: tools.Validation},
		{name: "no new_text", file: abc, args: args{"path": "f", "old_text": "a"}, err: "new_text: missing", code: tools.Validation},
		{name: "nothing", file: abc, args: args{}, err: "path: missing (a string); old_text: missing (a string that is not empty); new_text: missing", code: tools.Validation},
		{name: "both forms", file: abc, args: args{"path": "f", "edits": []args{one("a", "b")}}, err: "edits cannot be combined with path", code: tools.Validation},
		{name: "empty old_text in a list", file: abc, args: args{"edits": []args{one("", "b")}}, err: "edits[0].old_text: must not be empty", code: tools.Validation},
		{name: "a list, one after the other", file: abc, args: args{"edits": []args{one("a", "b1"), one("b1\nb", "z")}}, want: "z\nc\n", n: 2},
		{name: "a list, the second is not there", file: abc, args: args{"edits": []args{one("a", "x"), one("a", "y")}}, err: "edit 2 of 2, f: old_text is not in the file", code: tools.NotFound},
		{name: "a placeholder", file: abc, args: one("b", "[secret ntfy.token]"), err: "the placeholder [secret ntfy.token]", code: tools.Validation},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t)
			d.put(t, "f", c.file)
			res := d.do(t, d.edit, c.args)
			want := c.want
			if c.err != "" {
				want = c.file
			}
			if got := d.all(t); !maps.Equal(got, m{"f": want}) {
				t.Errorf("%q, want %q", got, want)
			}
			out, _ := res.Data.(edit.EditOutput)
			if (c.err != "") != res.IsError || res.Code != c.code || !strings.Contains(res.Content, c.err) || out.Replacements != c.n {
				t.Errorf("%d replacements, code %q:\n%s", out.Replacements, res.Code, res.Content)
			}
		})
	}
}

func TestEditOfSeveralFilesIsAllOrNothing(t *testing.T) {
	d := newFixture(t)
	before := m{"a": "1\n", "b": "2\n", "c": "3\n"}
	for name, content := range before {
		d.put(t, name, content)
	}
	in := func(path, old, put string) args { return args{"path": path, "old_text": old, "new_text": put} }
	res := d.do(t, d.edit, args{"edits": []args{in("a", "1", "x"), in("b", "2", "y"), in("c", "9", "z")}})
	if got := d.all(t); !res.IsError || !maps.Equal(got, before) || !strings.Contains(res.Content, "edit 3 of 3, c") {
		t.Fatalf("%q %s", got, res.Content)
	}
	res = d.do(t, d.edit, args{"edits": []args{in("a", "1", "x"), in("b", "2", "y"), in("./a", "x", "xx")}})
	if got := d.all(t); res.IsError || !maps.Equal(got, m{"a": "xx\n", "b": "y\n", "c": "3\n"}) {
		t.Fatalf("%q %s", got, res.Content)
	}
	out := res.Data.(edit.EditOutput)
	if len(out.Files) != 2 || out.Replacements != 3 || out.Files[0].Replacements != 2 || out.Files[1].Added != 1 || out.Files[1].Removed != 1 {
		t.Errorf("%+v", out)
	}
	for _, want := range []string{"edited a: 2 replacements, +1 -1 lines\n", "edited b: 1 replacement, +1 -1 lines\n", "@@ -1 +1 @@\n-1\n+xx\n", "@@ -1 +1 @@\n-2\n+y\n"} {
		if !strings.Contains(res.Content, want) {
			t.Errorf("%q is not in\n%s", want, res.Content)
		}
	}
}

// The diff has the line numbers of the file, although only a part of it was compared.
func TestEditDiff(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", numbered(1, 90))
	res := d.do(t, d.edit, one("line 50\n", "LINE 50\nand more\n"))
	want := "@@ -47,7 +47,8 @@\n line 47\n line 48\n line 49\n-line 50\n+LINE 50\n+and more\n line 51\n line 52\n line 53\n"
	if diff := res.Data.(edit.EditOutput).Diff; !strings.HasSuffix(diff, want) || !strings.Contains(res.Content, "+2 -1 lines") {
		t.Errorf("%s", res.Content)
	}
}

func TestALongDiffIsCut(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", strings.Repeat("a line that is changed\n", 3000))
	res := d.do(t, d.edit, everywhere("changed", "other"))
	out := res.Data.(edit.EditOutput)
	if out.Replacements != 3000 || out.Files[0].Added != 3000 || len(out.Diff) > 17<<10 || !strings.Contains(out.Diff, "lines of the diff more)") {
		t.Errorf("%d, %+v, %d bytes", out.Replacements, out.Files, len(out.Diff))
	}
}

// Any change that edit makes is described by its diff: applied to the old text, it gives the new one.
func TestEditDiffsApply(t *testing.T) {
	d := newFixture(t)
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c c", "", "ü"})
		text := strings.Join(rapid.SliceOfN(line, 1, 40).Draw(rt, "lines"), "\n") + rapid.SampledFrom([]string{"", "\n"}).Draw(rt, "end")
		old := rapid.SampledFrom([]string{"a", "b\n", "c", "\n\n"}).Draw(rt, "old")
		put := rapid.SampledFrom([]string{"", "x", "x\ny\n", "\n"}).Draw(rt, "put")
		d.put(t, "f", text)
		clear(d.seen)
		res := d.do(t, d.edit, everywhere(old, put))
		if res.IsError || d.get(t, "f") == text {
			return
		}
		files, _, err := gitdiff.Parse(strings.NewReader(res.Data.(edit.EditOutput).Diff))
		if err != nil || len(files) != 1 {
			rt.Fatalf("%v\n%s", err, res.Content)
		}
		var got strings.Builder
		if err := gitdiff.Apply(&got, strings.NewReader(text), files[0]); err != nil || got.String() != d.get(t, "f") {
			rt.Fatalf("%v: %q\nfile %q\n%s", err, got.String(), d.get(t, "f"), res.Content)
		}
	})
}

func TestEditKeepsTheMode(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", abc)
	must(t, os.Chmod(filepath.Join(d.dir, "f"), 0o754)) //nolint:gosec // the bits are what is tested
	d.do(t, d.edit, one("a", "x"))
	info, err := os.Stat(filepath.Join(d.dir, "f"))
	must(t, err)
	if info.Mode().Perm() != 0o754 || d.get(t, "f") != "x\nb\nc\n" {
		t.Errorf("%v", info.Mode())
	}
}

// A link is edited where it leads; it stays a link.
func TestEditFollowsLinks(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", abc)
	must(t, os.Symlink("f", filepath.Join(d.dir, "link")))
	res := d.do(t, d.edit, args{"path": "link", "old_text": "a", "new_text": "x"})
	info, err := os.Lstat(filepath.Join(d.dir, "link"))
	must(t, err)
	if res.IsError || info.Mode()&os.ModeSymlink == 0 || d.get(t, "f") != "x\nb\nc\n" {
		t.Errorf("%v %s", info.Mode(), res.Content)
	}
}

func TestEditRefusesWhatChangedSinceItWasRead(t *testing.T) {
	for _, c := range []struct {
		name string
		tool func(fixture) tools.Tool
		args args
	}{
		{"edit", func(d fixture) tools.Tool { return d.edit }, one("a", "x")},
		{"apply_patch", func(d fixture) tools.Tool { return d.patch }, args{"patch": update("@@\n-a\n+x")}},
		{"add over it", func(d fixture) tools.Tool { return d.patch }, args{"patch": around("*** Add File: f\n+x\n+b\n+c")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t)
			path := filepath.Join(d.dir, "f")
			d.put(t, "f", abc)
			d.seen.Wrote(1, path, nil, []byte(abc))
			d.put(t, "f", abc+"more\n")
			if res := d.do(t, c.tool(d), c.args); res.Code != tools.Conflict || !strings.Contains(res.Content, "changed since you last read it") || d.get(t, "f") != abc+"more\n" {
				t.Errorf("%s", res.Content)
			}
			d.seen.Wrote(1, path, nil, []byte(abc+"more\n"))
			if res := d.do(t, c.tool(d), c.args); res.IsError {
				t.Errorf("%s", res.Content)
			}
			if res := d.do(t, d.edit, one("x", "y")); res.IsError || d.get(t, "f")[0] != 'y' {
				t.Errorf("its own change counts as read: %s", res.Content)
			}
			must(t, os.Remove(path))
			if res := d.do(t, c.tool(d), c.args); res.Code != tools.Conflict || !strings.Contains(res.Content, "was removed since you last read it") {
				t.Errorf("%s", res.Content)
			}
		})
	}
}

// Between the judgement and the run (an approval takes hours) neither the content nor the place may change.
func TestAFileThatChangedAfterTheJudgement(t *testing.T) {
	for name, swap := range map[string]func(t *testing.T, d fixture){
		"content": func(t *testing.T, d fixture) { d.put(t, "f", "a\nother\n") },
		"link": func(t *testing.T, d fixture) {
			must(t, os.Remove(filepath.Join(d.dir, "f")))
			must(t, os.WriteFile(filepath.Join(d.top, "target"), []byte(abc), 0o600))
			must(t, os.Symlink(filepath.Join(d.top, "target"), filepath.Join(d.dir, "f")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.put(t, "f", abc)
			c := d.call(t, "t1_1", one("a", "x"))
			intent, err := d.edit.Intent(t.Context(), c)
			must(t, err)
			swap(t, d)
			res, err := d.edit.Run(t.Context(), c, intent)
			if err != nil || res.Code != tools.Conflict || strings.Contains(d.get(t, "f"), "x") {
				t.Errorf("%v %s %q", err, res.Content, d.get(t, "f"))
			}
			if name == "link" { // after a restart nothing is kept but the paths
				intent.Keep = nil
				if res, err := d.edit.Run(t.Context(), c, intent); err != nil || res.Code != tools.Conflict {
					t.Errorf("%v %s", err, res.Content)
				}
			}
		})
	}
}

// An approval is for the content that is there: another one has other canonical bytes. Nothing of a file is told before the permission rules
// has decided.
func TestEditIntent(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", abc)
	d.put(t, ".env", "KEY=value of the key\n")
	look := func(a args) tools.Intent {
		i, err := d.edit.Intent(t.Context(), d.call(t, "t1_1", a))
		must(t, err)
		return i
	}
	first := look(one("a", "x"))
	d.put(t, "f", abc+"d\n")
	if second := look(one("a", "x")); string(first.Canonical) == string(second.Canonical) {
		t.Error("the content does not matter")
	}
	secret := look(args{"path": ".env", "old_text": "KEY=value of the kee", "new_text": "x"})
	if secret.Paths[0].Area != tools.Sensitive || strings.Contains(secret.Summary+string(secret.Canonical), "of the key") {
		t.Errorf("%+v", secret)
	}
	if want := "edit " + filepath.Join(d.dir, "f"); first.Summary != want {
		t.Errorf("%s, want %s", first.Summary, want)
	}
	config := look(args{"path": "../config.toml", "old_text": "a", "new_text": "b"})
	if config.Scopes[len(config.Scopes)-1] != tools.Config || config.Paths[0].Foreign == "" {
		t.Errorf("%+v", config)
	}
	if missing := d.do(t, d.edit, args{"path": "ff", "old_text": "a", "new_text": "b"}); missing.Code != tools.NotFound || !strings.Contains(missing.Content, "did you mean f?") {
		t.Errorf("%s", missing.Content)
	}
	for path, code := range map[string]tools.Code{"../state/x": tools.Denied, ".": tools.Validation, "a\x00b": tools.Validation} {
		if res := d.do(t, d.edit, args{"path": path, "old_text": "a", "new_text": "b"}); res.Code != code {
			t.Errorf("%q: %s", path, res.Content)
		}
	}
}

func TestProbe(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", abc)
	ask := func(id string, a args) bool {
		done, err := d.edit.(tools.Prober).Probe(t.Context(), d.call(t, id, a), tools.Intent{})
		must(t, err)
		return done
	}
	a := one("a", "a a") // both texts stand there afterwards: only the journal can tell
	if ask("t1_1", a) {
		t.Error("done before it ran")
	}
	if res := d.do(t, d.edit, a); res.IsError {
		t.Fatal(res.Content)
	}
	if !ask("t1_1", a) || ask("t1_2", a) || ask("t1_1", one("a", "b")) {
		t.Error("the receipt is not that of this call")
	}
	res := d.do(t, d.edit, one("zzz", "y"))
	if !res.IsError || ask("t1_1", one("zzz", "y")) {
		t.Error("done although it was refused")
	}
}

func TestACancelledEditChangesNothing(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", abc)
	ctx, cancel := context.WithCancel(t.Context())
	c := d.call(t, "t1_1", args{"patch": around("*** Add File: x/n\n+n\n*** Update File: f\n@@\n-a\n+A")})
	intent, err := d.patch.Intent(ctx, c)
	must(t, err)
	cancel()
	res, err := d.patch.Run(ctx, c, intent)
	if got := d.all(t); err != nil || res.Code != tools.Cancelled || !maps.Equal(got, m{"f": abc}) {
		t.Errorf("%v %s %q", err, res.Content, got)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\n", "a\nb", "x\ny", false)
	f.Add("aaa", "aa", "a", true)
	f.Add("\ufeffa", "\ufeff", "", false)
	f.Add("a\r\r\nb\r\n", "\r", "\n", true)
	d := newFixture(f)
	f.Fuzz(func(t *testing.T, content, old, put string, all bool) {
		if !utf8.ValidString(old) || !utf8.ValidString(put) {
			return // JSON cannot carry them
		}
		d.put(t, "f", content)
		clear(d.seen)
		a := one(old, put)
		a["replace_all"] = all
		res := d.do(t, d.edit, a)
		got := d.get(t, "f")
		if res.IsError && got != content {
			t.Fatalf("an error, and changed: %q", got)
		}
		if n := strings.Count(content, old); !res.IsError && n == 1 && !strings.Contains(content+old+put, "\r") && !strings.HasPrefix(old, "\ufeff") {
			if want := strings.Replace(content, old, put, 1); got != want {
				t.Fatalf("%q, want %q", got, want)
			}
		}
	})
}

func FuzzPatch(f *testing.F) {
	for _, c := range append(patchCases(), unifiedCases()...) {
		f.Add(c.files["f"], c.patch)
	}
	d := newFixture(f)
	f.Fuzz(func(t *testing.T, content, text string) {
		if strings.Contains(text, "..") || strings.Contains(text, "/") {
			return // it stays in its folder
		}
		must(t, os.RemoveAll(d.dir))
		must(t, os.Mkdir(d.dir, 0o700))
		d.put(t, "f", content)
		clear(d.seen)
		before := d.all(t)
		if res := d.do(t, d.patch, args{"patch": text}); res.IsError && !maps.Equal(before, d.all(t)) {
			t.Fatalf("an error, and changed: %s", res.Content)
		}
	})
}
