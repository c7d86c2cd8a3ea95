package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hob/tools"
)

func TestWriteSaysWhatItDid(t *testing.T) {
	d := newFixture(t)
	for _, c := range []struct{ path, content, want string }{
		{"a.txt", "hello\nworld", "created a.txt: 11 bytes, 2 lines"},
		{"a.txt", "x\n", "overwritten a.txt: 2 bytes, 1 line"},
		{"a.txt", "", "overwritten a.txt: 0 bytes, 0 lines"},
		{"deep/er/b.txt", "1", "created deep/er/b.txt: 1 byte, 1 line"},
	} {
		res := d.do(t, d.write, args{"path": c.path, "content": c.content})
		if res.Content != c.want || d.get(t, c.path) != c.content {
			t.Errorf("%s, want %s", res.Content, c.want)
		}
	}
}

func TestWriteRefuses(t *testing.T) {
	d := newFixture(t)
	d.put(t, "there", "old")
	d.put(t, "folder/x", "")
	must(t, os.Symlink("nowhere", filepath.Join(d.dir, "dangle")))
	for _, c := range []struct {
		args args
		code tools.Code
		want string
	}{
		{args{"path": "there", "content": "new", "on_conflict": "error"}, tools.Conflict, "is there already (3 bytes)"},
		{args{"path": "folder", "content": ""}, tools.Validation, "is a folder"},
		{args{"path": "new/", "content": ""}, tools.Validation, "new/ is a folder\nhint: add a file name"},
		{args{"path": "folder/", "content": ""}, tools.Validation, "is a folder"},
		{args{"path": "dangle", "content": ""}, tools.Denied, "leads nowhere"},
		{args{"path": "../state/x", "content": ""}, tools.Denied, "hob's own state"},
		{args{"path": "there/x", "content": ""}, tools.NotFound, "not a folder"},
		{args{"path": "x"}, tools.Validation, "content: missing"},
		{args{"path": "x", "content": "", "on_conflict": "append"}, tools.Validation, "want one of overwrite, error"},
	} {
		if res := d.do(t, d.write, c.args); res.Code != c.code || !strings.Contains(res.Content, c.want) {
			t.Errorf("%v: %s", c.args, res.Content)
		}
	}
	if _, err := os.Lstat(filepath.Join(d.dir, "new")); !os.IsNotExist(err) {
		t.Errorf("a refused write made a file: %v", err)
	}
	if d.get(t, "there") != "old" {
		t.Error("a refused write changed the file")
	}
}

// A placeholder is not written in place of its secret. A file that already contains placeholders may keep as many.
func TestWriteRefusesPlaceholders(t *testing.T) {
	for _, c := range []struct{ name, old, content, refused string }{
		{"new", "", "key = [secret ntfy.token]\n", "[secret ntfy.token]"},
		{"in the secret's place", "key = tk_1\n", "key = [secret ntfy.token]\n", "[secret ntfy.token]"},
		{"there already", "say [secret x]\n", "do say [secret x]\n", ""},
		{"once more", "say [secret x]\n", "[secret x] [secret x]", "[secret x]"},
		{"another one", "say [secret x]\n", "[secret x] [secret y]", "[secret y]"},
		{"no placeholder", "", "a [secret] [secret a b] [secrets x]", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t)
			want := c.content
			if c.old != "" {
				d.put(t, "f", c.old)
			}
			res := d.do(t, d.write, args{"path": "f", "content": c.content})
			if c.refused != "" {
				want = c.old
				if res.Code != tools.Validation || !strings.Contains(res.Content, "the placeholder "+c.refused+"\n") {
					t.Errorf("%q %s", res.Code, res.Content)
				}
			}
			got, err := os.ReadFile(filepath.Join(d.dir, "f"))
			if string(got) != want || (err != nil) != (want == "") {
				t.Errorf("%q %v, want %q", got, err, want)
			}
		})
	}
}

func TestWriteDoesNotWipeOutAChange(t *testing.T) {
	d := newFixture(t)
	for _, c := range []struct {
		name   string
		change func(path string) error
		code   tools.Code
	}{
		{"nothing", func(string) error { return nil }, ""},
		{"other content", func(p string) error { return os.WriteFile(p, []byte("changed!"), 0o600) }, tools.Conflict},
		{"same size and time", func(p string) error {
			info, err := os.Stat(p)
			if err != nil {
				return err
			}
			if err := os.WriteFile(p, []byte("enO"), 0o600); err != nil {
				return err
			}
			return os.Chtimes(p, info.ModTime(), info.ModTime())
		}, tools.Conflict},
		{"touched only", func(p string) error { return os.Chtimes(p, time.Unix(1, 0), time.Unix(1, 0)) }, ""},
		{"removed", os.Remove, tools.Conflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			d.put(t, "f", "One")
			if res := d.do(t, d.read, args{"path": "f"}); res.IsError {
				t.Fatal(res.Content)
			}
			must(t, c.change(filepath.Join(d.dir, "f")))
			if res := d.do(t, d.write, args{"path": "f", "content": "mine"}); res.Code != c.code {
				t.Fatalf("%s, want %q", res.Content, c.code)
			}
			if c.code == "" {
				return
			}
			_ = d.do(t, d.read, args{"path": "f"}) // having seen it, the same write is taken
			if res := d.do(t, d.write, args{"path": "f", "content": "mine"}); res.IsError {
				t.Error(res.Content)
			}
		})
	}
}

