package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hob/daemon/fsguard"
	"hob/tools"
)

// S12: marks are known by what they were set on also after a restart, and a sandbox hides a marked file where it was seen again.
func TestS12MarksOfARestartedStore(t *testing.T) {
	home := t.TempDir()
	path := func(name string) string { return filepath.Join(home, name) }
	put := func(name, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path(name)), 0o700), os.WriteFile(path(name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"m.md": "theirs", "empty.md": "", "folder/inner.md": "theirs as well", "mine.md": "mine!!", "none.md": ""} {
		put(name, text)
	}
	guard, err := fsguard.New(fsguard.Config{Workspace: home, State: path("state"), Home: home})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("before", func(t *testing.T) {
		s := open(t, path("state"))
		s.Marks().Sum = func(path string) (string, error) { return fsguard.Sum(guard, path) }
		for _, name := range []string{"m.md", "empty.md", "folder"} {
			if err := s.Calls.Record(t.Context(), tools.Mark{Path: path(name), Why: "a test"}); err != nil {
				t.Fatal(err)
			}
		}
	})
	s := open(t, path("state"))
	s.Marks().Sum = func(path string) (string, error) { return fsguard.Sum(guard, path) }
	put("copy.md", "theirs")
	if err := errors.Join(os.Rename(path("m.md"), path("n.md")), os.Rename(path("folder"), path("other"))); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"copy.md": "m.md", "n.md": "m.md", "other": "folder", "other/inner.md": "folder"} {
		if why := s.Marks().Why(path(name)); why != "a test, as "+path(from) {
			t.Errorf("%s: %q", name, why)
		}
		if !slices.Contains(s.Marks().Paths(), path(name)) {
			t.Errorf("%s was seen, and is not hidden", name)
		}
	}
	put("copy.md", "my own")
	for _, name := range []string{"mine.md", "none.md", "copy.md", "missing.md"} {
		if why := s.Marks().Why(path(name)); why != "" || slices.Contains(s.Marks().Paths(), path(name)) {
			t.Errorf("%s: %q", name, why)
		}
	}
	list, err := s.Marks().List(t.Context(), true)
	if err != nil || len(list) != 3 || list[2].Path != path("m.md") || list[2].Hash != "" {
		t.Errorf("%+v %v", list, err)
	}
	if err := s.Marks().Accept(t.Context(), path("m.md"), ""); err != nil { // listed as gone
		t.Error(err)
	}
	if why := s.Marks().Why(path("n.md")); why != "" {
		t.Errorf("accepted, and foreign: %s", why)
	}
}

// S12: a file of hob's own state is not opened to be compared: closing it would drop the locks of the database.
func TestS12NothingOfTheStateIsHashed(t *testing.T) {
	home := t.TempDir()
	state := filepath.Join(home, "state")
	s := open(t, state)
	guard, err := fsguard.New(fsguard.Config{Workspace: home, State: state, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(home, "link")
	if err := os.Link(filepath.Join(state, "hob.db"), link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, filepath.Join(state, "hob.db"), state} {
		if sum, err := fsguard.Sum(guard, path); sum != "" || !errors.Is(err, fsguard.ErrState) {
			t.Errorf("%s: %q %v", path, sum, err)
		}
	}
	s.Marks().Sum = func(path string) (string, error) { return fsguard.Sum(guard, path) }
	if s.Marks().Note(link, "a test"); s.Marks().Why(link) != "a test" {
		t.Error("it is not marked")
	}
}
