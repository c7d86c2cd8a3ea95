package memory_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/memory"
)

// itemRows is the context items in memory.
type itemRows struct {
	rows  map[int64]memory.ContextItem
	next  int64
	reads int // reads of items until the source fails; 0: never
	asked int // lists of revisions
}

func (s *itemRows) source() memory.ContextSource {
	return memory.ContextSource{
		State: func(context.Context) (string, error) { return fmt.Sprint(len(s.rows), "/", s.next), nil },
		Revisions: func(context.Context) (map[int64]int64, error) {
			s.asked++
			all := map[int64]int64{}
			for id, it := range s.rows {
				all[id] = it.At.UnixMicro()
			}
			return all, nil
		},
		Item: func(_ context.Context, id int64) (memory.ContextItem, bool, error) {
			if s.reads--; s.reads == 0 {
				return memory.ContextItem{}, false, errRead
			}
			it, ok := s.rows[id]
			return it, ok, nil
		},
	}
}

// put writes an item in place of an older revision.
func (s *itemRows) put(name, foreign, text string) {
	s.drop(name)
	s.next++
	s.rows[s.next] = memory.ContextItem{Name: name, Foreign: foreign, Text: text, At: time.Unix(s.next, 0)}
}

func (s *itemRows) drop(name string) {
	for id, it := range s.rows {
		if it.Name == name {
			delete(s.rows, id)
		}
	}
}

// withItems is an index over context items.
func withItems(t *testing.T) (*talks, *itemRows) {
	s := &itemRows{rows: map[int64]memory.ContextItem{}}
	return newTalks(t, s.source()), s
}

// named returns what a search finds by its names, with ! for foreign text.
func (k *talks) named(q memory.Query) (list []string) {
	k.t.Helper()
	r, err := k.Search(k.t.Context(), q)
	if err != nil || len(r.Notes) > 0 {
		k.t.Errorf("%+v: %q, %v", q, r.Notes, err)
	}
	for _, p := range r.Passages {
		mark := ""
		if p.Foreign != "" {
			mark = "!"
		}
		list = append(list, p.Path+mark)
	}
	return list
}

func (k *talks) names(q memory.Query, want ...string) {
	k.t.Helper()
	if got := k.named(q); !slices.Equal(got, want) {
		k.t.Errorf("%+v: %q, want %q", q, got, want)
	}
}

func TestContextItemsAreFound(t *testing.T) {
	k, s := withItems(t)
	s.put("agent:projects/garden", "", "# Beds\n\ntomatoes: row 3\n\nbeans: row 4, hunter2\n")
	s.put("url:https://example.org/tomatoes", "web: example.org", "tomatoes cost 3 a kilo")
	k.says(7, "", "I sowed tomatoes")
	q := memory.Query{Text: "tomatoes", Owner: true}
	k.names(q, "s7", "agent:projects/garden", "url:https://example.org/tomatoes!")
	q.Scope = memory.ContextScope
	k.names(q, "agent:projects/garden", "url:https://example.org/tomatoes!")
	q.Drive = "url"
	k.names(q, "url:https://example.org/tomatoes!")
	k.names(memory.Query{Text: "garden", Owner: true, Scope: memory.ContextScope}, "agent:projects/garden") // by its name
	for _, scope := range []memory.Scope{memory.All, memory.ContextScope, memory.Memory} {
		k.names(memory.Query{Text: "tomatoes garden", Session: 9, Scope: scope}) // a guest
	}
	k.names(memory.Query{Text: "tomatoes", Owner: true, Scope: memory.Memory})
	r, err := k.Search(t.Context(), memory.Query{Text: "beans", Owner: true, Scope: memory.ContextScope})
	if err != nil || len(r.Passages) != 1 || strings.Contains(r.Passages[0].Text, "hunter2") || r.Passages[0].Above != "" || r.Passages[0].From != 1 || r.Passages[0].To != 5 || r.Passages[0].Sender != "" {
		t.Errorf("%+v, %v", r, err)
	}
	if files := k.holds("hunter2"); len(files) > 0 {
		t.Errorf("a secret stands in %q", files)
	}
	// What nobody asked for is the owner's own.
	var recalled []string
	for _, p := range k.Recall(t.Context(), "tomatoes") {
		recalled = append(recalled, p.At)
	}
	if !slices.Contains(recalled, "agent:projects/garden") || strings.Contains(strings.Join(recalled, " "), "url:") {
		t.Errorf("recalled %q", recalled)
	}
	if st, err := k.Status(t.Context()); err != nil || st.Context != 2 || st.Chunks != 3 {
		t.Errorf("%+v, %v", st, err)
	}
}

