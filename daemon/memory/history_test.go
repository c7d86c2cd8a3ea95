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

	"hob/daemon/agent/turn"
	"hob/daemon/fsguard"
	"hob/daemon/memory"
)

// talks is a history in memory, and the index over it.
type talks struct {
	*memory.Index
	t      *testing.T
	dir    string
	items  []turn.HistoryItem
	origin string
	secret string // that became known meanwhile
	fails  int    // batches until the source fails; 0: never
	source memory.ContextSource
}

func newTalks(t *testing.T, items ...memory.ContextSource) *talks {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "workspace"), 0o700); err != nil {
		t.Fatal(err)
	}
	k := &talks{t: t, dir: dir}
	if len(items) > 0 {
		k.source = items[0]
	}
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
		Path: filepath.Join(k.dir, "index.db"), Guard: func() *fsguard.Guard { return g }, History: k.read, Context: k.source, Origin: func(context.Context) (string, error) { return k.origin, nil }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Redact: func(s string) string {
			if k.secret != "" {
				s = strings.ReplaceAll(s, k.secret, "[late secret]")
			}
			return strings.ReplaceAll(s, "hunter2", "[secret]")
		},
	})
}

var errRead = errors.New("cannot read")

// read is the source: 20 numbers at a time.
func (k *talks) read(_ context.Context, after, turn int64) (b turn.HistoryBatch, err error) {
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
func (k *talks) says(session int64, person, text string) *turn.HistoryItem {
	n := int64(len(k.items) + 1)
	k.items = append(k.items, turn.HistoryItem{
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

// A secret that becomes known after a text was indexed is not answered, also where a long message is cut.
func TestSecretsLearntLaterAreNotAnswered(t *testing.T) {
	k := newTalks(t)
	if err := os.WriteFile(filepath.Join(k.dir, "workspace", "MEMORY.md"), []byte("# The heron key swordfish\n\nThe heron key is swordfish.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.says(1, "", "the heron key is swordfish")
	k.says(1, "", "heron key "+strings.Repeat("x", 584)+" swordfish"+strings.Repeat(" more", 300))
	k.says(1, "ana", "is the heron key swordfish")
	k.all()
	for _, secret := range []string{"", "swordfish"} {
		k.secret = secret
		r, err := k.Search(t.Context(), memory.Query{Text: "heron key", Owner: true, MaxPassages: 20})
		if err != nil || len(r.Passages) < 4 {
			t.Fatalf("%+v, %v", r, err)
		}
		for _, p := range r.Passages {
			if got := strings.Contains(p.Text+p.Above, "sword"); got != (secret == "") {
				t.Errorf("secret %q: %+v", secret, p)
			}
		}
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
	err := k.Forget(t.Context(), func() (memory.Gone, error) {
		k.items, k.origin = k.items[2:], "2"
		return memory.Gone{Sessions: []int64{1, 2}}, nil
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
	if err := k.Forget(t.Context(), func() (memory.Gone, error) { return memory.Gone{Sessions: []int64{3}}, errRead }); !errors.Is(err, errRead) {
		t.Fatal(err)
	}
	k.want(memory.Query{Text: "pineapple", Owner: true}, "3:3")
}

// After a kill between the two removals, and with the database of another home, the index is made anew.
func TestAnIndexOfAnotherOriginIsMadeAnew(t *testing.T) {
	k := newTalks(t)
	k.says(1, "", "the word is quetzal")
	k.says(2, "", "a pineapple")
	k.all()
	k.want(memory.Query{Text: "quetzal", Owner: true}, "1:1")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k.open()
	k.want(memory.Query{Text: "quetzal", Owner: true, Quick: true}, "1:1") // a start changes nothing
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k.items, k.origin = k.items[1:], "2"
	k.open()
	k.want(memory.Query{Text: "quetzal", Owner: true, Quick: true})
	if files := k.holds("quetzal"); len(files) > 0 {
		t.Errorf("%q still hold it", files)
	}
	k.want(memory.Query{Text: "pineapple", Owner: true}, "2:2")
}

// What is kept in a conversation and was removed from the memory is not found.
func TestForgottenItemsLeaveTheIndex(t *testing.T) {
	k := newTalks(t)
	k.says(1, "", "the word is quetzal")
	k.says(1, "", "a pineapple")
	k.all()
	if err := k.Forget(t.Context(), func() (memory.Gone, error) {
		k.items, k.origin = k.items[1:], "2"
		return memory.Gone{Items: []int64{1}, Files: true}, nil
	}); err != nil {
		t.Fatal(err)
	}
	k.want(memory.Query{Text: "quetzal", Owner: true})
	k.want(memory.Query{Text: "pineapple", Owner: true, Quick: true}, "1:2") // it was not made anew
	if files := k.holds("quetzal"); len(files) > 0 {
		t.Errorf("%q still hold it", files)
	}
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
	if list := k.Recall(t.Context(), "where is the quail key"); slices.ContainsFunc(list, func(m turn.Memory) bool { return strings.Contains(m.Text, "quail") }) {
		t.Error("a turn waited for the indexing of the history")
	}
}

// A question that was asked before, and an answer that lists what a search found, come after their source.
func TestAnEchoComesAfterItsSource(t *testing.T) {
	k := newTalks(t)
	file := filepath.Join(k.dir, "workspace", "MEMORY.md")
	if err := os.WriteFile(file, []byte("# Home\n\n- The code of the boiler in the cellar is 4711.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 8 {
		k.says(1, "", "what is the boiler code?")
		k.says(1, "", "boiler code, boiler code: 1 place in 1 file\nMEMORY.md:1-3\n- The code of the boiler in the cellar is 4711.").Answer = true
	}
	k.says(2, "", "the boiler makes a noise, code 12 is shown")
	k.all()
	r, err := k.Search(t.Context(), memory.Query{Text: "boiler code", Owner: true, Session: 1})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range r.Passages {
		got = append(got, fmt.Sprint(p.Path, ":", p.From))
	}
	// Each text comes once: the newest of those that say the same is not better than the others.
	if len(got) != 4 || !slices.Equal(got[:2], []string{"MEMORY.md:1", "s2:17"}) && !slices.Equal(got[:2], []string{"s2:17", "MEMORY.md:1"}) || !strings.Contains(r.Passages[2].Text, "1 place") || r.Passages[3].Text != "what is the boiler code?" {
		t.Errorf("%q", got)
	}
}

// A word that was asked for before anybody said it is found as well as any other.
func TestNewWordsCountAtOnce(t *testing.T) {
	k := newTalks(t)
	k.says(1, "", "the wren is small")
	q := memory.Query{Text: "heron", Owner: true}
	k.want(q)
	k.says(1, "", "the heron is large")
	r, err := k.Search(t.Context(), q)
	if err != nil || len(r.Passages) != 1 || r.Passages[0].Score != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// A home where nothing was said and that has no context items has no index: looking for them opens and makes nothing.
func TestNoHistoryOpensNothing(t *testing.T) {
	k, _ := withItems(t)
	err := errors.Join(k.IndexHistory(t.Context(), 0), memory.IndexContext(t.Context(), k.Index), memory.EraseItems(t.Context(), k.Index))
	if err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(k.dir, "index.db*")); err != nil || len(files) > 0 {
		t.Errorf("%q, %v", files, err)
	}
	k.says(1, "", "the heron is large")
	if err := k.IndexHistory(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	k.want(memory.Query{Text: "heron", Owner: true}, "1:1")
}
