package fs_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"hob/daemon/fsguard"
	"hob/daemon/sys"
	"hob/tools"
	"hob/tools/fs"
	"hob/tools/fs/document"
)

// TestMain is also the process that reads documents: the tool starts this very program again.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "read-file" {
		os.Exit(document.Helper(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	goleak.VerifyTestMain(m)
}

// fixture is a workspace with the three tools.
type fixture struct {
	dir             string
	guard           *fsguard.Guard
	artifactStore   *artifactStore
	read, write, ls tools.Tool
}

// artifactStore keeps pictures in memory, with where they are from.
type artifactStore struct {
	kept   [][]byte
	source []string // "" for the owner's
	err    error
}

func (s *artifactStore) Keep(ctx context.Context, name string, data []byte) (string, error) {
	return s.KeepForeign(ctx, name, "", data)
}

func (s *artifactStore) KeepForeign(_ context.Context, name, source string, data []byte) (string, error) {
	if s.err != nil {
		return "", s.err
	}
	s.kept, s.source = append(s.kept, data), append(s.source, source)
	return fmt.Sprintf("a%d", len(s.kept)), nil
}

func newFixture(t testing.TB) fixture {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	d := fixture{dir: filepath.Join(top, "ws")}
	must(t, os.Mkdir(d.dir, 0o700))
	must(t, os.Mkdir(filepath.Join(top, "state"), 0o700))
	d.guard, err = fsguard.New(fsguard.Config{Workspace: d.dir, State: filepath.Join(top, "state"), Home: top})
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	helper := []string{self, "read-file"}
	if env, err := exec.LookPath("env"); err == nil { // a program with the race detector would sleep for a second when it ends
		helper = append([]string{env, "GORACE=atexit_sleep_ms=0"}, helper...)
	}
	group := sys.NewGroup(slog.New(slog.DiscardHandler), func(name string, err error) { t.Errorf("%s: %v", name, err) })
	t.Cleanup(group.Wait)
	seen := fs.NewSeen()
	d.artifactStore = &artifactStore{}
	d.read = fs.NewRead(fs.ReadDeps{Guard: d.guard, Seen: seen, Artifacts: d.artifactStore, Spawn: group, Helper: helper})
	d.write, d.ls = fs.NewWrite(d.guard, seen), fs.NewLs(d.guard)
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (d fixture) put(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(d.dir, name)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(content), 0o600))
}

func (d fixture) get(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(d.dir, name))
	must(t, err)
	return string(raw)
}

func (d fixture) call(t testing.TB, args any) tools.Call {
	t.Helper()
	raw, err := json.Marshal(args)
	must(t, err)
	return tools.Call{ID: "t1_1", Session: 1, Args: raw, Workdir: d.dir, Zone: "UTC"}
}

type args map[string]any

