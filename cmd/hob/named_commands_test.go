package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
)

// TestNamedCommandsExist reads the texts of the program: the command that a hint names exists, as in "list them with: hob watch list".
func TestNamedCommandsExist(t *testing.T) {
	tree, found := main.NewRoot(cli.New(), nil), 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, _ := strconv.Unquote(lit.Value)
				for _, words := range namedCommands(text) {
					found++
					if missing := missingCommand(tree, words); missing != "" {
						t.Errorf("%s: there is no command %q: %q", set.Position(lit.Pos()), missing, text)
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil || found < 300 {
		t.Fatalf("the texts name %d commands: %v", found, err)
	}
}

// namedCommands returns the words after each "hob" that can begin a command. It begins the text, or follows one of these signs and words; elsewhere
// "hob" may be part of a sentence.
func namedCommands(text string) (list [][]string) {
	for _, m := range regexp.MustCompile(`(?:^|[:,(] ?|\n *|\b(?:or|then|run|with|by|see|and) )hob ([a-z-]+(?: [a-z-]+)*)`).FindAllStringSubmatch(text, -1) {
		list = append(list, strings.Fields(m[1]))
	}
	return list
}

// missingCommand returns the command that words name and that does not exist; "" if it exists. Words that begin with no command of hob are a
// sentence about hob.
func missingCommand(tree *cobra.Command, words []string) string {
	cmd := tree
	for _, word := range words {
		// hob tool takes the names of tools. A command without others takes arguments.
		if !cmd.HasSubCommands() || cmd.Name() == "tool" || strings.HasPrefix(word, "-") {
			return ""
		}
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		switch {
		case i < 0 && cmd == tree:
			return ""
		case i < 0:
			return cmd.CommandPath() + " " + word
		}
		cmd = cmd.Commands()[i]
	}
	return ""
}
