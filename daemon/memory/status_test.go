package memory_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/daemon/memory"
)

// The numbers of Status are those of the table, and reading them does not read it: it grows with each message.
func TestStatusReadsNoTableThatGrows(t *testing.T) {
	right := func(x *memory.Index, want int) {
		t.Helper()
		plan, chunks, err := memory.StatusPlan(t.Context(), x)
		if err != nil || slices.ContainsFunc(plan, func(step string) bool { return strings.Contains(step, "chunks") }) {
			t.Errorf("%q, %v", plan, err)
		}
		if s, err := x.Status(t.Context()); err != nil || s.Chunks != chunks || chunks != want {
			t.Errorf("%d chunks, counted %d, want %d, %v", s.Chunks, chunks, want, err)
		}
	}
	k := newTalks(t)
	k.says(1, "", "the word is quetzal")
	k.says(2, "ana", "quetzal it is")
	k.says(2, "ana", "and again")
	k.says(3, "", "a pineapple")
	k.all()
	right(k.Index, 4)
	if err := k.Forget(t.Context(), func() (memory.Gone, error) {
		k.items, k.origin = k.items[3:], "2"
		return memory.Gone{Sessions: []int64{1, 2}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	right(k.Index, 1)
	f := newFixture(t)
	f.put(t, "memory/a.md", "one\n")
	f.put(t, "memory/b.md", "two\n")
	f.sync(t)
	right(f.index, 2)
	if err := os.Remove(filepath.Join(f.dir, "workspace", "memory", "b.md")); err != nil {
		t.Fatal(err)
	}
	f.sync(t)
	right(f.index, 1)
}
