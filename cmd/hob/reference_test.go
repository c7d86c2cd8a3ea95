package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	main "hob/cmd/hob"
	"hob/cmd/hob/cli"
)

//go:generate go test hob/cmd/hob -run ^TestReference$ -update

// TestReference is docs/commands.md, which is made of the commands themselves and of the structs that --json prints.
func TestReference(t *testing.T) {
	root := main.NewRoot(cli.New(), nil)
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, g := range root.Groups() {
		fmt.Fprintf(&b, "\n## %s\n", strings.TrimSuffix(g.Title, ":"))
		for _, c := range root.Commands() {
			if c.GroupID == g.ID && c.IsAvailableCommand() {
				for _, each := range commands(c) {
					describe(&b, each)
				}
			}
		}
	}
	b.WriteString(shapesHead)
	for _, s := range shapes() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| field | value | meaning |\n|---|---|---|\n", s.title, s.printed)
		for _, f := range s.fields(t) {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.name, f.value, f.meaning)
		}
	}
	golden(t, filepath.Join(top, "docs", "commands.md"), b.String())
}

// top is the top of the repository.
const top = "../.."

const referenceHead = `# Commands

This page is made from the commands themselves (` + "`go generate ./...`" + `). ` + "`hob help COMMAND`" + ` says the same on a terminal.

Flags of all commands: ` + "`--home DIR`" + ` (hob's home, default ` + "`$HOB_HOME`" + `, else ` + "`~/.hob`" + `), ` + "`--json`" + ` (one document on the standard output, and nothing
else; errors too: ` + "`{\"error\", \"hint\"}`" + `), ` + "`--quiet`" + ` (no remarks), ` + "`--no-color`" + ` (so do ` + "`NO_COLOR`" + ` and a standard output that is no terminal).

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed |
| 2 | wrong usage: a command, flag or argument that is not understood; a question that nobody is there to answer |
| 3 | no daemon is running; bare ` + "`hob`" + ` says so and is no failure |
| 4 | not permitted by the rules, or denied by you |
| 5 | waiting for approval |

Jobs and sessions go by name or id, turns, inbox rows and messages by number or ` + "`last`" + `. A shell completes them (` + "`hob completion SHELL`" + `).
Times are in the owner's zone (` + "`[owner] timezone`" + `), which is named; in JSON they are RFC 3339.

What cannot be undone asks first: ` + "`hob cron rm`, `hob sessions rm`, `hob backup restore`" + `. Off a terminal, and with ` + "`--json`" + `, it needs ` + "`--yes`" + `, or ends with
exit code 2. What can be undone does not ask: ` + "`hob inbox retry` takes back `hob inbox drop`, and `hob outbox retry` takes back `hob outbox drop`" + `.
`

const shapesHead = `
## JSON

` + "`list`" + ` prints an array of rows, ` + "`show`" + ` one of them, with more about it. The HTTP API answers with the same documents. Fields are only ever added; those
marked *if any* are left out when there is nothing to say. What changes something answers with the row that it changed, or with ` + "`{\"ok\": true}`" + `.
`

