package memory_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	_ "modernc.org/sqlite" // the full-text index that is compared with

	"hob/daemon/fsguard"
	"hob/daemon/memory"
	"hob/daemon/sqlite"
)

// fixture is a workspace with its index.
type fixture struct {
	dir, space string
	guard      *fsguard.Guard
	index      *memory.Index
	secrets    map[string]string
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return fixtureIn(t, dir)
}

// fixtureIn is a fixture in a folder that may hold one already.
func fixtureIn(t testing.TB, dir string) *fixture {
	t.Helper()
	f := &fixture{dir: dir, space: filepath.Join(dir, "workspace"), secrets: map[string]string{}}
	for _, d := range []string{f.space, filepath.Join(f.space, "memory"), filepath.Join(dir, "state")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if f.guard, err = fsguard.New(fsguard.Config{Workspace: f.space, State: filepath.Join(dir, "state"), Home: dir}); err != nil {
		t.Fatal(err)
	}
	f.open(t)
	return f
}

// open opens the index, as a start does.
func (f *fixture) open(t testing.TB) {
	t.Helper()
	f.index = memory.New(t.Context(), memory.Options{
		Path: f.database(), Guard: func() *fsguard.Guard { return f.guard }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Redact: func(s string) string {
			for secret, name := range f.secrets {
				s = strings.ReplaceAll(s, secret, name)
			}
			return s
		},
	})
	x := f.index
	t.Cleanup(func() { _ = x.Close() })
}

func (f *fixture) database() string { return filepath.Join(f.dir, "state", "index.db") }

func (f *fixture) put(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(f.space, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// search asks as the owner's tool does, and again as long as the index is being made, which may take longer than a search waits.
func (f *fixture) search(t testing.TB, text string) memory.Result {
	t.Helper()
	for {
		r, err := f.index.Search(t.Context(), memory.Query{Text: text, Owner: true, MinScore: memory.DefaultScore})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if !slices.ContainsFunc(r.Notes, func(note string) bool { return strings.HasPrefix(note, "the index is being made") }) {
			return r
		}
	}
}

// question is one of the question set: its answer stands in any line of the files that has the text.
type question struct{ ask, answer string }

func questions(t testing.TB) (list []question) {
	t.Helper()
	data, err := os.ReadFile("testdata/questions.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		ask, answer, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok {
			t.Fatalf("%q", line)
		}
		list = append(list, question{ask, answer})
	}
	return list
}

// texts are the files of the question set.
func texts(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, name := range []string{"book.md", "notes.md"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		all["memory/"+name] = string(data)
	}
	return all
}

// answered returns the passage that holds an answer.
func answered(all map[string]string, r memory.Result, answer string) (memory.Passage, bool) {
	for _, p := range r.Passages {
		lines := strings.Split(all[p.Path], "\n")
		if slices.ContainsFunc(lines[p.From-1:p.To], func(l string) bool { return strings.Contains(l, answer) }) && strings.Contains(p.Text, answer) {
			return p, true
		}
	}
	return memory.Passage{}, false
}

// The question set: at least 85 of 100 answers stand in what a search returns, by words alone and within 8,000 bytes; 99 of 100 of the passages
// that hold one score at least the default. Plain bm25 over paragraphs is asked the same beside it.
func TestRecall(t *testing.T) {
	f := newFixture(t)
	all := texts(t)
	for name, text := range all {
		f.put(t, name, text)
	}
	plain := paragraphs(t, all)
	list := questions(t)
	found, beside, low := 0, 0, 0
	var scores []float64
	for _, q := range list {
		r := f.search(t, q.ask)
		size := 0
		for _, p := range r.Passages {
			size += len(p.Text)
		}
		if size > memory.DefaultBytes || len(r.Passages) > memory.DefaultPassages {
			t.Errorf("%s: %d passages with %d bytes", q.ask, len(r.Passages), size)
		}
		p, ok := answered(all, r, q.answer)
		if ok {
			found++
			scores = append(scores, p.Score)
			if p.Score < memory.DefaultScore {
				low++
				t.Logf("low %.2f: %s", p.Score, q.ask)
			}
		} else {
			t.Logf("missed: %s (%s)", q.ask, q.answer)
		}
		if plain(q.ask, q.answer) {
			beside++
		}
	}
	slices.Sort(scores)
	share := float64(found) / float64(len(list))
	t.Logf("recall %.3f of %d questions; bm25 over paragraphs %.3f; scores: least %.2f, 5%% %.2f, median %.2f", share, len(list), float64(beside)/float64(len(list)), scores[0], scores[len(scores)/20], scores[len(scores)/2])
	if share < 0.85 {
		t.Errorf("recall %.3f", share)
	}
	if low*100 > found {
		t.Errorf("%d of %d passages with the answer are weak", low, found)
	}
}

// paragraphs indexes the same texts as people usually do: paragraphs, one full-text table, bm25. It reports whether the best ones, up to the
// same bytes, hold an answer.
func paragraphs(t testing.TB, all map[string]string) func(ask, answer string) bool {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "plain.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	run := func(query string, args ...any) {
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE VIRTUAL TABLE p USING fts5(text, tokenize='porter unicode61')")
	run("BEGIN")
	for _, text := range all {
		for par := range strings.SplitSeq(text, "\n\n") {
			if strings.TrimSpace(par) != "" {
				run("INSERT INTO p VALUES (?)", par)
			}
		}
	}
	run("COMMIT")
	return func(ask, answer string) bool {
		rows, err := db.QueryContext(context.WithoutCancel(t.Context()), "SELECT text FROM p WHERE p MATCH ? ORDER BY rank LIMIT 6", plainQuery(ask))
		list, err := sqlite.Collect(rows, err, func(rs *sql.Rows) (text string, err error) { return text, rs.Scan(&text) })
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", ask, err))
		}
		size, ok := 0, false
		for _, text := range list {
			if size += len(text); size <= memory.DefaultBytes && strings.Contains(text, answer) {
				ok = true
			}
		}
		return ok
	}
}

// plainQuery is a question as a query of FTS5: its words, any of them.
func plainQuery(ask string) string {
	words := strings.FieldsFunc(ask, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for i, w := range words {
		words[i] = `"` + w + `"`
	}
	return strings.Join(words, " OR ")
}

// A turn waits for its recall, so words that were looked up before are not looked up again, however many chunks have them.
func TestARecallCostsLittle(t *testing.T) {
	k := newTalks(t)
	for range 500 {
		k.says(1, "", "the heron says hello")
	}
	k.all()
	// A recall waits for the files for a moment only, and the rest of the work would be counted below.
	if _, err := k.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := k.Recall(t.Context(), "hello heron")
	if len(list) == 0 {
		t.Error("it finds nothing")
	}
	before := k.Statements()
	if again := k.Recall(t.Context(), "hello heron"); !slices.Equal(again, list) {
		t.Errorf("%v, before %v", again, list)
	}
	if n := k.Statements() - before; n > 3 {
		t.Errorf("%d statements for words that are known", n)
	}
}
