package edit_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"hob/tools"
	"hob/tools/edit"
)

// padding makes a file too long to be held in memory.
var padding = strings.Repeat("nothing to see in this line, and it is one of very many\n", 17<<20/56)

// An edit in a long file is the same as one in a short file: with the text at its beginning, in its middle, at its end. (A short
// run looks at the middle alone, where it can.)
func TestLongFilesAreEditedLikeShortOnes(t *testing.T) {
	for _, c := range []struct {
		name, file string
		args       args
		only       string // "beginning", "end": the case makes sense only there
	}{
		{name: "once", file: abc, args: one("b\n", "B\n")},
		{name: "nothing is put there", file: abc, args: one("b\n", "")},
		{name: "everywhere", file: "X y X\nX\n", args: everywhere("X", "Zz")},
		{name: "twice", file: "X\ny\nX\n", args: one("X", "z")},
		{name: "overlapping", file: "XXX\n", args: one("XX", "b")},
		{name: "the same", file: abc, args: one("b", "b")},
		{name: "a list", file: abc, args: args{"edits": []args{one("a\nb", "A\nb1"), one("b1\nc", "Z\nZ\nc"), one("A\nZ\nZ\nc\n", "")}}},
		{name: "a list whose second is not there", file: abc, args: args{"edits": []args{one("a\nb", "x"), one("a\nb", "y")}}},
		{name: "CR LF stays", file: crlf(abc), args: one("a\nb", "x\ny\nz")},
		{name: "CR LF in what is put in one line", file: crlf("A\nB\nC\n"), args: one("B", "x\ny")},
		{name: "CR LF asked for, LF there", file: abc, args: one("a\r\nb", "x\r\ny")},
		{name: "CR LF everywhere", file: crlf("X\n1\nX\n1\n"), args: everywhere("X\n1", "Y\nZ")},
		{name: "a line break that is not there", file: "A\nB", args: one("A\nB\n", "C\n"), only: "end"},
		{name: "a placeholder", file: abc, args: one("b\n", "[secret ntfy.token]"), only: "end"},
		{name: "a placeholder that is made of two halves", file: "[secret ntfy.\n", args: one("ntfy.\n", "ntfy.token]")},
		{name: "a placeholder that was there", file: "say [secret x] B\n", args: one("say [secret x] B", "[secret x] C")},
		{name: "a byte order mark", file: "\ufeffA\nb\n", args: one("\ufeffA\n", "x\n"), only: "beginning"},
	} {
		t.Run(c.name, func(t *testing.T) {
			short := newFixture(t)
			short.put(t, "f", c.file)
			want := short.do(t, short.edit, c.args)
			half := padding[:strings.Index(padding[len(padding)/2:], "\n")+1+len(padding)/2]
			for where, pads := range map[string][2]string{"beginning": {"", padding}, "middle": {half, half}, "end": {padding, ""}} {
				if c.only != "" && c.only != where || c.only == "" && where != "middle" && testing.Short() {
					continue
				}
				d := newFixture(t)
				d.put(t, "f", pads[0]+c.file+pads[1])
				got := d.do(t, d.edit, c.args)
				if d.get(t, "f") != pads[0]+short.get(t, "f")+pads[1] {
					t.Errorf("%s: another result", where)
				}
				if told, ok := d.told[filepath.Join(d.dir, "f")]; ok != (short.get(t, "f") != c.file) || ok && told != fmt.Sprintf("%x", sha256.Sum256([]byte(d.get(t, "f")))) {
					t.Errorf("%s: watches are told the hash %q", where, told)
				}
				before := strings.Count(pads[0], "\n")
				if got.Code != want.Code || got.IsError && shifted(got.Content, before) != strings.TrimSuffix(want.Content, "\nhint: read the file again") && got.Code != tools.NotFound {
					t.Errorf("%s: %s\nwant %s", where, got.Content, want.Content)
				}
				if !got.IsError {
					sameDiff(t, got.Data.(edit.EditOutput), want.Data.(edit.EditOutput), before)
				}
			}
		})
	}
}

var onLines = regexp.MustCompile(`(?m)on lines ([0-9, ]+)$`)

