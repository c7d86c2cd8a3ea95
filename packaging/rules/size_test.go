package rules_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"slices"
)

// The limits. What counts as code are lines with something other than a comment on them.
const (
	maxFile      = 500   // lines, tests too
	maxFunction  = 80    // lines; in tests not counted, since a table is data
	maxPackage   = 6_000 // lines of code without tests
	maxWide      = 9_000 // the same for those in wide
	minPackage   = 150   // the same: a smaller one needs a reason
	maxMethods   = 25
	maxFields    = 20
	maxInterface = 5
)

// wide are packages whose files share more than a border could carry: one transaction writes to many tables, one file is one command.
var wide = words("daemon/store cmd/hob")

// smallPackages are packages below minPackage, each with its reason.
var smallPackages = map[string]string{
	"daemon/modelapi": "one request, its errors and its reservation, shared by embed and transcribe",
	"channels/all":    "the list of channels",
	"channels/poll":   "what every adapter that polls shares; the seam itself does not need it",
	"daemon/fail":     "faults that tests turn on; every package may import it",
	"daemon/llm/all":  "the list of model backends",
	"packaging/rules": "its code is tests",
	"tools/mcp":       "what daemon/mcp and tools/all share: the tools of MCP servers, and the connections that they need",
}

// raise lets one thing be larger, for a reason. One that is not needed any more is reported.
type raise struct {
	what   string // as a check names it
	limit  int
	reason string
}

var raises = []raise{
	{"daemon/store", 9_620, "the commit of a run reads the backoff itself, a whole backup's database is prepared with the rows that a restore holds, the event of a message says what it comes from, what programs at the endpoint ask is committed with the inbox and the turns, what the owner accepts of MCP servers, is told of them and answers them with its question, and ends with them what the owner permanently allowed about them, the end of the questions about a fact that is gone, and which of several open questions a word answers; all stay in their package"},
	{"channels/email Channel", 29, "14 are abilities that the seam asks for, 4 come with the audience"},
	{"channels/matrix Channel", 29, "13 are abilities that the seam asks for, 4 come with the audience"},
	{"channels/telegram Channel", 27, "13 are abilities that the seam asks for, 4 come with the audience"},
}

// over is the report of something that is too large, "" when it is not.
func over(what string, n, limit int, unit string, used map[string]bool) string {
	for _, r := range raises {
		if r.what == what && n > limit {
			used[what] = true
			limit = r.limit
		}
	}
	if n <= limit {
		return ""
	}
	return fmt.Sprintf("%s has %d %s, at most %d", what, n, unit, limit)
}

// checkSizes keeps all limits.
func checkSizes(all []source) []string {
	used, there := map[string]bool{}, map[string]bool{}
	var found []string
	add := func(what string, n, limit int, unit string) {
		there[what] = true
		if text := over(what, n, limit, unit, used); text != "" {
			found = append(found, text)
		}
	}
	sizesOfFiles(all, add)
	sizesOfPackages(all, add)
	sizesOfTypes(all, add)
	for _, r := range raises {
		if there[r.what] && !used[r.what] {
			found = append(found, r.what+" does not need its raise any more")
		}
		if r.reason == "" {
			found = append(found, r.what+" is raised without a reason")
		}
	}
	return found
}

type measure func(what string, n, limit int, unit string)

func sizesOfFiles(all []source, add measure) {
	for _, s := range all {
		add(s.path, bytes.Count(s.text, []byte("\n")), maxFile, "lines")
		for _, d := range s.tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && !s.test {
				add(s.path+" "+f.Name.Name, s.lines(f.Pos(), f.End()), maxFunction, "lines")
			}
		}
	}
}

func sizesOfPackages(all []source, add measure) {
	code := map[string]int{}
	for _, s := range shipped(all) {
		code[s.dir] += codeLines(s.text)
	}
	for _, pkg := range slices.Sorted(maps.Keys(code)) {
		limit := maxPackage
		if slices.Contains(wide, pkg) {
			limit = maxWide
		}
		add(pkg, code[pkg], limit, "lines of code")
	}
	methods, _ := reachableMethods(all) // by name: systems have their own files
	for _, owner := range slices.Sorted(maps.Keys(methods)) {
		add(owner, methods[owner], maxMethods, "methods")
	}
}

// checkSmall finds packages that are too small to be one, and have no reason.
func checkSmall(all []source) []string {
	code := map[string]int{}
	for _, s := range shipped(all) {
		code[s.dir] += codeLines(s.text)
	}
	var found []string
	for _, pkg := range slices.Sorted(maps.Keys(code)) {
		switch reason := smallPackages[pkg]; {
		case code[pkg] < minPackage && reason == "":
			found = append(found, fmt.Sprintf("%s has %d lines of code: fold it, or give a reason", pkg, code[pkg]))
		case code[pkg] >= minPackage && reason != "":
			found = append(found, pkg+" is large enough without a reason")
		}
	}
	return found
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.IndexExpr:
		return receiver(t.X)
	case *ast.IndexListExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return "?"
}

func sizesOfTypes(all []source, add measure) {
	interfaces := map[string]*ast.InterfaceType{}
	for _, s := range shipped(all) {
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if i, ok := spec.Type.(*ast.InterfaceType); ok {
					interfaces[s.dir+" "+spec.Name.Name] = i
				}
			}
			return true
		})
	}
	for _, s := range shipped(all) {
		ast.Inspect(s.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.StructType:
				add("struct at "+s.at(n.Pos()), fields(n.Fields), maxFields, "fields")
			case *ast.InterfaceType:
				add("interface at "+s.at(n.Pos()), abilities(s.dir, n, interfaces, 0), maxInterface, "methods")
			}
			return true
		})
	}
}

// fields counts those of a struct. A row, in which each field has a tag, is as wide as its table: it counts as none.
func fields(list *ast.FieldList) int {
	n := 0
	if !slices.ContainsFunc(list.List, func(f *ast.Field) bool { return f.Tag == nil }) {
		return 0
	}
	for _, f := range list.List {
		n += max(1, len(f.Names)) // an embedded one has no name
	}
	return n
}

// abilities counts the methods of an interface, those of embedded ones of the same package included.
func abilities(dir string, i *ast.InterfaceType, known map[string]*ast.InterfaceType, depth int) int {
	n := 0
	for _, f := range i.Methods.List {
		inner, ok := f.Type.(*ast.Ident)
		switch {
		case len(f.Names) > 0:
			n += len(f.Names)
		case ok && known[dir+" "+inner.Name] != nil && depth < 10:
			n += abilities(dir, known[dir+" "+inner.Name], known, depth+1)
		default:
			n++
		}
	}
	return n
}

// codeLines counts the lines that have a token on them.
func codeLines(text []byte) int {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0) // without comments
	lines := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		switch {
		case tok == token.EOF:
			return len(lines)
		case tok == token.SEMICOLON && lit == "\n": // put in by the scanner
		default:
			first := file.Line(pos)
			for i := range bytes.Count([]byte(lit), []byte("\n")) + 1 {
				lines[first+i] = true
			}
		}
	}
}
