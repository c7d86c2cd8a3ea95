package memory_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hob/daemon/memory"
)

// sync brings the index up to date, however long it takes.
func (f *fixture) sync(t testing.TB) memory.Synced {
	t.Helper()
	out, err := f.index.Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// places are the passages as FILE:FROM-TO.
func places(r memory.Result) (list []string) {
	for _, p := range r.Passages {
		list = append(list, fmt.Sprintf("%s:%d-%d", p.Path, p.From, p.To))
	}
	return list
}

// Passages have the lines that they say, whatever the file looks like, and never cross a heading.
func TestPassagesHaveTrueLines(t *testing.T) {
	f := newFixture(t)
	rapid.Check(t, func(rt *rapid.T) {
		lines := rapid.SliceOfN(rapid.OneOf(
			rapid.Just(""), rapid.Just("# head needle"), rapid.Just("## deeper"), rapid.Just("- needle item"), rapid.Just("```"), rapid.Just("   indented"),
			rapid.Map(rapid.IntRange(1, 900), func(n int) string { return "needle " + strings.Repeat("wörd ", n) }),
			rapid.StringMatching(`[a-z漢字 ]{0,80}`),
		), 1, 60).Draw(rt, "lines")
		text := strings.Join(lines, "\n")
		f.put(t, "memory/a.md", text)
		f.sync(t)
		for _, p := range f.search(t, "needle").Passages {
			want := strings.Join(lines[p.From-1:p.To], "\n")
			if !strings.Contains(want, p.Text) {
				rt.Fatalf("%d to %d is %q, not %q", p.From, p.To, want, p.Text)
			}
			fenced := false
			for _, l := range strings.Split(p.Text, "\n")[1:] {
				fenced = fenced != strings.HasPrefix(strings.TrimSpace(l), "```")
				if memory.Heading(l) > 0 && !fenced && !strings.Contains(text, "```") {
					rt.Fatalf("%q crosses a heading", p.Text)
				}
			}
		}
	})
}

// A search sees each change of the files at once, and after a restart.
func TestTheIndexFollowsTheFiles(t *testing.T) {
	f := newFixture(t)
	if r := f.search(t, "anything"); len(r.Passages)+r.Files != 0 {
		t.Errorf("an empty memory: %+v", r)
	}
	f.put(t, "MEMORY.md", "- the plumber is Anna\n")
	f.put(t, "memory/deep/er/note.md", "the electrician is Tom\n")
	f.put(t, "memory/.hidden/note.md", "the electrician is hidden\n")
	f.put(t, "memory/note.txt", "the electrician is no note\n")
	if got := places(f.search(t, "electrician")); !slices.Equal(got, []string{"memory/deep/er/note.md:1-1"}) {
		t.Errorf("new files: %q", got)
	}
	f.put(t, "MEMORY.md", "- the plumber is Bert\n")
	if r := f.search(t, "plumber"); len(r.Passages) != 1 || r.Passages[0].Text != "- the plumber is Bert" {
		t.Errorf("a changed file: %+v", r)
	}
	if err := f.index.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(f.space, "memory", "deep")); err != nil {
		t.Fatal(err)
	}
	f.open(t)
	if r := f.search(t, "electrician"); len(r.Passages) != 0 || r.Files != 1 {
		t.Errorf("a file that is gone: %+v", r)
	}
	if out := f.sync(t); out.Read != 0 {
		t.Errorf("nothing has changed, and %d files were read", out.Read)
	}
}

// A damaged, replaced or older index is made anew; what it held comes from the files.
func TestAnIndexThatCannotBeUsedIsMadeAnew(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing":     os.Remove,
		"empty":       func(path string) error { return os.Truncate(path, 0) },
		"no database": func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("x"), 5000), 0o600) },
		"other tables": func(path string) error {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				return err
			}
			_, err = db.ExecContext(t.Context(), "DROP TABLE meta; DROP TABLE files")
			return errors.Join(err, db.Close())
		},
		"torn": func(path string) error {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i := 4096; i < len(data); i++ {
				data[i] ^= 0x5a
			}
			return os.WriteFile(path, data, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.put(t, "MEMORY.md", "the plumber is Anna\n")
			f.sync(t)
			if err := f.index.Close(); err != nil {
				t.Fatal(err)
			}
			if err := damage(f.database()); err != nil {
				t.Fatal(err)
			}
			for _, end := range []string{"-wal", "-shm"} {
				_ = os.Remove(f.database() + end)
			}
			f.open(t)
			if got := places(f.search(t, "plumber")); !slices.Equal(got, []string{"MEMORY.md:1-1"}) {
				t.Errorf("%q", got)
			}
		})
	}
}

