package daemon_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret of the config is in no index, although nothing has used it yet; an answer of a search does not hold it either.
func TestSecretsOfTheConfigAreNotIndexed(t *testing.T) {
	home := t.TempDir()
	put(t, "file-key-774411", home, "key.txt")
	write(t, home, "[tools.web]\nsearch_key = \"plain-key-774411\"\nsecrets = { bank = { secret = \"file:key.txt\", hosts = [\"bank.test\"] } }\n")
	put(t, "- The bank takes file-key-774411, and the search plain-key-774411.\n", filepath.Join(home, "workspace"), "memory", "home.md")
	r := start(t, home)
	r.until("the index", func() bool {
		return strings.Contains(r.run("memory_search", `{"query": "bank"}`).Message, "[secret tools.web.secrets.bank], and the search [secret tools.web.search_key]")
	})
	files, err := filepath.Glob(filepath.Join(home, "state", "index.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%q, %v", files, err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err != nil || bytes.Contains(data, []byte("774411")) {
			t.Errorf("%s holds a secret (%v)", filepath.Base(f), err)
		}
	}
}
