package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"hob/config"
)

// S2b: a root that lies in another is said, and is no mistake.
func TestS2bARootInARootIsSaid(t *testing.T) {
	for roots, want := range map[string]int{
		`"~/p:rw", "~/p/a/priv:ro"`: 1, `"~/p:rw", "~/pp:ro"`: 0, `"/:ro", "/srv/x:rw"`: 1, `"~/p/a:ro", "~/p:rw", "~/p/a/b:rw"`: 3, `"~/p:rw", "~/p/:ro"`: 0,
	} {
		path := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(path, []byte("[tools]\nroots = ["+roots+"]\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, problems, err := config.Load(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, p := range problems {
			if p.Key == "tools.roots" && p.Advice && p.Line == 2 {
				n++
			} else {
				t.Errorf("%s: %v", roots, p)
			}
		}
		if n != want {
			t.Errorf("%s: said %d times, want %d: %v", roots, n, want, problems)
		}
	}
}
