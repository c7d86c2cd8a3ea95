package all_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/channels/all"
)

// TestEveryKindIsDescribed: docs/channels.md lists each kind with a link to its page and has its row in the generated table. The page
// of the kind shows its section.
func TestEveryKindIsDescribed(t *testing.T) {
	docs := filepath.Join("..", "..", "docs")
	overview := text(t, filepath.Join(docs, "channels.md"))
	for _, k := range all.All() {
		for _, line := range []string{"\n| " + k.Name + " | ", "\n| [" + k.Name + "](channels/" + k.Name + ".md) | "} {
			if strings.Count(overview, line) != 1 {
				t.Errorf("docs/channels.md has %q not once; the row of the table is written by go generate ./channels/channelstest when a test of the adapter calls channelstest.Table", line)
			}
		}
		page := text(t, filepath.Join(docs, "channels", k.Name+".md"))
		if !strings.HasPrefix(page, "# ") || k.Named != "" && !strings.Contains(page, "\n[channels."+k.Named+"]\n") {
			t.Errorf("docs/channels/%s.md has no heading, or does not show the section [channels.%s]", k.Name, k.Named)
		}
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
