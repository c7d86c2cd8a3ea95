package walk

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// ReadRules reads a small file of rules or of git's. For a missing file it returns fs.ErrNotExist.
type ReadRules func(path string) ([]byte, error)

// RuleFiles is a set of the relevant files that a folder contains.
// A walk finds them in the folder's list of names, so that no file is opened in vain.
type RuleFiles uint8

// The files.
const (
	Repository RuleFiles = 1 << iota // .git
	GitRules                         // .gitignore
	DotRules                         // .ignore
	GrepRules                        // .rgignore
	everything = Repository | GitRules | DotRules | GrepRules
)

// RuleFile returns the meaning of a file name; 0: none.
func RuleFile(name string) RuleFiles {
	switch name {
	case ".git":
		return Repository
	case ".gitignore":
		return GitRules
	case ".ignore":
		return DotRules
	case ".rgignore":
		return GrepRules
	}
	return 0
}

// Rules holds the rules of a folder and points to those of the folders above. nil means no rules. A Rules value never changes.
//
// Paths in a rule file are relative to dir. Many workers of a walk share one value.
type Rules struct {
	above   *Rules
	dir     string // absolute
	git     rules
	dot     rules
	grep    rules
	exclude rules // of the repository with the root dir
	global  rules // the owner's, for that repository
	repo    bool
}

// RulesReader reads the rules of folders.
//
// The rules decide which files of a tree to skip: those of .gitignore, .git/info/exclude and git's global excludes, as git reads
// them, and those of .ignore and .rgignore, as ripgrep does. They look at names only. A caller that walks a tree keeps the Rules
// of each folder: Above for the start, Enter for each folder, Verdict for each name.
type RulesReader struct {
	Read ReadRules
	Home string // the owner's home folder, for git's global excludes; "": none
}

// Above returns the rules of the folders above start: up to the root of its repository, or, outside of a repository, up to the folder
// limit. If a file cannot be read, it returns an error together with the other rules.
func (r RulesReader) Above(start, limit string) (*Rules, error) {
	// Collect the folders above, up to the root of the repository.
	var dirs []string
	repo := r.isRepository(start)
	for dir := start; !repo; {
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dirs, dir = append(dirs, up), up
		repo = r.isRepository(dir)
	}
	var node *Rules
	var errs []error
	// Read from the outside in, because the rules of each folder point to those above. Nobody has listed these folders: look for all files.
	for i := len(dirs) - 1; i >= 0; i-- {
		if !repo && !within(limit, dirs[i]) {
			continue
		}
		below, err := r.Enter(node, dirs[i], everything)
		node, errs = below, append(errs, err)
	}
	return node, errors.Join(errs...)
}

// within reports whether path is dir or below it; an empty dir contains nothing.
func within(dir, path string) bool {
	return dir != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
}

// isRepository reports whether a folder is the root of a repository, that is, contains .git.
func (r RulesReader) isRepository(dir string) bool {
	// In a linked work tree or a submodule, .git is a file that names the real folder (gitrepository-layout(5)).
	_, err := r.Read(filepath.Join(dir, ".git", "HEAD"))
	if err == nil {
		return true
	}
	_, err = r.Read(filepath.Join(dir, ".git"))
	return err == nil
}

// Enter returns the rules inside a folder: those above and its own. found says which files to read; a file that is missing after all has
// no rules.
//
// If a file cannot be read, the error comes together with the rules of the other files.
func (r RulesReader) Enter(above *Rules, dir string, found RuleFiles) (*Rules, error) {
	if found == 0 {
		return above, nil
	}
	n := &Rules{above: above, dir: dir}
	var errs []error
	read := func(want RuleFiles, name string) rules {
		if found&want == 0 {
			return nil
		}
		list, err := r.rules(filepath.Join(dir, name))
		errs = append(errs, err)
		return list
	}
	n.git, n.dot, n.grep = read(GitRules, ".gitignore"), read(DotRules, ".ignore"), read(GrepRules, ".rgignore")
	// A caller that asks for everything has not listed the folder, so the repository must be looked for.
	if found&Repository != 0 && (found != everything || r.isRepository(dir)) {
		n.repo = true
		var err error
		n.exclude, err = r.rules(filepath.Join(r.common(dir), "info", "exclude"))
		errs = append(errs, err)
		n.global, err = r.globals(above)
		errs = append(errs, err)
	}
	// A folder without rules shares the value of its parent, which keeps Verdict short in deep trees.
	if !n.repo && len(n.git)+len(n.dot)+len(n.grep) == 0 {
		n = above
	}
	return n, errors.Join(errs...)
}

// rules reads and parses one rule file. A missing file has no rules.
func (r RulesReader) rules(path string) (rules, error) {
	raw, err := r.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(raw), nil
}

// common returns the folder that all work trees of a repository share (gitrepository-layout(5)).
func (r RulesReader) common(root string) string {
	dir := filepath.Join(root, ".git")
	raw, err := r.Read(dir)
	if err != nil { // usually a folder
		return dir
	}
	link, ok := strings.CutPrefix(strings.TrimSpace(string(raw)), "gitdir:")
	if !ok {
		return dir
	}
	dir = under(root, strings.TrimSpace(link))
	if raw, err = r.Read(filepath.Join(dir, "commondir")); err == nil {
		dir = under(dir, strings.TrimSpace(string(raw)))
	}
	return dir
}

// under resolves a path that is relative to dir, unless it is absolute.
func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Verdict decides about a name in a folder, as git and ripgrep do. The nearest file with a matching rule decides. .rgignore comes before
// .ignore, .gitignore, the repository's excludes and the owner's excludes. git's files apply only inside their repository.
//
// It looks at one name only. A file in an ignored folder is ignored too (gitignore(5)): the caller must not enter such a folder.
func (n *Rules) Verdict(dir, name string, folder bool) Verdict {
	if n == nil {
		return NoRule
	}
	// One verdict for each kind of file, in the order of precedence. The loop goes outwards, so the first match of a kind is the nearest.
	var found [5]Verdict
	inside := true
	for ; n != nil; n = n.above {
		// Rules see the path below the folder of their file.
		path := name
		if len(dir) > len(n.dir) {
			path = strings.TrimPrefix(dir[len(n.dir):], "/") + "/" + name
		}
		ask := func(i int, l rules) {
			if found[i] == NoRule && len(l) > 0 {
				found[i] = l.verdict(path, name, folder)
			}
		}
		ask(0, n.grep)
		ask(1, n.dot)
		if inside {
			ask(2, n.git)
			ask(3, n.exclude)
			ask(4, n.global)
		}
		// Above the root of the repository, git's files no longer apply; the others do.
		inside = inside && !n.repo
	}
	for _, v := range found {
		if v != NoRule {
			return v
		}
	}
	return NoRule
}
