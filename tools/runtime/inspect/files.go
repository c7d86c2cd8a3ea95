package inspect

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of the words that Files looks at, and of the commands inside commands.
const (
	maxWords  = 1_000
	maxNested = 2
)

// Files lists what words of a command may name as files, absolute, each once, in their order: seen from the folder where it runs, and
// from where a cd leads. Most of them are not there. What stands behind the = of a word is one too. home and cwd are absolute.
func Files(command, home, cwd string) []string {
	f := &finder{start: cwd, scene: scene{home: home, cwd: cwd, vars: map[string]string{"HOME": home, "PWD": cwd}}}
	f.program(command, 0)
	return f.found
}

type finder struct {
	scene
	start string
	words int
	found []string
}

// program goes through a text; where it is no shell command, by its blanks.
func (f *finder) program(src string, depth int) {
	p := syntax.NewParser(syntax.Variant(syntax.LangBash))
	for stmt, err := range p.StmtsSeq(strings.NewReader(src)) {
		if err != nil {
			for word := range strings.FieldsSeq(src) {
				f.word(strings.Trim(word, `"'`), maxNested)
			}
			return
		}
		syntax.Walk(stmt, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				f.assign(n.Assigns)
				if argv := f.argv(n); len(argv) > 0 && argv[0] == "cd" {
					f.changeFolder(argv[1:])
				}
			case *syntax.Word:
				for _, w := range f.fields(n) {
					f.word(w, depth)
				}
			}
			return f.words <= maxWords
		})
	}
}

// word takes a word, and looks into one that may be a command itself, as sh -c has it.
func (f *finder) word(w string, depth int) {
	if f.words++; f.words > maxWords || w == "" || strings.Contains(w, unknown) {
		return
	}
	f.add(w)
	if _, value, ok := strings.Cut(w, "="); ok && value != "" {
		f.add(value)
	}
	if depth < maxNested && strings.ContainsAny(w, " \t\n;|&<>") {
		f.program(w, depth+1)
	}
}

func (f *finder) add(w string) {
	for _, from := range []string{f.start, f.cwd} {
		p := w
		if !path.IsAbs(p) {
			p = path.Join(from, p)
		}
		if p = path.Clean(p); !slices.Contains(f.found, p) && !strings.Contains(p, unknown) {
			f.found = append(f.found, p)
		}
	}
}
