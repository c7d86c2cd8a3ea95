package fsguard_test

import (
	"os"
	"path/filepath"
	"testing"

	"hob/daemon/fsguard"
)

// A name that is not there is the one file whose letters are composed the other way: what macOS, its zip archives, its USB sticks, Samba's and
// iCloud's folders leave on Linux. Each part of a path counts.
func TestResolveFindsTheOtherNormalForm(t *testing.T) {
	const composed, apart = "re\u0301sume\u0301", "r\u00e9sum\u00e9"
	for _, c := range []struct{ name, there, asked string }{
		{"NFD of macOS", "re\u0301sume\u0301.txt", "r\u00e9sum\u00e9.txt"},
		{"NFC of Linux", "r\u00e9sum\u00e9.txt", "re\u0301sume\u0301.txt"},
		{"German", "Mu\u0308ller.txt", "M\u00fcller.txt"},
		{"Korean", "\u1112\u1161\u11ab.txt", "\ud55c.txt"},
		{"Japanese", "\u304b\u3099.txt", "\u304c.txt"},
		{"Vietnamese", "Vie\u0323\u0302t.txt", "Vi\u1ec7t.txt"},
		{"a folder", "Fu\u0308r/a.txt", "F\u00fcr/a.txt"},
	} {
		dir := t.TempDir()
		g, err := fsguard.New(fsguard.Config{Workspace: dir, State: filepath.Join(t.TempDir(), "state")})
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, c.there)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := g.Resolve("", c.asked)
		if err != nil || !p.Exists() || filepath.Base(p.Path) != filepath.Base(c.there) {
			t.Errorf("%s: %+q %v", c.name, p.Path, err)
		}
		if p, err := g.Resolve("", "r\u00e9sume.txt"); err != nil || p.Exists() {
			t.Errorf("%s: %+q %v", c.name, p.Path, err)
		}
	}
	// Guards: a name that is there is itself, and one that could be two files is neither.
	dir := t.TempDir()
	g, err := fsguard.New(fsguard.Config{Workspace: dir, State: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{composed, apart} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{composed, apart} {
		if p, err := g.Resolve("", name); err != nil || !p.Exists() || filepath.Base(p.Path) != name {
			t.Errorf("%+q: %+q %v", name, p.Path, err)
		}
	}
	if p, err := g.Resolve("", "r\u00e9sume\u0301"); err != nil || p.Exists() {
		t.Errorf("one of two: %+q %v", p.Path, err)
	}
}
