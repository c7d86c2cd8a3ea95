package rules_test

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// private lists words that only the authors understand, each with the standard term that replaces it. They are forbidden in the names
// that hob declares and in comments, tests included.
var private = map[string]string{
	"afterthought": "edit", "bell": "wake signal", "breath": "debounce", "desk": "service or handler", "desks": "services",
	"door": "entry, admission or socket", "gatekeeper": "admission", "keeper": "scheduler, table or store", "kin": "subagents",
	"ledger": "table", "lobby": "admin or pairing", "parlour": "interpreter", "plea": "approval text", "porter": "pairing",
	"purse": "token store", "scribe": "text extractor", "shelf": "artifacts", "standing": "recipient rights", "teller": "notices",
	"tenant": "running channel", "volley": "bot loop",
}

// cleft matches ways of writing that make a reader start again.
var cleft = regexp.MustCompile(`(?i)\b(whoever|so long as|what is said|who asks)\b`)

// checkWords finds private words in declared names and in comments.
func checkWords(all []source) []string {
	var found []string
	for _, s := range all {
		for name := range declared(s) {
			for _, w := range split(name.Name) {
				if term := private[w]; term != "" {
					found = append(found, fmt.Sprintf("%s: %q in the name %s: say %s", s.at(name.Pos()), w, name.Name, term))
				}
			}
		}
		for _, group := range s.tree.Comments {
			for _, c := range group.List {
				for w := range strings.FieldsFuncSeq(strings.ToLower(c.Text), func(r rune) bool { return !unicode.IsLetter(r) }) {
					if term := private[w]; term != "" && w != "standing" {
						found = append(found, fmt.Sprintf("%s: %q in a comment: say %s", s.at(c.Pos()), w, term))
					}
				}
				for _, phrase := range cleft.FindAllString(c.Text, -1) {
					found = append(found, fmt.Sprintf("%s: %q in a comment: begin with the subject", s.at(c.Pos()), phrase))
				}
			}
		}
	}
	return found
}

// declared yields the names that a file declares: packages, types, functions, fields, variables, parameters.
func declared(s source) func(yield func(*ast.Ident) bool) {
	return func(yield func(*ast.Ident) bool) {
		names := []*ast.Ident{s.tree.Name}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names = append(names, n.Name)
			case *ast.TypeSpec:
				names = append(names, n.Name)
			case *ast.Field:
				names = append(names, n.Names...)
			case *ast.ValueSpec:
				names = append(names, n.Names...)
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					if id, ok := e.(*ast.Ident); ok && n.Tok.String() == ":=" {
						names = append(names, id)
					}
				}
			}
			return true
		})
		for _, n := range names {
			if !yield(n) {
				return
			}
		}
	}
}

// split returns the words of a name in lower case: fooBar_baz has three.
func split(name string) []string {
	var list []string
	word := []rune{}
	for _, r := range name {
		if (unicode.IsUpper(r) || !unicode.IsLetter(r)) && len(word) > 0 {
			list, word = append(list, string(word)), nil
		}
		if unicode.IsLetter(r) {
			word = append(word, unicode.ToLower(r))
		}
	}
	return slices.DeleteFunc(append(list, string(word)), func(w string) bool { return w == "" })
}
