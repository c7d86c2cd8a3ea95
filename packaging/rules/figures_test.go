package rules_test

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// TestFigures prints what the structure measures, beside what it is meant to be: go test ./packaging/rules -run Figures -v
func TestFigures(t *testing.T) {
	all, err := parse(os.DirFS(repository(t)))
	if err != nil {
		t.Fatal(err)
	}
	f := measureTree(all)
	if f.code == 0 || f.packages == 0 || f.reachable.n == 0 {
		t.Fatalf("nothing was measured: %+v", f)
	}
	for _, line := range []string{
		fmt.Sprintf("packages                              %6d  at most 78", f.packages),
		fmt.Sprintf("packages with one importer            %6d  at most 20", f.single),
		fmt.Sprintf("imports of daemon                     %6d  at most 30", f.fan["daemon"]),
		fmt.Sprintf("most imports elsewhere                %6d  at most 18 (%s)", f.widest.n, f.widest.what),
		fmt.Sprintf("most methods reachable on one object  %6d  at most 25 (%s)", f.reachable.n, f.reachable.what),
		fmt.Sprintf("wrapper types                         %6d  at most 10", len(f.wrappers)),
		fmt.Sprintf("transaction types                     %6d  1", f.transactions),
		fmt.Sprintf("types with private names              %6d  0", f.private),
		fmt.Sprintf("structs with JSON tags in cmd         %6d  at most 5", f.rows),
		fmt.Sprintf("lines of product code                 %6d", f.code),
		fmt.Sprintf("comment lines per line of code        %5.1f%%  at least 14%%", 100*float64(f.comments)/float64(f.code)),
	} {
		t.Log(line)
	}
	t.Logf("wrapper types: %s", strings.Join(f.wrappers, ", "))
	for _, owner := range slices.SortedFunc(maps.Keys(f.wide), func(a, b string) int { return cmp.Or(f.wide[b]-f.wide[a], strings.Compare(a, b)) }) {
		t.Logf("%3d methods reachable on %s", f.wide[owner], owner)
	}
}

// maxReachable is how many methods should be reachable on one object.
const maxReachable = 25

// figures are measures of the whole tree, without tests and what only tests use.
type figures struct {
	packages, single, transactions, private, rows, code, comments int
	fan                                                           map[string]int // packages of hob's that a package imports
	widest, reachable                                             figure
	wrappers                                                      []string
	wide                                                          map[string]int // types on which more than maxReachable methods can be reached
}

// figure is the largest of its kind, and where it was found.
type figure struct {
	n    int
	what string
}

func (f *figure) add(n int, what string) {
	if n > f.n {
		*f = figure{n, what}
	}
}

func measureTree(all []source) figures {
	f := figures{fan: map[string]int{}}
	importers := map[string]map[string]bool{}
	listed := map[string]bool{} // by a list of plug-ins, which is as good as any number of importers
	imports := map[string]map[string]bool{}
	for _, s := range shipped(all) {
		f.code += codeLines(s.text)
		f.comments += commentLines(s.text)
		if imports[s.dir] == nil {
			imports[s.dir] = map[string]bool{}
		}
		for _, imported := range s.paths() {
			if to := hob(imported); to != "" && to != s.dir {
				imports[s.dir][to] = true
				put(importers, to, s.dir)
				listed[to] = listed[to] || path.Base(s.dir) == "all"
			}
		}
	}
	f.packages = len(imports)
	for _, pkg := range slices.Sorted(maps.Keys(imports)) {
		f.fan[pkg] = len(imports[pkg])
		if pkg != "daemon" && pkg != "cmd/hob" && path.Base(pkg) != "all" {
			f.widest.add(len(imports[pkg]), pkg)
		}
		if len(importers[pkg]) == 1 && !listed[pkg] {
			f.single++
		}
	}
	f.types(all)
	return f
}

