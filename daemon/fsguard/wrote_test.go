//go:build unix

package fsguard_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hob/daemon/fsguard"
)

// TestWrote: Config.Wrote gets the path and the content's hash before the content is visible.
func TestWrote(t *testing.T) {
	dir := t.TempDir()
	space := filepath.Join(dir, "space")
	must(t, os.Mkdir(space, 0o700))
	must(t, os.WriteFile(filepath.Join(space, "old"), []byte("old"), 0o600))
	must(t, os.Symlink("old", filepath.Join(space, "link")))
	var told []string
	g, err := fsguard.New(fsguard.Config{Workspace: space, State: filepath.Join(dir, "state"), Wrote: func(path, hash string) {
		there, err := os.ReadFile(path) // the old content is still there at this moment
		if sum := sha256.Sum256(there); err == nil && hash == hex.EncodeToString(sum[:]) {
			t.Errorf("%s was told after it could be seen", path)
		}
		told = append(told, filepath.Base(path)+" "+hash)
	}})
	must(t, err)
	place := func(path string) fsguard.Place {
		p, err := g.Resolve("", path)
		must(t, err)
		return p
	}
	hash := func(content string) string {
		sum := sha256.Sum256([]byte(content))
		return hex.EncodeToString(sum[:])
	}
	_, err = g.WriteFile(place("new"), []byte("one"), 0o600)
	must(t, err)
	_, err = g.WriteFile(place("link"), nil, 0o600)
	must(t, err)
	if _, err = g.WriteFile(place("new"), []byte("two"), 0o600, fsguard.NewOnly); err == nil {
		t.Error("what was there was written over")
	}
	s, err := g.Stage(place("staged"), fsguard.TempName("staged"), fsguard.Bytes([]byte("three")), nil)
	must(t, err)
	if want := []string{"new " + hash("one"), "old " + hash("")}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
	told = nil
	must(t, s.Apply())
	must(t, s.Close())
	s, err = g.StageRemoval(place("staged"))
	must(t, err)
	must(t, s.Apply())
	must(t, s.Close())
	if want := []string{"staged " + hash("three"), "staged "}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
