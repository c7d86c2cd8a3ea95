package all_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hob/tools"
)

// The page shows the schemas, so they are made first.
//
//go:generate go test . -run ^TestSchemas$ -update
//go:generate go test . -run ^TestPage$ -update

var update = flag.Bool("update", false, "write docs/tools.md anew")

const pageHead = `<!-- Made by go generate ./tools/all out of the tools themselves: change them, not this page. -->

# Tools

What the model can do, and you too: each of them is a command, ` + "`hob tool NAME`" + `, which is decided by the same permission rules. ` + "`hob tool show NAME`" + ` prints the
schema. A parameter without a flag stands behind the name; relative paths start in the workspace, and on the command line in the folder that
you are in. Those that need a turn refuse on the command line: ` + "`ask`, `plan`, `wait_task`, `sessions_spawn`, `complete_task` and `fail_task`" + `. ` + "`todo`" + ` needs a conversation that has begun. Which of
them ask you first: [security](security.md).

What fails says so with one of these codes, in the ` + "`error` of `hob tool --json`" + ` and at the head of what the model reads:
`

// codes are those of error results, as the package tools declares them.
func codes(t *testing.T) (list []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../result.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Code" {
			word, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, word)
		}
		return true
	})
	return list
}

// TestEveryCodeIsKnown: the interpreter tells errors by their codes, and cannot import them.
func TestEveryCodeIsKnown(t *testing.T) {
	source, err := os.ReadFile("../../daemon/llm/builtin/tell.go")
	list := codes(t)
	if err != nil || len(list) != 13 || !slices.Contains(list, string(tools.NeedsApproval)) {
		t.Fatalf("%q, %v", list, err)
	}
	for _, code := range list {
		if !regexp.MustCompile(`[(:|` + "`" + `]` + code + `[|)]`).Match(source) {
			t.Errorf("the interpreter does not know %s", code)
		}
	}
}

// page describes all tools, by group; the groups in the order of their first tools.
func page(t *testing.T, list []tools.Spec) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(pageHead + "`" + strings.Join(codes(t), "`, `") + "`.\n")
	first := map[string]int{}
	for i, s := range list {
		if _, seen := first[s.Group]; !seen {
			first[s.Group] = i
		}
	}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b tools.Spec) int { return first[a.Group] - first[b.Group] })
	group := ""
	for _, s := range list {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n", s.Name, s.Description)
		if s.Example != "" && !strings.Contains(pageHead, "`"+s.Name+"`") { // F18: those that refuse on the command line are named there
			fmt.Fprintf(&b, "\n    hob tool %s %s\n", s.Name, s.Example)
		}
		parameters(t, &b, s)
	}
	return b.String()
}

// schema is the part of a JSON Schema that a page shows.
type schema struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	Enum        []string          `json:"enum"`
	Default     json.RawMessage   `json:"default"`
	Items       *schema           `json:"items"`
	Properties  json.RawMessage   `json:"properties"`
	Required    []string          `json:"required"`
	Each        map[string]schema `json:"-"`
}

func parameters(t *testing.T, b *strings.Builder, s tools.Spec) {
	t.Helper()
	var root schema
	if err := json.Unmarshal(s.Parameters, &root); err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	if err := json.Unmarshal(root.Properties, &root.Each); err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	b.WriteString("\n| parameter | takes | meaning |\n|---|---|---|\n")
	for _, name := range order(t, root.Properties) {
		p := root.Each[name]
		takes := p.Type
		if p.Items != nil {
			takes += " of " + p.Items.Type
		}
		if len(p.Enum) > 0 {
			takes = "`" + strings.Join(p.Enum, "` `") + "`"
		}
		if slices.Contains(root.Required, name) {
			takes += ", required"
		}
		if name == s.Positional {
			takes += ", without a flag"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, takes, strings.ReplaceAll(p.Description, "|", "\\|"))
	}
}

// order lists the members of an object as they stand.
func order(t *testing.T, raw json.RawMessage) (names []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(raw)))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			t.Fatal(err)
		}
		var skipped json.RawMessage
		if err := d.Decode(&skipped); err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprint(name))
	}
	return names
}

// TestPage keeps docs/tools.md what the tools say of themselves.
func TestPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "tools.md")
	want := page(t, newAllTools(t).Specs())
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/tools.md is stale: run go generate ./tools/all")
	}
}
