package all_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/channels/all"
)

// TestEveryKindIsDescribed: the page contains the abilities of each kind, in the generated table, and its
// set-up.
func TestEveryKindIsDescribed(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "channels.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all.All() {
		for _, line := range []string{"\n| " + k.Name + " | ", "\n## " + k.Name + "\n"} {
			if strings.Count(string(raw), line) != 1 {
				t.Errorf("docs/channels.md has %q not once; the row of the table is written by go generate ./channels/channelstest when a test of the adapter calls channelstest.Table", line)
			}
		}
	}
}
