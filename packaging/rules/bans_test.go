package rules_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkInit forbids func init.
func checkInit(all []source) []string {
	var found []string
	for _, s := range shipped(all) {
		for _, d := range s.tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				found = append(found, s.at(f.Pos())+": func init: say in main what is to happen")
			}
		}
	}
	return found
}

// frozen are the functions whose results nobody can change, so that a package variable may hold one.
// regexp.MustCompile is not one of them: an initialiser would compile the expression at each start of hob.
var frozen = map[string][]string{
	"hob/daemon/sys": {"Regexp"},
	"errors":         {"New"},
	"fmt":            {"Errorf"},
	"strings":        {"NewReplacer"},
	"net/netip":      {"MustParsePrefix", "MustParseAddr", "MustParseAddrPort"},
	"reflect":        {"TypeFor"},
	"sync":           {"OnceValue", "OnceValues"},
	"encoding/json":  {"RawMessage"},
}

// variables that may be there although they can change.
var variables = map[string]string{
	"daemon/fail hits": "counts how often a crash point was passed; only under -tags hobtest",
}

// checkVariables forbids package variables but for assertions (var _ I = T{}), embedded files, other names of errors, and
// values that nobody can change.
func checkVariables(all []source) []string {
	var found []string
	for _, s := range shipped(all) {
		for _, d := range s.tree.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v, ok := spec.(*ast.ValueSpec)
				if !ok || embedded(g.Doc) || embedded(v.Doc) {
					continue
				}
				found = append(found, loose(s, v)...)
			}
		}
	}
	return found
}

func loose(s source, v *ast.ValueSpec) []string {
	var found []string
	for i, name := range v.Names {
		fixed := name.Name == "_" || i < len(v.Values) && constant(s, name.Name, v.Values[i]) || variables[s.dir+" "+name.Name] != ""
		if !fixed {
			found = append(found, fmt.Sprintf("%s: package variable %s: use a constant, or a function that returns it", s.at(name.Pos()), name.Name))
		}
	}
	return found
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

func constant(s source, name string, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		sel, ok := value.(*ast.SelectorExpr)
		return ok && strings.HasPrefix(name, "Err") && strings.HasPrefix(sel.Sel.Name, "Err")
	}
	fun := call.Fun
	if generic, ok := fun.(*ast.IndexExpr); ok {
		fun = generic.X
	}
	sel, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	pkg, ok := sel.X.(*ast.Ident)
	return ok && contains(frozen[s.imports()[pkg.Name]], sel.Sel.Name)
}

// checkGo lets only daemon/sys start goroutines: a bare one that panics ends the process.
func checkGo(all []source) []string {
	var found []string
	for _, s := range shipped(all) {
		if s.dir == "daemon/sys" {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				found = append(found, s.at(n.Pos())+": bare go: use daemon/sys")
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if ok && sel.Sel.Name == "Go" && len(n.Args) == 1 { // spawn's takes three
					found = append(found, s.at(n.Pos())+": a group that catches no panics: use daemon/sys")
				}
			}
			return true
		})
	}
	return found
}

// checkSleep forbids time.Sleep but in packages whose tests run on testing/synctest's clock, where it costs nothing and
// is exact.
func checkSleep(all []source) []string {
	bubbles := map[string]bool{}
	for _, s := range all {
		if s.test && slices.Contains(s.paths(), "testing/synctest") {
			bubbles[s.dir] = true
		}
	}
	var found []string
	for _, s := range all {
		if s.test && bubbles[s.dir] {
			continue
		}
		for _, sel := range s.uses("time", "Sleep") {
			found = append(found, s.at(sel.Pos())+": time.Sleep: wait for what you wait for, or use testing/synctest")
		}
	}
	return found
}

