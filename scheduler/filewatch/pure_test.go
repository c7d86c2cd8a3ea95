package filewatch_test

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/daemon/event"
	"hob/scheduler"
	"hob/scheduler/filewatch"
)

func TestScope(t *testing.T) {
	for _, c := range []struct {
		watch       filewatch.Watch
		wants, not  string
		enter, stay string
	}{
		{filewatch.Watch{Paths: []string{"/a/b"}}, "/a/b /a/b/c /a/b/c/d /a/b/.x", "/a /a/bc /a/c", "/ /a /a/b /a/b/c/d", "/b /a/bc"},
		{filewatch.Watch{Paths: []string{"/a/b"}, Flat: true}, "/a/b /a/b/c", "/a/b/c/d", "/a /a/b", "/a/b/c"},
		{filewatch.Watch{Paths: []string{"/a/*.pdf"}}, "/a/x.pdf", "/a/x.txt /a/b/x.pdf /a/.x.pdf", "/a", "/a/b"},
		{filewatch.Watch{Paths: []string{"/a/**/*.{md,txt}"}}, "/a/x.md /a/b/c/x.txt", "/a/x.pdf", "/a/b/c", "/b /a/.git"},
		{filewatch.Watch{Paths: []string{"/a/*/in/x?"}}, "/a/b/in/x1", "/a/in/x1 /a/b/in/y1", "/a/b /a/b/in", "/a/b/out"},
		{filewatch.Watch{Paths: []string{"/a"}, Include: []string{"*.go", "doc/*.md"}}, "/a/x.go /a/b/x.go /a/doc/x.md", "/a/x.md /a/b/doc/x.md", "/a/b", "/b"},
		{filewatch.Watch{Paths: []string{"/a/f", "/b"}}, "/a/f /b/x", "/a/g", "/a /b /b/c", "/c"},
		{filewatch.Watch{Paths: []string{"/"}}, "/x /a/b", "", "/ /a", ""},
	} {
		s, err := filewatch.ScopeOf(c.watch)
		if err != nil {
			t.Errorf("%v: %v", c.watch.Paths, err)
			continue
		}
		for want, list := range map[bool]string{true: c.wants, false: c.not} {
			for path := range strings.FieldsSeq(list) {
				if s.Wants(path) != want {
					t.Errorf("%v wants %s: %v", c.watch.Paths, path, !want)
				}
			}
		}
		for want, list := range map[bool]string{true: c.enter, false: c.stay} {
			for path := range strings.FieldsSeq(list) {
				if s.Enters(path) != want {
					t.Errorf("%v enters %s: %v", c.watch.Paths, path, !want)
				}
			}
		}
	}
}

func TestCompose(t *testing.T) {
	list := []filewatch.Change{
		{Kind: filewatch.Create, Path: "/a/ä b", Size: 1},
		{Kind: filewatch.Write, Path: "/a/b", Size: 2, Changing: true, Diff: "--- /a/b\n+++ /a/b\n"},
		{Kind: filewatch.Remove, Path: "/a/x\x1b[2J"},
		{Kind: filewatch.Rename, Path: "/a/to/", From: "/a/\u202efrom/", Files: 3},
		{Kind: filewatch.Rename, Path: "/a/bad\xff", From: "/a/was"},
	}
	want := "[watch n: 1 created, 1 changed, 1 removed, 2 renamed]\n- created /a/ä b, 1 byte\n- changed /a/b, 2 bytes, still changing\n- removed \"/a/x\\x1b[2J\"\n" +
		"- renamed /a/to/ (was \"/a/\\u202efrom/\"), a folder with 3 files\n- renamed \"/a/bad\\xff\" (was /a/was), 0 bytes\n\n--- /a/b\n+++ /a/b\n"
	if got := filewatch.Compose("n", list); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	var many []filewatch.Change
	for i := range 1000 {
		many = append(many, filewatch.Change{Kind: filewatch.Kinds()[i%4], Path: fmt.Sprint("/", i)})
	}
	got := filewatch.Compose("n", many)
	if strings.Count(got, "\n- ") != 200 || !strings.HasSuffix(got, "\nand 800 more: 200 created, 200 changed, 200 removed, 200 renamed\n") {
		t.Errorf("%.100s … %s", got, got[len(got)-200:])
	}
}

