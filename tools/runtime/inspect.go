package runtime

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the inspection: the depth of commands inside commands (sh -c, eval), and the number of
// syntax nodes visited in all. They bound the time for any text.
const (
	maxInspect = 5
	maxVisits  = 300_000
)

// verdict holds what the text of a command shows before it runs.
type verdict struct {
	Warnings []string // constructs that are often mistakes
	Denied   string   // why it is refused in every mode; "": it is not
}

// inspectCommand reads the text of a shell command before it runs, as bash would. It finds the
// warnings that people should see, and the five mistakes that are refused in every mode. It is not a
// security boundary, because a program can do the same things out of sight. It never runs anything.
// home and cwd are absolute.
func inspectCommand(command, home, cwd string) verdict {
	x := &inspector{state: shellState{home: home, cwd: cwd, vars: map[string]string{"HOME": home, "PWD": cwd}}}
	x.program(command, 0)
	return x.verdict
}

// warn adds a warning once.
func (v *verdict) warn(text string) {
	if !slices.Contains(v.Warnings, text) {
		v.Warnings = append(v.Warnings, text)
	}
}

// deny records the first reason to refuse the command.
func (v *verdict) deny(text string) {
	v.Denied = cmp.Or(v.Denied, text+" is refused in every mode")
}

// inspector walks through a command in the order in which bash would run it.
type inspector struct {
	verdict verdict
	state   shellState
	depth   int
	visits  int
}

// walk visits a syntax tree until the limit is reached.
func (x *inspector) walk(n syntax.Node, f func(syntax.Node) bool) {
	syntax.Walk(n, func(n syntax.Node) bool {
		if x.visits++; x.visits > maxVisits {
			x.verdict.warn("too long to be looked through")
			return false
		}
		return f(n)
	})
}

// program examines a script as bash would run it, statement by statement. The part before a syntax
// error counts in full; the part after it is examined line by line.
func (x *inspector) program(src string, depth int) {
	if depth > maxInspect {
		return
	}
	was := x.depth
	x.depth = depth
	defer func() { x.depth = was }()
	if x.statements(src) {
		return
	}
	x.verdict.warn("not all of it could be read as a shell command")
	for line := range strings.SplitSeq(src, "\n") {
		x.statements(line)
	}
}

// statements examines a text until the first syntax error, and reports whether there was none.
func (x *inspector) statements(src string) (clean bool) {
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	clean = true
	for stmt, err := range p.StmtsSeq(strings.NewReader(src)) {
		switch {
		case err != nil:
			clean = false // no return here: the parser may yield the error again, and panics if the loop has ended
		case clean:
			x.walk(stmt, x.visit)
		}
	}
	return clean
}

// visit examines one node. It returns false if walk must not descend into it.
func (x *inspector) visit(node syntax.Node) bool {
	switch n := node.(type) {
	case *syntax.Stmt:
		x.redirects(n)
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			x.pipe(n)
		}
	case *syntax.FuncDecl:
		if n.Name != nil && x.bomb(n) {
			x.verdict.deny("a fork bomb")
		}
	case *syntax.WordIter:
		x.state.vars[n.Name.Value] = unknown
	case *syntax.DeclClause:
		x.state.assign(n.Args)
	case *syntax.CallExpr:
		x.call(n)
	case *syntax.Subshell:
		return x.scoped(n.Stmts)
	case *syntax.CmdSubst:
		return x.scoped(n.Stmts)
	}
	return true
}

// scoped examines statements in a subshell: their variables and folder do not affect the rest. It
// returns false because walk need not visit them again.
func (x *inspector) scoped(list []*syntax.Stmt) bool {
	outside := x.state
	x.state.vars = maps.Clone(x.state.vars)
	for _, s := range list {
		x.walk(s, x.visit)
	}
	x.state = outside
	return false
}

// call examines a simple command.
func (x *inspector) call(c *syntax.CallExpr) {
	x.state.assign(c.Assigns)
	argv := x.state.argv(c)
	if len(argv) == 0 {
		return
	}
	name := path.Base(argv[0])
	if (isShell(name) || name == "eval" || name == "source" || name == ".") && x.fetches(c) {
		x.verdict.warn("runs what it downloads (curl | sh)")
	}
	x.command(argv)
}

