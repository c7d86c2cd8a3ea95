package all_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/tools"
)

// TestSchemas compares the generated schemas with the types that they come from. It also derives every schema, so that a wrong tag fails.
func TestSchemas(t *testing.T) {
	path := filepath.Join("..", "schemas.txt")
	list := newAllTools(t).Specs()
	want := tools.GenerateSchemas(list)
	if *update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(have, want) {
		t.Error("tools/schemas.txt is stale: run go generate ./tools/all")
	}
	for _, spec := range list {
		if !strings.Contains("\n"+string(want), "\n"+spec.Name+"\t") {
			t.Errorf("%s has no generated schema", spec.Name)
		}
	}
}