func describe(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n### %s\n\n", c.CommandPath())
	about := c.Long
	if about == "" {
		about = c.Short + "."
	}
	b.WriteString(prose(about) + "\n")
	fmt.Fprintf(b, "\n```text\n%s\n```\n", cli.Synopsis(c))
	var rows []string
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden && c.InheritedFlags().Lookup(f.Name) == nil {
			name, usage := pflag.UnquoteUsage(f)
			rows = append(rows, fmt.Sprintf("| `%s` | %s |\n", strings.TrimSpace(flagName(f)+" "+name), cell(usage+defaultOf(f))))
		}
	})
	if len(rows) > 0 {
		b.WriteString("\n| flag | meaning |\n|---|---|\n" + strings.Join(rows, ""))
	}
	b.WriteString("\n```text\n" + strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n") + "\n```\n")
}

func flagName(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + ", --" + f.Name
	}
	return "--" + f.Name
}

// defaultOf is the default of a flag, where its text does not say it.
func defaultOf(f *pflag.Flag) string {
	if slices.Contains([]string{"", "0", "false", "[]"}, f.DefValue) || strings.Contains(f.Usage, "default") {
		return ""
	}
	return " (default " + f.DefValue + ")"
}

func cell(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "|", `\|`), "\n", " ") }

// prose is a help text as Markdown: what is indented there is code.
func prose(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			line = "\n```text\n" + strings.TrimSpace(line) + "\n```\n"
		}
		b.WriteString(strings.ReplaceAll(line, "<", "&lt;"))
	}
	return strings.TrimRight(b.String(), "\n")
}

// shape is what a command prints with --json: the struct, and where it stands.
type shape struct{ title, printed, file, name string }

func shapes() []shape {
	const rows, turns = "daemon/api/rows.go", "daemon/api/turns.go"
	return []shape{
		{"Status", "`hob status`", "daemon/api/status.go", "Status"},
		{"Turn", "`hob turns list`; `hob turns show` adds `items`, `steps`, `waits`, `questions`, `inbox`, `outbox` and `audit`", turns, "Turn"},
		{"Search result", "within `results` of `hob sessions search`", "daemon/api/verbs.go", "HistoryHit"},
		{"Item", "within `hob turns show` and `hob sessions show`; one on each line of `hob sessions export`", turns, "Item"},
		{"Import", "`hob import`", "cmd/hob/importer/importer.go", "Report"},
		{"Imported item", "within `hob import`", "cmd/hob/importer/plan.go", "Item"},
		{"Inbox row", "`hob inbox list`, `hob inbox show`", rows, "InboxRow"},
		{"Message", "`hob outbox list`, `hob outbox show`", rows, "OutboxRow"},
		{"Delivery", "within a message", rows, "Delivery"},
		{"Session", "`hob sessions list`; `hob sessions show` adds `transcript`", rows, "Session"},
		{"Question", "`hob approvals list`, `hob approvals show`", rows, "Question"},
		{"Job", "`hob cron list`, `hob cron show`, and what changes a job", "scheduler/job.go", "View"},
		{"Webhook", "`hob hook list`, `hob hook show`, and what changes a webhook; `hob hook add` and `hob hook rotate` add `secret`, when hob made it", "scheduler/webhook/draft.go", "View"},
		{"Trial", "`hob hook test`", "scheduler/webhook/draft.go", "Trial"},
		{"Slot", "`hob cron runs`", "daemon/api/fires.go", "Fire"},
		{"Channel", "`hob channels list`", "daemon/api/channels.go", "Channel"},
		{"Channel test", "`hob channels test`", "daemon/api/channels.go", "ChannelTest"},
		{"Pairing", "`hob pairing list`, and what begins, ends or revokes a pairing", "channels/pairing_row.go", "PairingRow"},
		{"Call", "`hob audit`", rows, "AuditRow"},
		{"Backup", "`hob backup list`", "daemon/sqlite/copies.go", "BackupFile"},
		{"Answer", "`hob chat TEXT`", "daemon/console/once.go", "Answer"},
		{"Tool", "`hob tool list`, `hob tool show`", "daemon/console/form.go", "ToolSpec"},
	}
}

type shapeField struct{ name, value, meaning string }

// fields reads the struct where it stands.
func (s shape) fields(t *testing.T) []shapeField {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(top, s.file), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	list := fieldsOf(file, s.name)
	if len(list) < 3 {
		t.Fatalf("%s has no struct %s with fields of JSON", s.file, s.name)
	}
	return list
}

// fieldsOf are those of a struct that a file declares; of an object that it declares too, the names of its fields are the meaning.
func fieldsOf(file *ast.File, name string) []shapeField {
	var list []shapeField
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != name {
			return true
		}
		if body, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range body.Fields.List {
				list = append(list, fieldOf(file, f)...)
			}
		}
		return false
	})
	return list
}

// within names the fields of an object.
func within(file *ast.File, e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return within(file, x.X)
	case *ast.ArrayType:
		return within(file, x.Elt)
	case *ast.Ident:
		var names []string
		for _, f := range fieldsOf(file, x.Name) {
			names = append(names, "`"+f.name+"`")
		}
		return strings.Join(names, ", ")
	}
	return ""
}

func fieldOf(file *ast.File, f *ast.Field) []shapeField {
	if inner, ok := f.Type.(*ast.Ident); ok && len(f.Names) == 0 {
		return fieldsOf(file, inner.Name) // those of an embedded struct are its own
	}
	if f.Tag == nil {
		return nil
	}
	tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
	name, rest, _ := strings.Cut(tag.Get("json"), ",")
	if name == "" || name == "-" {
		return nil
	}
	value := valueOf(f.Type)
	if rest != "" {
		value += ", *if any*"
	}
	meaning := tag.Get("jsonschema")
	if names := within(file, f.Type); names != "" {
		meaning = names
	}
	if f.Comment != nil {
		meaning = strings.TrimSpace(f.Comment.Text())
	}
	return []shapeField{{name, value, cell(meaning)}}
}

// valueOf is a type of Go as JSON shows it.
func valueOf(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.StarExpr:
		return valueOf(x.X)
	case *ast.ArrayType:
		return "list of: " + valueOf(x.Elt)
	case *ast.MapType:
		return "object"
	case *ast.SelectorExpr:
		return named(x.Sel.Name)
	case *ast.Ident:
		return named(x.Name)
	}
	return "any"
}

func named(name string) string {
	switch name {
	case "int", "int64", "int32", "uint64":
		return "whole number"
	case "float64":
		return "number"
	case "bool":
		return "true or false"
	case "Time":
		return "time"
	case "string", "Status", "Trust", "Address", "CauseKind", "State", "PairingState", "Outcome", "Unreached":
		return "text"
	case "RawMessage":
		return "any"
	}
	return "object"
}
