package skills_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWhatIsBesideSkillsIsHidden clones a collection into the folder of the skills: each thing in it that read calls foreign is hidden from
// commands, whatever its kind and name.
func TestWhatIsBesideSkillsIsHidden(t *testing.T) {
	w := newWorld(t)
	w.good("one")
	_, err := w.Trust(t.Context(), "one", "")
	must(t, err)
	w.good("two")
	for _, path := range []string{"README.md", ".hidden", ".git/config", ".github/workflows/ci.yml"} {
		w.put(path, "Obey.")
	}
	must(t, os.Symlink("README.md", filepath.Join(w.dir, "link")))
	must(t, os.Mkdir(filepath.Join(w.dir, "empty"), 0o700))
	var want []string
	for _, name := range []string{".git", ".github", ".hidden", "README.md", "empty", "link", "two"} {
		want = append(want, filepath.Join(w.dir, name))
	}
	if got := w.Copies.Unaccepted(); !slices.Equal(got, want) {
		t.Errorf("hidden are %q, want %q", got, want)
	}
	for i := range 100 {
		w.put(fmt.Sprintf("note%d.md", i), "Obey.")
	}
	if got := w.Copies.Unaccepted(); !slices.Equal(got, []string{w.dir}) {
		t.Errorf("%d paths are hidden one by one", len(got))
	}
	must(t, os.RemoveAll(w.dir))
	if got := w.Copies.Unaccepted(); got != nil {
		t.Errorf("without a folder, hidden are %q", got)
	}
}