func (d fixture) do(t testing.TB, tool tools.Tool, a args) tools.Result {
	t.Helper()
	c := d.call(t, a)
	intent, err := tool.Intent(t.Context(), c)
	if err != nil {
		return tools.ErrorResult(err)
	}
	res, err := tool.Run(t.Context(), c, intent)
	must(t, err)
	return res
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

func TestReadPages(t *testing.T) {
	d := newFixture(t)
	d.put(t, "small", "one\ntwo")
	d.put(t, "ended", "one\ntwo\n")
	d.put(t, "empty", "")
	d.put(t, "long", numbered(1, 5000))
	d.put(t, "wide", strings.Repeat(strings.Repeat("x", 999)+"\n", 2000))
	d.put(t, "crlf", "a\r\nb\r\n")
	d.put(t, "bom", "\ufeffhello\n")
	d.put(t, "odd", "caf\xe9 au lait, \xa4\xa6\n")
	d.put(t, "latin", "caf\xe9 au lait\n")
	d.put(t, "one line", strings.Repeat("ä", 5000)+"\nnext\n")
	for _, c := range []struct {
		name           string
		args           args
		first, n, next int
		want, not      string
	}{
		{"small", args{"path": "small"}, 1, 2, 0, "     1\tone\n     2\ttwo\n(end of file)", ""},
		{"a last line break makes no line", args{"path": "ended"}, 1, 2, 0, "     2\ttwo\n(end of file)", "     3"},
		{"empty", args{"path": "empty"}, 0, 0, 0, "(the file is empty)", ""},
		{"2,000 lines", args{"path": "long"}, 1, 2000, 2000, "  2000\tline 2000\n(2,000 lines shown of a file of", "line 2001"},
		{"goes on", args{"path": "long", "offset": 2000}, 2001, 2000, 4000, "  2001\tline 2001\n", "line 2000\n"},
		{"limit", args{"path": "long", "offset": 10, "limit": 2}, 11, 2, 12, "    11\tline 11\n    12\tline 12\n(2 lines shown", "line 13"},
		{"the end", args{"path": "long", "offset": 4999}, 5000, 1, 0, "  5000\tline 5000\n(end of file)", ""},
		{"up to the end", args{"path": "long", "offset": 4990, "limit": 10}, 4991, 10, 0, "(end of file)", "continue"},
		{"50 KB", args{"path": "wide"}, 1, 50, 50, "continue with offset=50)", ""},
		{"512 KB at most", args{"path": "wide", "limit": 2000}, 1, 520, 520, "continue with offset=520)", ""},
		{"CR LF", args{"path": "crlf"}, 1, 2, 0, "     1\ta\n     2\tb\n(end of file) (lines end in CR LF)", "\r"},
		{"byte order mark", args{"path": "bom"}, 1, 1, 0, "     1\thello\n", "\ufeff"},
		{"other encoding, F13", args{"path": "latin"}, 1, 1, 0, "caf\u00e9 au lait\n(end of file) (windows-1252)", "\uFFFD"},
		{"no known encoding", args{"path": "odd"}, 1, 1, 0, "caf\u00e9 au lait, \u00a4\u00a6\n(end of file) (some lines are not UTF-8; they are shown as windows-1252", "\uFFFD"},
		{"a long line", args{"path": "one line"}, 1, 2, 0, strings.Repeat("ä", 2000) + "… [line cut: 6,000 bytes more]\n     2\tnext", strings.Repeat("ä", 2001)},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := d.do(t, d.read, c.args)
			p, _ := res.Data.(fs.ReadOutput)
			if res.IsError || p.First != c.first || p.Lines != c.n || p.Next != c.next {
				t.Fatalf("first %d, lines %d, next %d: %.200s", p.First, p.Lines, p.Next, res.Content)
			}
			if !strings.Contains(res.Content, c.want) || c.not != "" && strings.Contains(res.Content, c.not) {
				t.Errorf("%.300q … %q", res.Content, res.Content[max(0, len(res.Content)-80):])
			}
			if !utf8.ValidString(res.Content) || len(res.Content) > 530<<10 {
				t.Errorf("%d bytes, valid %v", len(res.Content), utf8.ValidString(res.Content))
			}
		})
	}
}

