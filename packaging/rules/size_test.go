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
	maxFile      = 500 // lines, tests too
	maxFunction  = 80  // lines; in tests not counted, since a table is data
	minPackage   = 150 // lines of code without tests: a smaller package needs a reason
	maxInterface = 5
)

// smallPackages are packages below minPackage, each with its reason.
var smallPackages = map[string]string{
	"daemon/modelapi": "one request, its errors and its reservation, shared by embed and transcribe",
	"channels/all":    "the list of channels",
	"channels/poll":   "what every adapter that polls shares; the seam itself does not need it",
	"daemon/fail":     "faults that tests turn on; every package may import it",
	"daemon/llm/all":  "the list of model backends",
	"packaging/rules": "its code is tests",
}

// checkSizes keeps the limits of files, functions and interfaces.
func checkSizes(all []source) []string {
	var found []string
	add := func(what string, n, limit int, unit string) {
		if n > limit {
			found = append(found, fmt.Sprintf("%s has %d %s, at most %d", what, n, unit, limit))
		}
	}
	sizesOfFiles(all, add)
	sizesOfInterfaces(all, add)
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

func sizesOfInterfaces(all []source, add measure) {
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
			if i, ok := n.(*ast.InterfaceType); ok {
				add("interface at "+s.at(i.Pos()), abilities(s.dir, i, interfaces, 0), maxInterface, "methods")
			}
			return true
		})
	}
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