// readByPrograms are the files that write times for programs: protocols, stored values, keys, JSON and schedules.
var readByPrograms = words(`config/settings.go daemon/account/google/google.go daemon/account/google/calendar.go daemon/api/client/logs.go daemon/logfile/writer.go
	daemon/store/outbox_quiet.go daemon/store/fires.go daemon/store/backup_schedule.go scheduler/spec/spec.go scheduler/phrase/moment.go scheduler/change.go scheduler/slots.go
	channels/irc/line.go cmd/hob/cron_next.go cmd/hob/version.go cmd/hob/importer/openclaw.go cmd/hob/importer/plan.go tools/runtime/changed.go tools/runtime/keys.go
	tools/anthropic/anthropic.go tools/calendar/list.go`)

// checkTimes keeps times in RFC 3339, and times of day in UTC, out of texts for people (N32): those have the owner's zone, by text.InZone.
func checkTimes(all []source) []string {
	var found []string
	for _, s := range shipped(all) {
		if slices.Contains(readByPrograms, s.path) {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || sel.Sel.Name != "Format" {
				return true
			}
			layout, named := call.Args[0].(*ast.SelectorExpr)
			literal, written := call.Args[0].(*ast.BasicLit)
			utc, called := sel.X.(*ast.CallExpr)
			if called {
				on, is := utc.Fun.(*ast.SelectorExpr)
				called = is && on.Sel.Name == "UTC"
			}
			if named && strings.HasPrefix(layout.Sel.Name, "RFC3339") || called && written && strings.Contains(literal.Value, "15:04") {
				found = append(found, s.at(call.Pos())+": a time for programs: people get it from text.InZone, in the owner's zone")
			}
			return true
		})
	}
	return found
}

// checkBackground keeps roots of contexts in main and in tests.
func checkBackground(all []source) []string {
	var found []string
	for _, s := range shipped(all) {
		if s.tree.Name.Name == "main" {
			continue
		}
		for _, sel := range s.uses("context", "Background", "TODO") {
			found = append(found, s.at(sel.Pos())+": context."+sel.Sel.Name+": take the caller's ctx")
		}
	}
	return found
}

// checkNames keeps packages that say nothing away, and verbs that say nothing.
func checkNames(all []source) []string {
	empty := words("util utils common types manager base interfaces adapters facade legacy helper helpers misc shared lib pkg internal")
	var found []string
	for _, s := range all {
		if name := strings.TrimSuffix(s.tree.Name.Name, "_test"); slices.Contains(empty, name) {
			found = append(found, s.path+": a package named "+name+" says nothing")
		}
		for _, d := range s.tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || s.test {
				continue
			}
			rest, ok := strings.CutPrefix(f.Name.Name, "Get")
			if next, _ := utf8.DecodeRuneInString(rest); ok && (rest == "" || unicode.IsUpper(next)) {
				found = append(found, s.at(f.Pos())+": "+f.Name.Name+": nouns look (Due, Recent), there is no Get")
			}
		}
	}
	return found
}

// checkErrors wants errors that say what was tried, without "failed to".
func checkErrors(all []source) []string {
	var found []string
	for _, s := range shipped(all) {
		imports := s.imports()
		ast.Inspect(s.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			pkg, ok := sel.X.(*ast.Ident)
			if !ok || imports[pkg.Name] != "errors" && imports[pkg.Name] != "fmt" {
				return true
			}
			if text := literal(call.Args[0]); strings.Contains(strings.ToLower(text), "failed to ") {
				found = append(found, s.at(call.Pos())+": \"failed to\" says nothing: \"open inbox: %w\"")
			}
			return true
		})
	}
	return found
}

func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return text
}

// checkTestPackages wants tests outside the package that they test; export_test.go may export a name to them, and nothing can import
// a main package.
func checkTestPackages(all []source) []string {
	var found []string
	for _, s := range all {
		if s.tree.Name.Name != "main" && strings.HasSuffix(s.path, "_test.go") && !strings.HasSuffix(s.tree.Name.Name, "_test") && !strings.HasSuffix(s.path, "/export_test.go") {
			found = append(found, s.path+": a test belongs to package "+s.tree.Name.Name+"_test")
		}
	}
	return found
}
