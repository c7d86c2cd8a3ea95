package rules_test

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestContributingNamesPrograms: CONTRIBUTING.md names each program that a test looks for. A program that every system has is left out.
func TestContributingNamesPrograms(t *testing.T) {
	t.Parallel()
	root := repository(t)
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md")) // #nosec G304 -- of the repository
	if err != nil {
		t.Fatal(err)
	}
	all, err := parse(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, s := range all {
		if !s.test && !support(s.dir) && s.dir != "daemon/account/caldavtest" {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !looksFor(s.dir, call.Fun) {
				return true
			}
			for _, arg := range call.Args {
				literal, ok := arg.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					continue
				}
				name, err := strconv.Unquote(literal.Value)
				looked++
				if err == nil && name != "env" && name != "sh" && !strings.Contains(string(page), "`"+name+"`") {
					t.Errorf("%s: CONTRIBUTING.md does not name %s", s.at(literal.Pos()), name)
				}
			}
			return true
		})
	}
	if looked < 20 {
		t.Errorf("only %d programs were found in tests: is this still how tests look for them?", looked)
	}
}

// looksFor reports whether a function looks for a program: systest.Program, exec.LookPath, and what tests of real servers call.
func looksFor(dir string, fun ast.Expr) bool {
	switch f := fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name == "Program" || f.Sel.Name == "LookPath"
	case *ast.Ident:
		return f.Name == "program" && dir == "channels/irc"
	}
	return false
}