// A change is found at once, what it replaced is not, and nothing is compared while nothing changes.
func TestContextItemsThatChange(t *testing.T) {
	k, s := withItems(t)
	q := func(text string) memory.Query {
		return memory.Query{Text: text, Owner: true, Scope: memory.ContextScope}
	}
	long := strings.Repeat("The shed is painted green every other year in spring.\n\n", 40)
	s.put("agent:a", "", "apples\n\n"+long)
	s.put("agent:b", "", "bread")
	k.names(q("apples"), "agent:a")
	asked := s.asked
	k.names(q("bread"), "agent:b")
	if s.asked != asked {
		t.Errorf("%d comparisons without a change", s.asked-asked)
	}
	if r, err := k.Search(t.Context(), q("shed green")); err != nil || len(r.Passages) != 1 {
		t.Errorf("windows of one item that overlap are %d passages, %v", len(r.Passages), err)
	}
	s.put("agent:a", "", "acorns")
	k.names(q("apples"))
	k.names(q("acorns"), "agent:a")
	s.drop("agent:a")
	k.names(q("acorns"))
	if st, err := k.Status(t.Context()); err != nil || st.Chunks != 1 {
		t.Errorf("%+v, %v", st, err)
	}
	// Another database has taken the place of the one that was indexed: the same revisions, written at another time.
	for id, it := range s.rows {
		it.At, it.Text = it.At.Add(time.Hour), "butter"
		s.rows[id] = it
	}
	s.next = 9
	k.names(q("bread"))
	k.names(q("butter"), "agent:b")
	if err := k.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.names(q("butter"), "agent:b")
}

// A kill between a commit and the index loses nothing: the index goes on where it was.
func TestContextItemsAfterAFailure(t *testing.T) {
	k, s := withItems(t)
	for i := range 500 {
		s.put(fmt.Sprintf("agent:%03d", i), "", fmt.Sprintf("item number%d", i))
	}
	s.rows[4] = memory.ContextItem{Name: "agent:003", Text: "onlythree", At: s.rows[4].At}
	s.reads = 350
	if err := memory.IndexContext(t.Context(), k.Index); !errors.Is(err, errRead) {
		t.Fatal(err)
	}
	if st, err := k.Status(t.Context()); err != nil || st.Context != 200 {
		t.Errorf("%+v, %v", st, err)
	}
	s.drop("agent:003")
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k.open()
	k.names(memory.Query{Text: "number499", Owner: true, Scope: memory.ContextScope}, "agent:499")
	k.names(memory.Query{Text: "onlythree", Owner: true, Scope: memory.ContextScope})
	if st, err := k.Status(t.Context()); err != nil || st.Context != 499 {
		t.Errorf("%+v, %v", st, err)
	}
}

// What was deleted leaves no word in the file of the index, also if hob was killed before it was erased.
func TestADeletedContextItemIsErased(t *testing.T) {
	k, s := withItems(t)
	holds := func() bool {
		data, err := os.ReadFile(filepath.Join(k.dir, "index.db"))
		log, err2 := os.ReadFile(filepath.Join(k.dir, "index.db-wal"))
		if err != nil || err2 != nil && !errors.Is(err2, os.ErrNotExist) {
			t.Fatal(err, err2)
		}
		return strings.Contains(string(data)+string(log), "quetzal")
	}
	s.put("agent:a", "", "the quetzal sings")
	s.put("agent:b", "", "another bird")
	q := memory.Query{Text: "quetzal", Owner: true, Scope: memory.ContextScope}
	k.names(q, "agent:a")
	if !holds() {
		t.Error("the index does not hold what it found")
	}
	s.drop("agent:a")
	k.names(q)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k.open()
	if err := memory.EraseItems(t.Context(), k.Index); err != nil || holds() {
		t.Errorf("it is still there: %v", err)
	}
	k.names(memory.Query{Text: "bird", Owner: true, Scope: memory.ContextScope}, "agent:b")
}
