package rules_test

import (
	"go/ast"
	"path"
	"strings"
)

// checkLists finds plug-ins that their list forgets: a constructor of a tool that no file of tools/all calls, and an adapter whose tests
// do not run the suite of all channels.
func checkLists(all []source) []string {
	listed, suites := map[string]bool{}, map[string]bool{}
	for _, s := range all {
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && !s.test {
				if id, ok := call.Fun.(*ast.Ident); ok {
					listed[s.dir+" "+id.Name] = true // another constructor calls it
				}
			}
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			to := hob(s.imports()[x.Name])
			if path.Base(s.dir) == "all" && !strings.HasSuffix(s.path, "_test.go") {
				listed[to+" "+sel.Sel.Name] = true
			}
			if to == "channels/channelstest" && sel.Sel.Name == "Run" {
				suites[s.dir] = true
			}
			return true
		})
	}
	var found []string
	for _, s := range shipped(all) {
		for _, d := range s.tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() {
				continue
			}
			switch group, one := path.Dir(s.dir), s.dir+" "+f.Name.Name; {
			case group == "tools" && returns(f, "tools.Tool") && !listed[one]:
				found = append(found, s.at(f.Pos())+": "+f.Name.Name+" is not in tools/all/all.go")
			case group == "channels" && f.Name.Name == "Kind" && returns(f, "channels.Kind"):
				if !listed[one] {
					found = append(found, s.at(f.Pos())+": the channel is not in channels/all/all.go")
				}
				if !suites[s.dir] {
					found = append(found, s.at(f.Pos())+": no test of the channel calls channelstest.Run")
				}
			}
		}
	}
	return found
}

// returns reports whether a function has one result, of a type as it is written.
func returns(f *ast.FuncDecl, name string) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	sel, ok := f.Type.Results.List[0].Type.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name+"."+sel.Sel.Name == name
}