// command judges a command line. It looks through programs that start another one, such as sudo.
func (x *inspector) command(argv []string) {
	name := path.Base(argv[0])
	switch name {
	case "sudo", "doas", "su", "pkexec", "run0":
		x.verdict.warn("runs with the rights of another user (" + name + ")")
	case "eval":
		x.verdict.warn("runs text as a command (eval)")
		x.program(strings.Join(argv[1:], " "), x.depth+1)
		return
	case "cd", "pushd":
		x.state.changeFolder(argv[1:])
		return
	case "read", "mapfile", "readarray":
		for _, v := range argv[1:] {
			x.state.vars[v] = unknown
		}
		return
	}
	if isShell(name) || name == "su" {
		x.shell(argv[1:])
	}
	if starter(name) {
		if inner := slices.IndexFunc(argv[1:], func(a string) bool { return judged(path.Base(a)) }); inner >= 0 {
			x.command(argv[1+inner:])
		}
		return
	}
	x.judge(name, argv[1:])
}

// shell examines the text after -c.
func (x *inspector) shell(args []string) {
	for i, a := range args {
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "c") && i+1 < len(args) {
			x.program(args[i+1], x.depth+1)
			return
		}
	}
}

// pipe examines a | b for downloads and texts that go straight into a shell.
func (x *inspector) pipe(b *syntax.BinaryCmd) {
	right, ok := b.Y.Cmd.(*syntax.CallExpr)
	if !ok {
		return
	}
	argv := x.state.argv(right)
	for len(argv) > 1 && (starter(path.Base(argv[0])) || strings.HasPrefix(argv[0], "-") || strings.Contains(argv[0], "=")) {
		argv = argv[1:]
	}
	if len(argv) == 0 || !isInterpreter(path.Base(argv[0])) {
		return
	}
	if x.fetches(b.X) {
		x.verdict.warn("runs what it downloads (curl | sh)")
		return
	}
	if !isShell(path.Base(argv[0])) || slices.Contains(argv, "-c") {
		return
	}
	x.verdict.warn("pipes text into a shell")
	if left, ok := lastCall(b.X); ok {
		x.echoed(left)
	}
}

// echoed examines the text that echo or printf sends into a shell.
func (x *inspector) echoed(c *syntax.CallExpr) {
	argv := x.state.argv(c)
	if len(argv) > 1 && (argv[0] == "echo" || argv[0] == "printf") {
		x.program(strings.ReplaceAll(strings.Join(argv[1:], " "), `\n`, "\n"), x.depth+1)
	}
}

// lastCall returns the last command of a pipe.
func lastCall(s *syntax.Stmt) (*syntax.CallExpr, bool) {
	if b, ok := s.Cmd.(*syntax.BinaryCmd); ok {
		return lastCall(b.Y)
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	return c, ok
}

// redirects examines the targets of output, and the here-documents that feed a shell.
func (x *inspector) redirects(s *syntax.Stmt) {
	for _, r := range s.Redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut:
			x.raw(x.state.text(r.Word))
		case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			if c, ok := s.Cmd.(*syntax.CallExpr); ok && len(c.Args) > 0 && isShell(path.Base(x.state.text(c.Args[0]))) {
				x.fed(r)
			}
		}
	}
}

// fed examines the text of a here-document or here-string.
func (x *inspector) fed(r *syntax.Redirect) {
	text := x.state.text(r.Hdoc)
	if r.Op == syntax.WordHdoc {
		text = x.state.text(r.Word)
	}
	x.program(text, x.depth+1)
}

// fetches reports whether a node contains a download.
func (x *inspector) fetches(n syntax.Node) bool {
	found := false
	x.walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			name := path.Base(c.Args[0].Lit())
			found = found || name == "curl" || name == "wget" || name == "fetch"
		}
		return !found
	})
	return found
}

// bomb reports whether a function starts itself more than once, in a pipe or in the background:
// ":(){ :|:& };:".
func (x *inspector) bomb(f *syntax.FuncDecl) bool {
	calls := func(n syntax.Node) int {
		count := 0
		x.walk(n, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == f.Name.Value {
				count++
			}
			return true
		})
		return count
	}
	found := false
	background := 0
	x.walk(f.Body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			pipe := n.Op == syntax.Pipe || n.Op == syntax.PipeAll
			found = found || pipe && calls(n.X) > 0 && calls(n.Y) > 0
		case *syntax.Stmt:
			if n.Background {
				background += calls(n)
			}
		}
		return !found
	})
	return found || background > 0 && calls(f.Body) > 1
}
