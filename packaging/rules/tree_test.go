package rules_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// module is the path of the repository's module.
const module = "hob"

// source is one parsed file.
type source struct {
	path string // from the root, with slashes
	dir  string // its package's folder
	test bool   // a test, or code that only tests use
	text []byte
	tree *ast.File
	set  *token.FileSet
}

// at names a place in a file.
func (s source) at(p token.Pos) string {
	return s.path + ":" + strconv.Itoa(s.set.Position(p).Line)
}

// lines counts the lines from a to b.
func (s source) lines(a, b token.Pos) int {
	return s.set.Position(b).Line - s.set.Position(a).Line + 1
}

// paths are the paths of the file's imports.
func (s source) paths() []string {
	var all []string
	for _, spec := range s.tree.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err == nil { // the parser has seen to that
			all = append(all, p)
		}
	}
	return all
}

// imports maps the local names of the file's imports to their paths.
func (s source) imports() map[string]string {
	names := map[string]string{}
	for i, p := range s.paths() {
		name := path.Base(p)
		if n := s.tree.Imports[i].Name; n != nil {
			name = n.Name
		}
		names[name] = p
	}
	return names
}

// uses finds uses of package.name, such as time.Sleep.
func (s source) uses(pkg string, names ...string) []*ast.SelectorExpr {
	imports := s.imports()
	var found []*ast.SelectorExpr
	ast.Inspect(s.tree, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if ok && imports[x.Name] == pkg && contains(names, sel.Sel.Name) {
			found = append(found, sel)
		}
		return true
	})
	return found
}

func contains(words []string, w string) bool {
	for _, x := range words {
		if x == w {
			return true
		}
	}
	return false
}

// parse reads every Go file below the root but those of other modules, of testdata and of hidden folders.
// Generated files are left out.
func parse(root fs.FS) ([]source, error) {
	var all []source
	set := token.NewFileSet()
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(root, p)
		}
		if path.Ext(p) != ".go" || strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_") {
			return nil
		}
		s, err := one(root, set, p)
		if err == nil && !ast.IsGenerated(s.tree) {
			all = append(all, s)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("parse the sources: %w", err)
	}
	return all, nil
}

func enter(root fs.FS, dir string) error {
	name := path.Base(dir)
	if dir == "." {
		return nil
	}
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := fs.Stat(root, path.Join(dir, "go.mod")); !errors.Is(err, fs.ErrNotExist) {
		return fs.SkipDir // another module
	}
	return nil
}

func one(root fs.FS, set *token.FileSet, p string) (source, error) {
	text, err := fs.ReadFile(root, p)
	if err != nil {
		return source{}, err
	}
	tree, err := parser.ParseFile(set, p, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	return source{path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go") || support(path.Dir(p)), text: text, tree: tree, set: set}, nil
}

// support reports whether a package serves only tests: llmtest, channelstest and their like, and the kill rig.
func support(dir string) bool {
	return strings.HasSuffix(dir, "test") || dir == "daemon/crashtest" || strings.HasPrefix(dir, "daemon/crashtest/")
}

// repository is the folder with hob's go.mod, above this one.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(mod), "module "+module+"\n") {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod of hob above this folder")
		}
	}
}

// shipped are the files that are not tests.
func shipped(all []source) []source {
	var kept []source
	for _, s := range all {
		if !s.test {
			kept = append(kept, s)
		}
	}
	return kept
}