// types counts kinds of types, and the methods that are reachable on one object.
func (f *figures) types(all []source) {
	private := words("Desk Keeper Book Ledger Shelf Porter Teller Lobby Bench Kit Purse Bell Tenant Door")
	for _, s := range shipped(all) {
		for _, spec := range typesOf(s) {
			name := spec.Name.Name
			if name == "Tx" {
				f.transactions++
			}
			if slices.Contains(private, strings.ToUpper(name[:1])+name[1:]) {
				f.private++
			}
			if st, ok := spec.Type.(*ast.StructType); ok && strings.HasPrefix(s.dir, "cmd/") && tagged(st) {
				f.rows++
			}
		}
	}
	reachable, wrappers := reachableMethods(all)
	f.wrappers = wrappers
	f.wide = map[string]int{}
	for _, owner := range slices.Sorted(maps.Keys(reachable)) {
		f.reachable.add(reachable[owner], owner)
		if reachable[owner] > maxReachable {
			f.wide[owner] = reachable[owner]
		}
	}
}

// reachableMethods counts for each type its own methods, those that it promotes from types of hob's that it embeds, and those of wrappers:
// types of the same package that consist of a pointer to it alone. The second result names the wrappers.
func reachableMethods(all []source) (map[string]int, []string) {
	own, embeds, wraps := map[string]map[string]bool{}, map[string][]string{}, map[string][]string{}
	for _, s := range shipped(all) {
		for _, d := range s.tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && len(f.Recv.List) > 0 {
				put(own, s.dir+" "+receiver(f.Recv.List[0].Type), f.Name.Name)
			}
		}
		for _, spec := range typesOf(s) {
			st, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			owner := s.dir + " " + spec.Name.Name
			for _, field := range st.Fields.List {
				inner := named(s, field.Type)
				if len(field.Names) > 0 || inner == "" {
					continue
				}
				embeds[owner] = append(embeds[owner], inner)
				if _, pointer := field.Type.(*ast.StarExpr); pointer && len(st.Fields.List) == 1 && path.Dir(inner) == path.Dir(owner) && strings.HasPrefix(inner, s.dir+" ") {
					wraps[inner] = append(wraps[inner], owner)
				}
			}
		}
	}
	var wrappers []string
	for _, list := range wraps {
		wrappers = append(wrappers, list...)
	}
	slices.Sort(wrappers)
	counts := map[string]int{}
	for owner := range own {
		counts[owner] = len(gather(owner, own, embeds, 0))
		for _, w := range wraps[owner] {
			counts[owner] += len(own[w])
		}
	}
	for owner := range embeds {
		if counts[owner] == 0 {
			counts[owner] = len(gather(owner, own, embeds, 0))
		}
	}
	return counts, wrappers
}

// gather is the method set of a type by names, with what it promotes.
func gather(owner string, own map[string]map[string]bool, embeds map[string][]string, depth int) map[string]bool {
	set := maps.Clone(own[owner])
	if set == nil {
		set = map[string]bool{}
	}
	if depth < 5 {
		for _, inner := range embeds[owner] {
			maps.Copy(set, gather(inner, own, embeds, depth+1))
		}
	}
	return set
}

// named is the package and name of a type of hob's, "" for others.
func named(s source, t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return named(s, t.X)
	case *ast.Ident:
		return s.dir + " " + t.Name
	case *ast.SelectorExpr:
		if x, ok := t.X.(*ast.Ident); ok {
			if dir := hob(s.imports()[x.Name]); dir != "" {
				return dir + " " + t.Sel.Name
			}
		}
	}
	return ""
}

func typesOf(s source) (list []*ast.TypeSpec) {
	for _, d := range s.tree.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
			for _, spec := range g.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					list = append(list, spec)
				}
			}
		}
	}
	return list
}

func tagged(st *ast.StructType) bool {
	return slices.ContainsFunc(st.Fields.List, func(f *ast.Field) bool { return f.Tag != nil && strings.Contains(f.Tag.Value, "json:") })
}

func put(m map[string]map[string]bool, key, value string) {
	if m[key] == nil {
		m[key] = map[string]bool{}
	}
	m[key][value] = true
}

// commentLines counts the lines of a file that hold nothing but a comment.
func commentLines(text []byte) int {
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	code, comments := map[int]bool{}, map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		lines := code
		if tok == token.COMMENT {
			lines = comments
		} else if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		for i := range bytes.Count([]byte(lit), []byte("\n")) + 1 {
			lines[file.Line(pos)+i] = true
		}
	}
	n := 0
	for line := range comments {
		if !code[line] {
			n++
		}
	}
	return n
}
