package all_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/all"
)

// TestEveryBackend: a backend is complete, makes a model that carries its name, and has a row on the page.
func TestEveryBackend(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "models.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, b := range all.All() {
		if seen[b.Name] || b.Name == llm.Builtin || b.New == nil || b.List == nil {
			t.Errorf("%q is not complete, or its name is taken", b.Name)
			continue
		}
		seen[b.Name] = true
		m, err := b.New(llm.Config{Provider: b.Name, Model: "m", BaseURL: "http://127.0.0.1:1/v1", APIKey: "key"})
		if err != nil || m.Info().Provider != b.Name {
			t.Errorf("%s: the model is %v, %v", b.Name, m, err)
		}
		if strings.Count(string(page), "\n| `"+b.Name+"` | ") != 1 {
			t.Errorf("docs/models.md has no row of %s, or several", b.Name)
		}
	}
}
