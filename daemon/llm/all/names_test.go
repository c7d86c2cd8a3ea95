package all_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hob/daemon/llm/all"
)

// A backend brings its name, defaults, discovery and catalogue: no code outside its package compares or chooses by its name. Names inside a
// longer text, such as an example, are no literals equal to one.
func TestNothingElseNamesABackend(t *testing.T) {
	var names []string
	for _, b := range all.All() {
		names = append(names, b.Name)
	}
	root := filepath.Join("..", "..", "..")
	named := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !slices.Contains(names, text) {
				return true
			}
			// codex is the account of that backend; its name is also that of its tokens.
			if dir := strings.TrimPrefix(rel, "daemon/llm/"); dir != rel && (strings.HasPrefix(dir, "openai/") || strings.HasPrefix(dir, "anthropic/") || strings.HasPrefix(dir, "codex/")) {
				named[text] = true
				return true
			}
			t.Errorf("%s names the backend %q", rel, text)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// The walk has seen the packages of the backends, and each names itself.
	for _, name := range names {
		if !named[name] {
			t.Errorf("no package names %q", name)
		}
	}
}