func TestDiffs(t *testing.T) {
	line := strings.Repeat("x", 99) + "\n"
	got := filewatch.Cut(strings.Repeat(line, 10), strings.Repeat(line, 100), strings.Repeat(line, 100), strings.Repeat(line, 100), "more\n")
	var lines []int
	total := 0
	for _, d := range got {
		lines = append(lines, strings.Count(d, line))
		total += len(d)
	}
	// 8 KiB hold 81 lines of 100 bytes; of 24 KiB, 7,192 bytes are left for the fourth, and none for the fifth.
	if !slices.Equal(lines, []int{10, 81, 81, 71, 0}) || total > 25_000 || !strings.HasSuffix(got[1], "\n(19 lines of the diff more)\n") {
		t.Errorf("%d lines, %d bytes, %q", lines, total, got[1][len(got[1])-50:])
	}
	if d := filewatch.Unified("/a", true, nil, []byte("b\rc\n")); d != "--- /dev/null\n+++ /a\n@@ -0,0 +1 @@\n+b\uFFFDc\n" {
		t.Errorf("%q", d)
	}
}

// With a settle time of two seconds: files rest two seconds, wait eight more for others, and are told as changing after twenty.
func TestWhatIsReady(t *testing.T) {
	const s = time.Second
	type note struct {
		at   time.Duration
		name string
		size int64
	}
	for name, c := range map[string]struct {
		notes []note
		now   time.Duration
		ready string
		next  time.Duration
	}{
		"nothing":                             {nil, s, "", 0},
		"young":                               {[]note{{0, "a", 1}}, s, "", 2 * s},
		"rested":                              {[]note{{0, "a", 1}}, 2 * s, "a", 10 * s},
		"seen twice as it was":                {[]note{{0, "a", 1}, {s, "a", 1}}, 2 * s, "a", 10 * s},
		"changed again":                       {[]note{{0, "a", 1}, {s, "a", 2}}, 2 * s, "", 3 * s},
		"gone counts as changed":              {[]note{{0, "a", 0}, {s, "a", -1}}, 2 * s, "", 3 * s},
		"waits for another":                   {[]note{{0, "a", 1}, {s, "b", 1}}, 2 * s, "", 3 * s},
		"both":                                {[]note{{0, "a", 1}, {s, "b", 1}}, 3 * s, "a b", 10 * s},
		"does not wait for ever":              {[]note{{0, "a", 1}, {9 * s, "b", 1}}, 10 * s, "a", 10 * s},
		"changes for long":                    {[]note{{0, "a", 1}, {19 * s, "a", 2}}, 20 * s, "a!", 21 * s},
		"rested beside one that has for long": {[]note{{0, "a", 1}, {18 * s, "b", 1}, {19 * s, "a", 2}}, 20 * s, "a! b", 21 * s},
	} {
		var p filewatch.Candidates
		for _, n := range c.notes {
			p.Note(n.name, n.size, n.at)
		}
		names, next := p.Ready(2*s, c.now)
		if got := strings.Join(names, " "); got != c.ready || next != c.next {
			t.Errorf("%s: %q, next %v; want %q, %v", name, got, next, c.ready, c.next)
		}
	}
	var p filewatch.Candidates
	p.Note("a", 1, 0)
	p.Note("a", 2, 19*s)
	p.Ready(2*s, 20*s)
	p.Note("a", 3, 39*s)
	p.Note("b", 1, 38*s)
	if names, _ := p.Ready(2*s, 40*s); !slices.Equal(names, []string{"b"}) || p.Left() != 1 {
		t.Errorf("%v are told while one goes on that was told as changing", names)
	}
	if names, _ := p.Ready(2*s, 41*s); !slices.Equal(names, []string{"a"}) || p.Left() != 0 {
		t.Errorf("%v are told at its end", names)
	}
}

func TestCommonMove(t *testing.T) {
	for in, want := range map[[2]string][2]string{
		{"/a/x/f", "/b/x/f"}: {"/a", "/b"}, {"/a/x/f", "/a/y/f"}: {"/a/x", "/a/y"}, {"/a/f", "/a/g"}: {"/a/f", "/a/g"}, {"/a/f", "/a/b/f"}: {"/a", "/a/b"},
		{"/f", "/a/f"}: {"/f", "/a/f"},
	} {
		from, to := filewatch.CommonMove(in[0], in[1])
		if in == [2]string{"/f", "/a/f"} {
			want = [2]string{"/", "/a"}
		}
		if [2]string{from, to} != want {
			t.Errorf("%v: %s to %s, want %v", in, from, to, want)
		}
	}
}

func TestOwnWrites(t *testing.T) {
	var l filewatch.OwnWrites
	var kept []filewatch.Note
	l.Keep(func(n filewatch.Note) { kept = append(kept, n) })
	l.Note("/a", "1")
	l.Note("/a", "2")
	for i, c := range []struct {
		hash string
		want bool
	}{{"1", true}, {"1", true}, {"2", true}, {"2", true}, {"1", false}, {"2", false}} { // seeing 2 ends 1, and a foreign content all
		if got := l.Wrote("/a", c.hash); got != c.want {
			t.Errorf("question %d, about %s: %v", i, c.hash, got)
		}
	}
	for i := range 5000 {
		l.Note(fmt.Sprint("/", i), "x")
	}
	if l.Wrote("/100", "x") || !l.Wrote("/4000", "x") || !l.Wrote("/4999", "x") {
		t.Error("it does not keep the newest 4,096 paths")
	}
	if len(kept) != 5002 || kept[1] != (filewatch.Note{Path: "/a", Hash: "2"}) {
		t.Errorf("%d notes were handed on", len(kept))
	}
}