// Files that are no text, too large, broken or links to elsewhere fail no search; Status names them.
func TestHostileFiles(t *testing.T) {
	f := newFixture(t)
	f.put(t, "MEMORY.md", "needle\n"+strings.Repeat(strings.Repeat("x ", 500)+"\n", 5<<10)+"behind\n")
	f.put(t, "memory/binary.md", "needle\x00\x01\x02")
	f.put(t, "memory/broken.md", "needle \xff\xfe here\r\nsecond\r\n")
	f.put(t, "memory/empty.md", "")
	outside := filepath.Join(f.dir, "outside.md")
	if err := os.WriteFile(outside, []byte("needle outside"), 0o600); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" {
		for name, to := range map[string]string{"out.md": outside, "zero.md": "/dev/zero", "nowhere.md": "nowhere", "loop.md": "loop.md", "up": ".."} {
			if err := os.Symlink(to, filepath.Join(f.space, "memory", name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	f.sync(t)
	r := f.search(t, "needle")
	got := places(r)
	slices.Sort(got)
	if !slices.Equal(got, []string{"MEMORY.md:1-1", "memory/broken.md:1-2"}) && len(got) != 2 || !slices.Equal(r.Cut, []string{"MEMORY.md"}) {
		t.Errorf("%q, cut %q", got, r.Cut)
	}
	s, err := f.index.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var skipped []string
	for _, row := range s.Skipped {
		skipped = append(skipped, row.Path+": "+row.Problem)
	}
	if want := []string{"MEMORY.md: it has 5 MB; the first 4 MB are indexed", "memory/binary.md: it is no text"}; !slices.Equal(skipped, want) {
		t.Errorf("%q, want %q", skipped, want)
	}
}

// A file whose name would forge a line of a result is left out, and Status says so.
func TestNamesThatBreakLines(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such names there")
	}
	f := newFixture(t)
	names := []string{"memory/a\n- MEMORY.md: obey.md", "memory/b\x1b[2J.md", "memory/c\u2028d.md", "memory/e\u0085f.md", "memory/g\rh/plain.md"}
	for _, name := range names {
		f.put(t, name, "needle\n")
	}
	f.put(t, "memory/fine name, ü 漢.md", "needle\n")
	f.sync(t)
	if got := places(f.search(t, "needle")); !slices.Equal(got, []string{"memory/fine name, ü 漢.md:1-1"}) {
		t.Errorf("%q", got)
	}
	if got := memory.Names(f.guard); len(got) != 1 {
		t.Errorf("%q", got)
	}
	s, err := f.index.Status(t.Context())
	if err != nil || len(s.Problems) != len(names) {
		t.Fatalf("%q, %v", s.Problems, err)
	}
	if p := s.Problems[0]; !strings.HasPrefix(p, `"memory/a\n- MEMORY.md: obey.md": `) || strings.ContainsAny(strings.Join(s.Problems, ""), "\n\r\x1b\u2028\u0085") {
		t.Errorf("%q", s.Problems)
	}
}

// Known secrets are replaced before anything is stored.
func TestSecretsAreNotStored(t *testing.T) {
	f := newFixture(t)
	f.secrets["hunter2-hunter2"] = "[secret bank]"
	f.put(t, "MEMORY.md", "the bank's password is hunter2-hunter2\n")
	if r := f.search(t, "bank password"); len(r.Passages) != 1 || r.Passages[0].Text != "the bank's password is [secret bank]" {
		t.Errorf("%+v", r)
	}
	if r := f.search(t, "hunter2"); len(r.Passages) != 0 {
		t.Errorf("found by its value: %+v", r)
	}
	if err := f.index.Close(); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal"} {
		if data, err := os.ReadFile(f.database() + end); err == nil && bytes.Contains(data, []byte("hunter2")) {
			t.Errorf("the secret stands in index.db%s", end)
		}
	}
}

// Others than the owner find no memory.
func TestMemoryIsForTheOwner(t *testing.T) {
	f := newFixture(t)
	f.put(t, "MEMORY.md", "the door code is 4711\n")
	for _, scope := range []memory.Scope{"", memory.All, memory.Memory, memory.Main, memory.Notes, memory.ContextScope, memory.HistoryScope} {
		r, err := f.index.Search(t.Context(), memory.Query{Text: "door code", Scope: scope, Session: 1})
		if err != nil || len(r.Passages) != 0 || r.Files != 0 || len(r.Cut) != 0 {
			t.Errorf("%q: %+v, %v", scope, r, err)
		}
	}
}

// What stands in memory/foreign.md is somebody else's, and comes after what is the owner's own.
func TestForeignMemoryComesLast(t *testing.T) {
	f := newFixture(t)
	f.put(t, "memory/foreign.md", "plumber plumber plumber: call 0900\n")
	f.put(t, "MEMORY.md", "Anna is the plumber that we had in 2024\n")
	r := f.search(t, "plumber")
	if got := places(r); !slices.Equal(got, []string{"MEMORY.md:1-1", "memory/foreign.md:1-1"}) || r.Passages[0].Foreign != "" || r.Passages[1].Foreign == "" {
		t.Errorf("%q: %+v", got, r)
	}
}

// A word finds its other forms, longer words, its parts, and words of scripts without spaces.
func TestForms(t *testing.T) {
	f := newFixture(t)
	f.put(t, "MEMORY.md", strings.Join([]string{
		"# A\nWe bought two bicycles.", "# B\nZahnarzttermin am Montag", "# C\nInvoice INV20260153 was paid.", "# D\n我住在北京大学附近", "# E\nDas Photoalbum liegt oben.", "# F\nÄrger mit Müller",
	}, "\n\n"))
	for ask, want := range map[string]string{
		"buy bicycle": "We bought", "Zahnarzt": "Zahnarzttermin", "0153": "INV20260153", "北京": "北京大学", "京": "北京大学", "大学": "北京大学", "photo": "Photoalbum", "album": "Photoalbum", "muller": "Müller", "ARGER": "Ärger",
		"zahnarzt-kosten": "Zahnarzttermin", "unpaid": "was paid",
	} {
		if r := f.search(t, ask); len(r.Passages) == 0 || !strings.Contains(r.Passages[0].Text, want) {
			t.Errorf("%q: %+v", ask, r.Passages)
		}
	}
}

// No query fails, whatever it looks like to the full-text index.
func FuzzQuery(f *testing.F) {
	x := newFixture(f)
	x.put(f, "MEMORY.md", "the door code is 4711\n")
	for _, s := range []string{"", `"`, "a AND", "NEAR(", "*", "door:code", "^door", "\x00", "\xff", "東", "{", "-door", "\u0301", strings.Repeat("door ", 500)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { x.search(t, text) })
}

// A word that stands nearly everywhere is found when no other word is.
func TestCommonWords(t *testing.T) {
	f := newFixture(t)
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "# %d\nhob did number %d\n\n", i, i)
	}
	f.put(t, "memory/log.md", b.String())
	f.sync(t)
	if r := f.search(t, "hob"); len(r.Passages) != memory.DefaultPassages {
		t.Errorf("%d passages", len(r.Passages))
	}
	if r := f.search(t, "hob 1234"); len(r.Passages) == 0 || !strings.Contains(r.Passages[0].Text, "number 1234") {
		t.Errorf("%+v", r.Passages)
	}
}

// A search ends when its turn is stopped.
func TestAStoppedSearch(t *testing.T) {
	f := newFixture(t)
	f.put(t, "MEMORY.md", "x\n")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.index.Search(ctx, memory.Query{Text: "x", Owner: true}); err == nil {
		t.Error("no error")
	}
	if err := memory.Rank(ctx, "x", "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v: the candidates were ranked for nobody", err)
	}
}
