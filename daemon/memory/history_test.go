package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/fsguard"
	"hob/daemon/memory"
)

// talks is a history in memory, and the index over it.
type talks struct {
	*memory.Index
	t     *testing.T
	dir   string
	items []memory.HistoryItem
	fails int // batches until the source fails; 0: never
}

func newTalks(t *testing.T) *talks {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	k := &talks{t: t, dir: dir}
	k.open()
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

// open opens the index, as a start of hob does.
func (k *talks) open() {
	k.t.Helper()
	g, err := fsguard.New(fsguard.Config{Workspace: filepath.Join(k.dir, "workspace"), State: filepath.Join(k.dir, "state"), Home: k.dir, Marked: func(string) string { return "" }})
	if err != nil {
		k.t.Fatal(err)
	}
	k.Index = memory.New(k.t.Context(), memory.Options{
		Path: filepath.Join(k.dir, "index.db"), Guard: func() *fsguard.Guard { return g }, History: k.read, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Redact: func(s string) string { return strings.ReplaceAll(s, "hunter2", "[secret]") },
	})
}

var errRead = errors.New("cannot read")

// read is the source: 20 numbers at a time.
func (k *talks) read(_ context.Context, after, turn int64) (b memory.HistoryBatch, err error) {
	if k.fails--; k.fails == 0 {
		return b, errRead
	}
	for _, it := range k.items {
		if turn == 0 || it.Turn == turn {
			b.Last = it.Seq
		}
	}
	b.Next = min(after+20, max(b.Last, after))
	for _, it := range k.items {
		if it.Seq > after && it.Seq <= b.Next && (turn == 0 || it.Turn == turn) {
			if it.Open {
				it.Text = ""
			}
			b.Items = append(b.Items, it)
		}
	}
	return b, nil
}

// says adds an item.
func (k *talks) says(session int64, person, text string) *memory.HistoryItem {
	n := int64(len(k.items) + 1)
	k.items = append(k.items, memory.HistoryItem{
		Seq: n, Turn: n, Session: session, Key: fmt.Sprint("s", session), Own: person == "", Clean: person == "", Sender: "name of " + person, Person: person, At: time.Unix(n, 0), Text: text,
	})
	return &k.items[n-1]
}

func (k *talks) all() {
	k.t.Helper()
	if err := k.IndexHistory(k.t.Context(), 1000); err != nil {
		k.t.Fatal(err)
	}
}

// finds returns what a search finds as "session:item", with ! for foreign text.
func (k *talks) finds(q memory.Query) (list []string) {
	k.t.Helper()
	r, err := k.Search(k.t.Context(), q)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, p := range r.Passages {
		mark := ""
		if p.Foreign != "" {
			mark = "!"
		}
		list = append(list, fmt.Sprintf("%d:%d%s", p.Session, p.From, mark))
	}
	return list
}

func (k *talks) want(q memory.Query, want ...string) {
	k.t.Helper()
	if got := k.finds(q); !slices.Equal(got, want) {
		k.t.Errorf("%+v: %q, want %q", q, got, want)
	}
}

func TestHistoryIsFoundByItsAskers(t *testing.T) {
	k := newTalks(t)
	if err := os.WriteFile(filepath.Join(k.dir, "workspace", "MEMORY.md"), []byte("The door code is 4711.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.says(1, "", "the door code of the cellar is 0815")
	k.says(2, "ana", "what is your door code?")
	k.says(3, "bob", "our door code in the group is 1234")
	k.want(memory.Query{Text: "door code", Owner: true, Session: 1, Scope: memory.HistoryScope}, "1:1", "2:2!", "3:3!")
	k.want(memory.Query{Text: "door code", Owner: true, Session: 3, Scope: memory.HistoryScope, Only: true}, "3:3!")
	if got := k.finds(memory.Query{Text: "door code", Owner: true, Session: 1}); len(got) != 4 || got[0] == "2:2!" || got[1] == "2:2!" {
		t.Errorf("everything: %q", got)
	}
	// All others find their own conversation, whatever they ask for.
	for _, scope := range []memory.Scope{"", memory.All, memory.HistoryScope} {
		k.want(memory.Query{Text: "door code", Session: 3, Scope: scope}, "3:3!")
		k.want(memory.Query{Text: "door code", Scope: scope})
	}
	for _, scope := range []memory.Scope{memory.Memory, memory.Main, memory.Notes, memory.ContextScope} {
		k.want(memory.Query{Text: "door code", Session: 3, Scope: scope})
	}
}

func TestAFloodDoesNotOutrankTheOwner(t *testing.T) {
	k := newTalks(t)
	k.says(1, "", "Remember that the wifi password of the cabin is heron")
	for n := range 3000 {
		it := k.says(2, "mallory", "wifi password cabin wifi password cabin")
		it.Sender = fmt.Sprint("somebody else ", n) // a name can be changed, the id cannot
	}
	k.says(2, "ana", "the cabin has wifi")
	k.all()
	k.says(3, "", "the cabin is mine")
	k.says(3, "bob", "wifi in the cabin")
	k.want(memory.Query{Text: "cabin wifi", Session: 3}, "3:3003", "3:3004!")
	q := memory.Query{Text: "wifi password of the cabin", Owner: true, Session: 1}
	got := k.finds(q)
	if len(got) == 0 || got[0] != "1:1" {
		t.Fatalf("%q", got)
	}
	if len(got) > 6 || !slices.Contains(got, "2:3002!") {
		t.Errorf("a sender has more than three, or hides another: %q", got)
	}
	// A single word that the flood made common is found too.
	if got := k.finds(memory.Query{Text: "cabin", Owner: true, Session: 1}); !slices.Equal(got[:2], []string{"3:3003", "1:1"}) {
		t.Errorf("%q", got)
	}
}

func TestHistoryIsIndexedOnceAndToItsEnd(t *testing.T) {
	k := newTalks(t)
	for n := range 95 {
		k.says(1, "", fmt.Sprintf("pebble number%d", n))
	}
	// The source fails in the middle, and hob is started again.
	k.fails = 4
	if err := k.IndexHistory(t.Context(), 0); !errors.Is(err, errRead) {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k.open()
	k.all()
	k.all() // twice is as once
	for _, n := range []int{0, 39, 40, 59, 60, 94} {
		k.want(memory.Query{Text: fmt.Sprint("number", n), Owner: true}, fmt.Sprint("1:", n+1))
	}
	// Without its file the index is made anew.
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(k.dir, "index.db*"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	if err != nil {
		t.Fatal(err)
	}
	k.open()
	k.want(memory.Query{Text: "number94", Owner: true}, "1:95")
	// Another database in the place of the old one has other items.
	k.items = nil
	k.says(7, "", "pebble in another home")
	k.want(memory.Query{Text: "pebble", Owner: true}, "7:1")
}

func TestASearchSaysWhatIsMissing(t *testing.T) {
	k := newTalks(t)
	for n := range 500 {
		k.says(1, "", fmt.Sprintf("pebble number%d", n))
	}
	r, err := k.Search(t.Context(), memory.Query{Text: "number499", Owner: true})
	if err != nil || len(r.Passages) != 0 || !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "not whole yet: 100 of 500") }) {
		t.Fatalf("%+v, %v", r, err)
	}
	k.all()
	r, err = k.Search(t.Context(), memory.Query{Text: "number499", Owner: true})
	if err != nil || len(r.Passages) != 1 || len(r.Notes) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestATurnIsIndexedWhenItHasEnded(t *testing.T) {
	k := newTalks(t)
	parked := k.says(1, "", "the parked question about herons")
	parked.Open = true
	for range 50 {
		k.says(1, "", "meanwhile")
	}
	k.want(memory.Query{Text: "herons", Owner: true})
	k.items[0].Open = false
	answer := k.says(1, "", "the answer about herons")
	answer.Turn, answer.Answer = 1, true
	k.want(memory.Query{Text: "herons", Owner: true}, "1:52", "1:1")
}

func TestSecretsAreNotIndexed(t *testing.T) {
	k := newTalks(t)
	k.says(1, "", "my password is hunter2, keep it")
	k.all()
	r, err := k.Search(t.Context(), memory.Query{Text: "password keep", Owner: true})
	if err != nil || len(r.Passages) != 1 || r.Passages[0].Text != "my password is [secret], keep it" {
		t.Fatalf("%+v, %v", r, err)
	}
	k.want(memory.Query{Text: "hunter2", Owner: true})
	if files := k.holds("hunter2"); len(files) > 0 {
		t.Error(files)
	}
}

// holds lists the files of the index that contain a text.
func (k *talks) holds(text string) (list []string) {
	k.t.Helper()
	files, err := filepath.Glob(filepath.Join(k.dir, "index.db*"))
	for _, f := range files {
		var data []byte
		if data, err = os.ReadFile(f); err == nil && bytes.Contains(bytes.ToLower(data), []byte(text)) {
			list = append(list, f)
		}
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return list
}

func TestForgottenSessionsLeaveTheIndex(t *testing.T) {
	k := newTalks(t)
	k.says(1, "", "the word is quetzal")
	k.says(2, "ana", "quetzal it is")
	k.says(3, "", "a pineapple")
	k.all()
	if len(k.holds("quetzal")) == 0 {
		t.Fatal("the test looks in the wrong place")
	}
	err := k.ForgetSessions(t.Context(), []int64{1, 2}, func() error {
		k.items = k.items[2:]
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	k.want(memory.Query{Text: "quetzal", Owner: true})
	k.want(memory.Query{Text: "pineapple", Owner: true}, "3:3")
	if files := k.holds("quetzal"); len(files) > 0 {
		t.Errorf("%q still hold it", files)
	}
	// If the database cannot forget, nothing is lost.
	if err := k.ForgetSessions(t.Context(), []int64{3}, func() error { return errRead }); !errors.Is(err, errRead) {
		t.Fatal(err)
	}
	k.want(memory.Query{Text: "pineapple", Owner: true}, "3:3")
}

func TestALongMessageIsCutAroundTheWords(t *testing.T) {
	k := newTalks(t)
	k.says(1, "", strings.Repeat("é filler ", 2000)+"the heron sleeps at noon "+strings.Repeat("ü more ", 2000))
	r, err := k.Search(t.Context(), memory.Query{Text: "when does the heron sleep", Owner: true})
	if err != nil || len(r.Passages) != 1 || !strings.Contains(r.Passages[0].Text, "heron sleeps at noon") || len(r.Passages[0].Text) > 700 || strings.Contains(r.Passages[0].Text, "\uFFFD") {
		t.Fatalf("%+v, %v", r, err)
	}
}

// Answers, tainted turns and questions are no sources of what is recalled, so no number of them hides what the owner said or wrote down.
func TestTheHistoryHidesNothingFromRecall(t *testing.T) {
	k := newTalks(t)
	if err := os.WriteFile(filepath.Join(k.dir, "workspace", "MEMORY.md"), []byte("The heron key is made of brass.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.says(1, "", "the heron key hangs in the cellar")
	for n := range 1500 {
		switch it := k.says(1, "", "heron key heron key"); n % 3 {
		case 0:
			it.Answer = true
		case 1:
			it.Clean = false
		case 2:
			it.Text += "? "
		}
	}
	k.all()
	if _, err := k.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range k.Recall(t.Context(), "where is the heron key") {
		got = append(got, m.Text)
	}
	slices.Sort(got)
	if want := []string{"The heron key is made of brass.", "the heron key hangs in the cellar"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	k.says(1, "", "the quail key is lost")
	if list := k.Recall(t.Context(), "where is the quail key"); slices.ContainsFunc(list, func(m memory.Recalled) bool { return strings.Contains(m.Text, "quail") }) {
		t.Error("a turn waited for the indexing of the history")
	}
}