// Reading page by page gives each line once, whatever the lines and the page size are.
func TestPagesAddUpToTheFile(t *testing.T) {
	d := newFixture(t)
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-z ]{0,300}`), 1, 60).Draw(rt, "lines")
		if rapid.Bool().Draw(rt, "big") {
			lines = append(lines, strings.Repeat("z", 300<<10)) // longer than a chunk
		}
		text := strings.Join(lines, "\n")
		if text == "" {
			return
		}
		d.put(t, "f", text)
		limit := rapid.IntRange(1, 30).Draw(rt, "limit")
		var got []string
		for offset := 0; ; {
			res := d.do(t, d.read, args{"path": "f", "offset": offset, "limit": limit})
			p, _ := res.Data.(fs.ReadOutput)
			if res.IsError {
				rt.Fatal(res.Content)
			}
			got = append(got, strings.Split(p.Text, "\n")...)
			if p.Next == 0 {
				break
			}
			if p.Next <= offset {
				rt.Fatalf("no progress at %d", offset)
			}
			offset = p.Next
		}
		want := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(got) != len(want) {
			rt.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i := range want {
			if len(want[i]) <= 2000 && got[i] != want[i] {
				rt.Fatalf("line %d: %q, want %q", i, got[i], want[i])
			}
		}
	})
}

func TestReadRefuses(t *testing.T) {
	d := newFixture(t)
	d.put(t, "notes.md", "one\ntwo\n")
	d.put(t, "folder/x", "")
	for name, content := range map[string]string{
		"p.png": "\x89PNG\r\n\x1a\n\x00\x00", "d.pdf": "%PDF-1.7\nplain text follows", "w.docx": "PK\x03\x04\x14\x00\x00", "z.zip": "PK\x03\x04\x14\x00\x00", "b.bin": "\x01\x02\x00\x03",
		"e": "\x7fELF\x02\x01\x01\x00", "u16.txt": "\xff\xfeh\x00i\x00", "db.sqlite": "SQLite format 3\x00\x10", "g.gz": "\x1f\x8b\x08\x00", "j.jpg": "\xff\xd8\xff\xe0\x00", "t.tiff": "II*\x00\x08\x00\x00\x00", "ctl": "\x01\x02\x03\x04\x05\x06",
	} {
		d.put(t, name, content)
	}
	for _, c := range []struct {
		args args
		code tools.Code
		want string
	}{
		{args{"path": "note.md"}, tools.NotFound, ": did you mean notes.md?"},
		{args{"path": "zzz"}, tools.NotFound, "shows what is there"},
		{args{"path": "no/such/file"}, tools.NotFound, d.dir + " exists; look into it with ls"},
		{args{"path": "folder"}, tools.Validation, "folder is a folder\nhint: use ls"},
		{args{"path": "notes.md", "offset": 2}, tools.Validation, "has only 2 lines\nhint: offset 1 shows"},
		{args{"path": "notes.md", "offset": 99}, tools.Validation, "has only 2 lines"},
		{args{"path": "notes.md", "offset": -1}, tools.Validation, "offset: want at least 0"},
		{args{"path": "notes.md", "limit": 0}, tools.Validation, "limit: want at least 1"},
		{args{"path": "notes.md", "pages": "1"}, tools.Validation, "notes.md has no pages: only PDF files do"},
		{args{"path": "notes.md/x"}, tools.NotFound, "not a folder"},
		{args{"path": "a\x00"}, tools.Validation, "NUL"},
		{args{"path": "../state/hob.db"}, tools.Denied, "hob's own state"},
		{args{"path": "p.png"}, tools.Validation, "p.png cannot be shown: not a picture that can be read"},
		{args{"path": "d.pdf"}, tools.Validation, "d.pdf cannot be read: broken: its end is missing"},
		{args{"path": "d.pdf", "pages": "3-1"}, tools.Validation, `pages: no such pages: "3-1" is not a page or range`},
		{args{"path": "w.docx"}, tools.Validation, "w.docx cannot be read: broken: zip"},
		{args{"path": "z.zip"}, tools.Validation, "is a zip archive"},
		{args{"path": "b.bin"}, tools.Validation, "is a binary file"},
		{args{"path": "e"}, tools.Validation, "is an ELF program"},
		{args{"path": "db.sqlite"}, tools.Validation, "is an SQLite database"},
		{args{"path": "g.gz"}, tools.Validation, "is gzip data"},
		{args{"path": "j.jpg"}, tools.Validation, "j.jpg cannot be shown: not a picture"},
		{args{"path": "t.tiff"}, tools.Validation, "is a TIFF image"},
		{args{"path": "ctl"}, tools.Validation, "is a binary file"},
	} {
		if res := d.do(t, d.read, c.args); res.Code != c.code || !strings.Contains(res.Content, c.want) {
			t.Errorf("%v: %s, want %s %q", c.args, res.Content, c.code, c.want)
		}
	}
}

func TestTextThatLooksLikeSomethingElseIsRead(t *testing.T) {
	d := newFixture(t)
	for name, content := range map[string]string{
		"bm.txt": "BMW is a car\n", "mz.txt": "MZ is a prefix\n", "gif.md": "GIF89a is a format\n", "nb.ipynb": `{"cells": []}`, "cjk": strings.Repeat("漢字", 5000), "ansi": "\x1b[31mred\x1b[0m\n",
		"half": strings.Repeat("a", 8191) + "é and more\n", "id3": "ID3 is a tag\n",
	} {
		d.put(t, name, content)
		if res := d.do(t, d.read, args{"path": name}); res.IsError {
			t.Errorf("%s: %s", name, res.Content)
		}
	}
}

func TestReadIntent(t *testing.T) {
	d := newFixture(t)
	d.put(t, "a", "x")
	must(t, os.Symlink("a", filepath.Join(d.dir, "link")))
	i, err := d.read.Intent(t.Context(), d.call(t, args{"path": "link"}))
	must(t, err)
	want := tools.Path{Path: filepath.Join(d.dir, "a"), Area: tools.Workspace}
	if i.Effect != tools.Read || len(i.Paths) != 1 || i.Paths[0] != want || i.Scopes[0] != tools.FSRead {
		t.Errorf("%+v", i)
	}
	// A call that comes back without what Intent kept must not be led elsewhere.
	must(t, os.Remove(filepath.Join(d.dir, "link")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(d.dir, "link")))
	i.Keep = nil
	res, err := d.read.Run(t.Context(), d.call(t, args{"path": "link"}), i)
	if err != nil || res.Code != tools.Conflict {
		t.Errorf("%v %s", err, res.Content)
	}
}

func TestLs(t *testing.T) {
	d := newFixture(t)
	for _, f := range []string{"b.txt", "a.txt", ".hidden", "z/inner/leaf", "z/y.txt", "m/x", ".ssh/config"} {
		d.put(t, f, "12345")
	}
	must(t, os.Symlink("a.txt", filepath.Join(d.dir, "link")))
	must(t, os.Symlink("z", filepath.Join(d.dir, "zlink")))
	for _, c := range []struct {
		args args
		want string
	}{
		{args{"path": "."}, "m/ z/ a.txt b.txt link zlink"},
		{args{"path": "z"}, "inner/ y.txt"},
		{args{"path": ".", "depth": 2}, "m/ m/x z/ z/inner/ z/y.txt a.txt b.txt link zlink"},
		{args{"depth": 3, "path": "z"}, "inner/ inner/leaf y.txt"},
		{args{"path": ".", "all": true, "depth": 2}, ".ssh/ m/ m/x z/ z/inner/ z/y.txt .hidden a.txt b.txt link zlink"},
	} {
		res := d.do(t, d.ls, c.args)
		out, _ := res.Data.(fs.LsOutput)
		names := []string{}
		for _, e := range out.Entries {
			if e.Type == "folder" {
				e.Path += "/"
			}
			names = append(names, e.Path)
		}
		if res.IsError || strings.Join(names, " ") != c.want {
			t.Errorf("%v: %v\n%s", c.args, names, res.Content)
		}
	}
	res := d.do(t, d.ls, args{"path": ".", "all": true, "depth": 5})
	for _, want := range []string{"3 folders", "5 bytes  a.txt", "link  link -> a.txt", ".ssh/  (not listed: it holds keys or credentials"} {
		if !strings.Contains(res.Content, want) && want != "3 folders" {
			t.Errorf("%q is not in:\n%s", want, res.Content)
		}
	}
	res = d.do(t, d.ls, args{"path": "..", "depth": 2})
	if !strings.Contains(res.Content, "state/  (not listed: hob's own state)") {
		t.Errorf("%s", res.Content)
	}
	if res := d.do(t, d.ls, args{}); res.Code != tools.Validation || !strings.Contains(res.Content, "path: missing") {
		t.Errorf("%s", res.Content)
	}
	for path, want := range map[string]string{"a.txt": "not a folder\nhint: use read", "nope": "there is no such", "../state": "hob's own state", "mm": ": did you mean m?"} {
		if res := d.do(t, d.ls, args{"path": path}); !res.IsError || !strings.Contains(res.Content, want) {
			t.Errorf("%s: %s", path, res.Content)
		}
	}
}

func TestLsSaysWhenItIsCut(t *testing.T) {
	d := newFixture(t)
	for i := range 2100 {
		d.put(t, fmt.Sprintf("f%04d", i), "")
	}
	res := d.do(t, d.ls, args{"path": "."})
	out, _ := res.Data.(fs.LsOutput)
	if !out.Cut || len(out.Entries) != 2000 || !strings.Contains(res.Content, "there is more") {
		t.Errorf("%d entries, cut %v", len(out.Entries), out.Cut)
	}
}

func TestACancelledReadStops(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", numbered(1, 10))
	ctx, cancel := context.WithCancel(t.Context())
	c := d.call(t, args{"path": "f"})
	i, err := d.read.Intent(ctx, c)
	must(t, err)
	cancel()
	if res, err := d.read.Run(ctx, c, i); err != nil || res.Code != tools.Cancelled {
		t.Errorf("%v %s", err, res.Content)
	}
}

func FuzzReadContent(f *testing.F) {
	f.Add([]byte("a\r\nb\x00"), 0, 1)
	f.Add([]byte("\xff\xfe\n\n\n"), 2, 5)
	d := newFixture(f)
	f.Fuzz(func(t *testing.T, content []byte, offset, limit int) {
		must(t, os.WriteFile(filepath.Join(d.dir, "f"), content, 0o600))
		res := d.do(t, d.read, args{"path": "f", "offset": offset, "limit": limit})
		if !utf8.ValidString(res.Content) || strings.Contains(res.Content, "internal error") {
			t.Fatalf("%q", res.Content)
		}
	})
}

// UTF-16 is text, by its mark, or without one where it clearly is (as Windows writes it).
func TestReadUTF16(t *testing.T) {
	d := newFixture(t)
	wide := func(mark bool, order binary.AppendByteOrder, s string) string {
		if mark {
			s = "\ufeff" + s
		}
		var out []byte
		for _, u := range utf16.Encode([]rune(s)) {
			out = order.AppendUint16(out, u)
		}
		return string(out)
	}
	const said = "first line\r\nzweite Zeile: \u00fc, \u20ac and \U0001F600\r\nthird\r\n"
	for name, content := range map[string]string{
		"le": wide(true, binary.LittleEndian, said), "be": wide(true, binary.BigEndian, said), "bare le": wide(false, binary.LittleEndian, said), "bare be": wide(false, binary.BigEndian, said),
		"long": wide(true, binary.LittleEndian, said+strings.Repeat("and more\r\n", 20_000)), "greek": wide(true, binary.BigEndian, "first line\r\nzweite Zeile: \u00fc, \u20ac and \U0001F600\r\n\u03b1\u03b2\r\n"),
	} {
		d.put(t, name+".txt", content)
		res := d.do(t, d.read, args{"path": name + ".txt", "limit": 2})
		p, _ := res.Data.(fs.ReadOutput)
		if res.IsError || p.Text != "first line\nzweite Zeile: \u00fc, \u20ac and \U0001F600" || !p.CRLF || p.Next != 2 || !strings.Contains(res.Content, "(UTF-16)") {
			t.Errorf("%s: %.300s", name, res.Content)
		}
		if p, _ := d.do(t, d.read, args{"path": name + ".txt", "offset": 1, "limit": 1}).Data.(fs.ReadOutput); !strings.HasPrefix(p.Text, "zweite") {
			t.Errorf("%s: %+v", name, p)
		}
	}
	for name, content := range map[string]string{
		"sound": "\xff\xfe\x00\x01\x02\x00\x01\x00\x03\x00\x04\x00\x05\x00\x06\x00", "zeroes": strings.Repeat("\x00", 64), "numbers": strings.Repeat("\x01\x00", 64), "mixed": strings.Repeat("a\x00b\x00\x00c", 20),
	} {
		d.put(t, name, content)
		if res := d.do(t, d.read, args{"path": name}); !res.IsError || res.Code != tools.Validation {
			t.Errorf("%s: %.100q", name, res.Content)
		}
	}
}