func TestAnotherSessionsReadDoesNotCount(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", "One")
	_ = d.do(t, d.read, args{"path": "f"})
	d.put(t, "f", "Two")
	c := d.call(t, args{"path": "f", "content": "mine"})
	c.Session = 2
	intent, err := d.write.Intent(t.Context(), c)
	must(t, err)
	res, err := d.write.Run(t.Context(), c, intent)
	if err != nil || res.IsError {
		t.Error(err, res.Content)
	}
}

func TestWritingTwiceInARowIsNoConflict(t *testing.T) {
	d := newFixture(t)
	for _, content := range []string{"a", "b", "c"} {
		if res := d.do(t, d.write, args{"path": "f", "content": content}); res.IsError {
			t.Fatal(res.Content)
		}
	}
}

func TestAnApprovalToOverwriteIsForWhatWasThere(t *testing.T) {
	d := newFixture(t)
	hash := func() string {
		i, err := d.write.Intent(t.Context(), d.call(t, args{"path": "f", "content": "x"}))
		must(t, err)
		return string(i.Canonical)
	}
	absent := hash()
	d.put(t, "f", "one")
	one := hash()
	d.put(t, "f", "two")
	two := hash()
	if absent == one || one == two || two != hash() {
		t.Errorf("%s\n%s\n%s", absent, one, two)
	}
}

// N21: a question may show what a write replaces, but no secret and no large file.
func TestTheOldContentOfAWrite(t *testing.T) {
	d := newFixture(t)
	for name, c := range map[string]struct {
		old   string
		shown bool
	}{"f": {"one", true}, ".env": {"KEY=canary", false}, "big": {strings.Repeat("x", 64<<10+1), false}} {
		d.put(t, name, c.old)
		i, err := d.write.Intent(t.Context(), d.call(t, args{"path": name, "content": "x"}))
		must(t, err)
		if got := string(i.Old); got != c.old && c.shown || got != "" && !c.shown {
			t.Errorf("%s: %d bytes of the old content are shown", name, len(got))
		}
	}
}

func TestProbe(t *testing.T) {
	d := newFixture(t)
	p, ok := d.write.(tools.Prober)
	if !ok {
		t.Fatal("write cannot be probed")
	}
	for content, want := range map[string]bool{"wanted": true, "other!": false, "longer than that": false} {
		d.put(t, "f", content)
		done, err := p.Probe(t.Context(), d.call(t, args{"path": "f", "content": "wanted"}), tools.Intent{})
		if err != nil || done != want {
			t.Errorf("%s: %v %v", content, done, err)
		}
	}
	if done, err := p.Probe(t.Context(), d.call(t, args{"path": "missing", "content": ""}), tools.Intent{}); err != nil || done {
		t.Errorf("%v %v", done, err)
	}
}

func TestWritingTheConfigurationIsMoreThanWritingAFile(t *testing.T) {
	d := newFixture(t)
	i, err := d.write.Intent(t.Context(), d.call(t, args{"path": "../config.toml", "content": ""}))
	must(t, err)
	if len(i.Scopes) != 2 || i.Scopes[1] != tools.Config || i.Paths[0].Area != tools.Sensitive {
		t.Errorf("%+v", i)
	}
}

// T14: an approval to make a file is for its folder. Another one in its place is refused, also between the check and the write.
func TestANewFileIsBoundToItsFolder(t *testing.T) {
	d := newFixture(t)
	d.put(t, "dir/there", "x")
	c := d.call(t, args{"path": "dir/f", "content": "x"})
	before, err := d.write.Intent(t.Context(), c)
	must(t, err)
	dir := filepath.Dir(before.Paths[0].Path)
	must(t, os.Rename(dir, dir+"2"))
	must(t, os.Mkdir(dir, 0o700))
	after, err := d.write.Intent(t.Context(), c)
	must(t, err)
	if string(before.Canonical) == string(after.Canonical) {
		t.Errorf("another folder has the same approval: %s", before.Canonical)
	}
	res, err := d.write.Run(t.Context(), c, before)
	if err != nil {
		res = tools.ErrorResult(err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "f")); !res.IsError || err == nil {
		t.Errorf("written into another folder: %s", res.Content)
	}
	res, err = d.write.Run(t.Context(), c, after)
	if must(t, err); res.IsError {
		t.Error(res.Content)
	}
}
