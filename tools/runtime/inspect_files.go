package runtime

import (
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Limits of fileNames: words examined, and levels of commands inside commands.
const (
	maxWords  = 1_000
	maxNested = 4
)

// namedFiles holds the files that a command may read or start, as far as its words show. All paths are
// absolute. Most of them do not exist.
type namedFiles struct {
	Files    []string // named by a word, or found through PATH; each once, in order
	Patterns []string // paths with *, ? or [
	Wild     []string // patterns that path.Match does not support
	Programs []string // the programs known to defaultFiles that occur anywhere in the command
	Unknown  bool     // a word depends on something that only the shell knows
	Cut      bool     // a limit was reached: the rest was not examined
}

// fileNames finds the files that an approval of a command should cover. It examines the words of the
// command. Relative paths start from the working folder and from the
// target of each cd. The text after a = in a word also counts as a word, and so does the value of
// each variable in set, which the call sets. env is the command's environment as NAME=VALUE. home
// and cwd are absolute.
func fileNames(command, home, cwd string, env []string, set map[string]string) namedFiles {
	f := &finder{start: cwd, shellState: shellState{home: home, cwd: cwd, vars: map[string]string{}}, seen: map[string]bool{}}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		f.vars[name] = value
	}
	// A command may refer to both, whatever its environment says.
	f.vars["HOME"], f.vars["PWD"] = home, cwd
	f.program(command, 0)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		f.word(set[name], 0)
		for value := range strings.SplitSeq(set[name], ":") {
			f.add(value)
		}
	}
	return f.namedFiles
}

// finder walks through a command and collects the names.
type finder struct {
	namedFiles
	shellState
	start string
	words int
	seen  map[string]bool
}

// program examines a script. A text that does not parse as a shell script is split at its blanks.
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
			case *syntax.WordIter:
				f.vars[n.Name.Value] = unknown
			case *syntax.CallExpr:
				f.assign(n.Assigns)
				if argv := f.argv(n); len(argv) > 0 && argv[0] == "cd" {
					f.changeFolder(argv[1:])
				}
			case *syntax.DeclClause:
				f.assign(n.Args)
			case *syntax.Word:
				for _, w := range f.fields(n) {
					f.word(w, depth)
				}
			}
			return f.words <= maxWords
		})
	}
}

// word examines one word, and looks inside if the word may be a command itself, as for sh -c.
func (f *finder) word(w string, depth int) {
	if f.words++; f.words > maxWords {
		f.Cut = true
		return
	}
	if strings.Contains(w, unknown) {
		f.Unknown = true
		return
	}
	if w == "" {
		return
	}
	f.add(w)
	if _, value, ok := strings.Cut(w, "="); ok && value != "" {
		f.add(value)
	}
	if base := path.Base(w); defaultFiles(base) != nil && !slices.Contains(f.Programs, base) {
		f.Programs = append(f.Programs, base)
	}
	if !strings.ContainsAny(w, " \t\n;|&<>") {
		return
	}
	if depth >= maxNested {
		f.Cut = true
		return
	}
	f.program(w, depth+1)
}

// add records a word as a path, from both folders and, if it has no slash, from those in PATH.
func (f *finder) add(w string) {
	if path.IsAbs(w) {
		f.keep(path.Clean(w))
		return
	}
	dirs := []string{f.start, f.cwd}
	if !strings.ContainsAny(w, "/*?[") {
		dirs = append(dirs, f.searched()...)
	}
	for _, from := range dirs {
		if p := path.Join(from, w); !strings.Contains(p, unknown) {
			f.keep(p)
		}
	}
}

// keep records a path once, as a file, a pattern, or a pattern that path.Match does not support.
func (f *finder) keep(p string) {
	if f.seen[p] {
		return
	}
	f.seen[p] = true
	switch {
	case !strings.ContainsAny(p, "*?["):
		f.Files = append(f.Files, p)
	case strings.Contains(p, "**") || strings.Contains(p, "[:") || strings.Contains(p, "[.") || strings.Contains(p, "[="):
		f.Wild = append(f.Wild, p)
	default:
		f.Patterns = append(f.Patterns, p)
	}
}

// searched returns the folders in PATH except those of the system, where a command without
// privileges cannot put programs.
func (f *finder) searched() []string {
	var list []string
	for dir := range strings.SplitSeq(f.vars["PATH"], ":") {
		switch {
		case strings.Contains(dir, unknown):
			f.Unknown = true
		case !ofSystem(dir):
			list = append(list, f.absolute(dir))
		}
	}
	return list
}

// ofSystem reports whether a folder belongs to the operating system.
func ofSystem(dir string) bool {
	return slices.ContainsFunc([]string{"/usr/", "/bin/", "/sbin/", "/nix/store/", "/System/", "/Library/"}, func(top string) bool {
		return strings.HasPrefix(path.Clean(dir)+"/", top)
	})
}

// defaultFiles returns the files that a program reads although its command does not name them, as
// patterns in the working folder or one above. It returns nil for programs that are not in this
// list.
func defaultFiles(program string) []string {
	switch program {
	case "make", "gmake", "bmake":
		return []string{"GNUmakefile", "BSDmakefile", "makefile", "Makefile"}
	case "npm", "npx", "yarn", "pnpm", "pnpx", "bun", "bunx", "node", "deno":
		return []string{"package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", "deno.json"}
	case "git":
		return []string{".git/config", ".git/hooks/*[!e]", ".git/hooks/*[!l]e", ".gitattributes", ".gitmodules"}
	case "cargo":
		return []string{"Cargo.toml", "build.rs", ".cargo/config", ".cargo/config.toml"}
	case "go":
		return []string{"go.mod", "go.work"}
	case "docker", "podman", "docker-compose":
		return []string{"Dockerfile", "Containerfile", "compose.y*ml", "docker-compose.y*ml"}
	case "cmake", "ctest", "cpack":
		return []string{"CMakeLists.txt", "CMakePresets.json"}
	case "gradle", "gradlew", "mvn", "mvnw", "ant":
		return []string{"build.gradle*", "settings.gradle*", "pom.xml", "build.xml"}
	case "rake", "bundle", "bundler":
		return []string{"[Rr]akefile", "Rakefile.rb", "Gemfile"}
	case "pytest", "tox", "nox", "pip", "pip3", "poetry", "uv":
		return []string{"conftest.py", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "pytest.ini", "noxfile.py"}
	case "composer", "just", "ninja", "meson", "vagrant", "direnv", "task", "pre-commit":
		return []string{"composer.json", "[Jj]ustfile", ".justfile", "build.ninja", "meson.build", "Vagrantfile", ".envrc", "Taskfile.y*ml", ".pre-commit-config.yaml"}
	}
	return nil
}