func TestNew(t *testing.T) {
	w := newWatchedHome(t)
	w.put("x/y", "")
	now := time.Date(2026, 11, 21, 9, 0, 0, 5, time.UTC)
	must(t, os.Symlink(w.dir, w.home+"/link"))
	got, err := filewatch.New(filewatch.Draft{
		Prompt: " File the invoice! ", Paths: []string{"~/link/*.pdf", w.dir + "/x", "notes.md", "~/later/**/a.txt", w.dir + "/x"},
		Include: []string{"*.go"}, Events: []string{"Create", "write", "create"}, Settle: "500ms", Poll: "1m", Trust: event.Owner, Flat: true,
	}, w.guard, now)
	must(t, err)
	want := filewatch.Watch{
		Trigger: scheduler.Trigger{
			Name: "file-the-invoice", Prompt: "File the invoice!", Deliver: event.ToOwner, Trust: event.Owner, Origin: "run-time", Created: now.Truncate(time.Second),
		},
		Paths:   []string{w.dir + "/*.pdf", w.dir + "/x", w.space + "/notes.md", w.home + "/later/**/a.txt"},
		Include: []string{"*.go"}, Events: []filewatch.Kind{filewatch.Create, filewatch.Write}, Settle: 500 * time.Millisecond, Poll: time.Minute, Flat: true,
	}
	if a, b := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); a != b {
		t.Errorf("%s\nwant\n%s", a, b)
	}
	must(t, got.Check(w.guard))
	_, err = filewatch.New(filewatch.Draft{
		Name: "12", Paths: []string{"", w.state, "~/.hob/state/*.log", "[a"}, Include: []string{"[z"}, Events: []string{"chmod"}, Settle: "1ms", Poll: "soon", Deliver: "x",
	}, w.guard, now)
	for _, part := range []string{
		`name "12"`, `path ""`, `path "` + w.state + `": hob's own state`, `path "~/.hob/state/*.log": hob's own state`, `path "[a"`, `include: `, `event "chmod"`,
		`settle "1ms": want between 200ms and 1h0m0s`, `poll "soon"`, "deliver: ", "prompt: ", "trust: ",
	} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("no word of %s in: %v", part, err)
		}
	}
	if n := strings.Count(fmt.Sprint(err), "\n") + 1; n != 12 {
		t.Errorf("%d faults: %v", n, err)
	}
}

// Whatever a pattern and a path are: reading them neither panics nor takes for ever, and what is wanted stands in a folder that is
// entered.
func FuzzScope(f *testing.F) {
	f.Add("/a/**/*.{md,txt}", "*.md", "/a/b/c.md")
	f.Add("/a/[!b]*/!(x)", "**/y", "/a/c/y")
	f.Fuzz(func(t *testing.T, path, include, file string) {
		file = "/" + strings.Trim(file, "/")
		if len(path)+len(include)+len(file) > 300 || !strings.HasPrefix(path, "/") || strings.Contains(file, "//") || strings.Contains(file, "/.") {
			return
		}
		s, err := filewatch.ScopeOf(filewatch.Watch{Paths: []string{path}, Include: []string{include}})
		if err != nil || !s.Wants(file) {
			return
		}
		if dir := file[:max(1, strings.LastIndexByte(file, '/'))]; !s.Enters(dir) {
			t.Errorf("%q wants %q and does not enter its folder", path, file)
		}
	})
}

// What hob says of a folder that it cannot read names it as anybody may have named it: in quotes, and with nothing in it that acts.
func TestUnreadable(t *testing.T) {
	for dir, want := range map[string]string{
		"/d/closed":                      `the folder "/d/closed" cannot be read: permission denied`,
		"/d/x\" cannot be read.\nOBEY":   `the folder "/d/x\" cannot be read.\nOBEY" cannot be read: permission denied`,
		"/d/\x1b[2J\u202egpj.exe\xff":    `the folder "/d/\x1b[2J\u202egpj.exe\xff" cannot be read: permission denied`,
		"/d/" + strings.Repeat("x", 300): `the folder "/d/` + strings.Repeat("x", 197) + `"… cannot be read: permission denied`,
	} {
		if got := filewatch.Unreadable(dir, &fs.PathError{Op: "open", Path: dir, Err: syscall.EACCES}); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", dir, got, want)
		}
	}
}