// shifted takes a number off the line numbers of a refusal.
func shifted(text string, by int) string {
	return onLines.ReplaceAllStringFunc(text, func(s string) string {
		return regexp.MustCompile(`\d+`).ReplaceAllStringFunc(s, func(n string) string {
			i, err := strconv.Atoi(n)
			if err != nil {
				return n
			}
			return strconv.Itoa(i - by)
		})
	})
}

var hunk = regexp.MustCompile(`(?m)^@@ -(\d+)`)

// sameDiff says that the same lines came and went, and in the same place, which is so many lines further down.
func sameDiff(t *testing.T, got, want edit.EditOutput, before int) {
	t.Helper()
	if got.Replacements != want.Replacements || got.Files[0].Added != want.Files[0].Added || got.Files[0].Removed != want.Files[0].Removed {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	gotLine, gotLines := changed(t, got.Diff)
	wantLine, wantLines := changed(t, want.Diff)
	if gotLine != wantLine+before || gotLines != wantLines {
		t.Errorf("after %d lines:\n%s\nwant\n%s", before, got.Diff, want.Diff)
	}
}

// changed is the number of the first line that a diff changes, and all lines that come and go in it.
func changed(t *testing.T, diff string) (first int, lines string) {
	t.Helper()
	_, body, ok := strings.Cut(diff, "\n+++ ")
	m := hunk.FindStringSubmatch(body)
	if !ok || len(m) == 0 {
		t.Fatalf("no diff: %s", diff)
	}
	line, err := strconv.Atoi(m[1])
	must(t, err)
	_, body, _ = strings.Cut(body, "\n@@")
	for i, l := range strings.Split(body, "\n")[1:] {
		if l == "" || l[0] != '+' && l[0] != '-' {
			continue
		}
		if lines == "" {
			first = line + i
		}
		lines += l + "|"
	}
	return first, lines
}

// A second edit knows the first as the session's own; what somebody else changes meanwhile is refused.
func TestLongFilesAreSeen(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", abc+padding)
	for _, step := range []args{one("a\n", "A\n"), one("A\n", "AA\n")} {
		if res := d.do(t, d.edit, step); res.IsError {
			t.Fatal(res.Content)
		}
	}
	d.put(t, "f", "his\n"+padding)
	if res := d.do(t, d.edit, one("his", "x")); res.Code != tools.Conflict {
		t.Errorf("%s", res.Content)
	}
}

func TestChangesFarApartAreCounted(t *testing.T) {
	d := newFixture(t)
	d.put(t, "f", "X\n"+padding+"X\nX\n")
	res := d.do(t, d.edit, everywhere("X\n", "Y\nZ\n"))
	if res.IsError || d.get(t, "f") != "Y\nZ\n"+padding+"Y\nZ\nY\nZ\n" || !strings.Contains(res.Content, "too far apart") || !strings.Contains(res.Content, "3 replacements") {
		t.Errorf("%s", res.Content)
	}
	if res := d.do(t, d.edit, everywhere("nothing", "all")); res.Code != tools.Validation || !strings.Contains(res.Content, "more than 250000 times\nhint: use exec") {
		t.Errorf("%s", res.Content)
	}
	if res := d.do(t, d.edit, one("nothing", "all")); res.Code != tools.Validation || !strings.Contains(res.Content, "more than 250000 times\nhint: give more") {
		t.Errorf("%s", res.Content)
	}
}

// A file of 270 MB is changed without being held in memory, and together with another one all or nothing.
func TestAnEditOfAHugeFileTakesLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 270 MB")
	}
	d := newFixture(t)
	d.put(t, "f", strings.Repeat("the beginning\n", 1000)+"one place\n")
	d.put(t, "g", abc)
	path := filepath.Join(d.dir, "f")
	must(t, os.Truncate(path, 270<<20)) // the rest is a hole
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	bad := args{"edits": []args{one("one place", "another"), {"path": "g", "old_text": "zzz", "new_text": "x"}}}
	if res := d.do(t, d.edit, bad); res.Code != tools.NotFound {
		t.Errorf("%s", res.Content)
	}
	res := d.do(t, d.edit, one("one place\n", "another one\n"))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; res.IsError || used > 64<<20 {
		t.Errorf("%d MB: %s", used>>20, res.Content)
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Size() != 270<<20+2 || !maps.Equal(m{"g": d.get(t, "g")}, m{"g": abc}) {
		t.Errorf("%d bytes", info.Size())
	}
}
