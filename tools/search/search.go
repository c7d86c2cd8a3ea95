// Package search holds the tools that search files: grep (lines by a regular expression) and glob
// (files by a path pattern). They find what ripgrep and fd find.
//
// Both walk a tree with several workers (package walk). A filter leaves out ignored files, files
// with keys or credentials, and hob's own state. grep searches each file with a scanner, or a large
// file in parts; the collector keeps the results in path order and bounds their number. Before a
// result is shown, the path guard checks its file once more.
//
// The tools follow no links, open only regular files, and never decide about permission.
package search

import (
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strings"

	"hob/daemon/fsguard"
	"hob/daemon/text"
	"hob/tools"
)

// resolve resolves the path where a search starts. It refuses invalid and missing paths, and hob's
// own state.
func resolve(g *fsguard.Guard, call tools.Call, path string) (fsguard.Place, error) {
	p, err := g.Resolve(call.Workdir, path)
	switch {
	case err != nil:
	case p.Area == fsguard.State:
		err = fsguard.ErrState
	case !p.Exists():
		err = iofs.ErrNotExist
	}
	if err != nil {
		return p, tools.RefusePath(g, call, path, err)
	}
	return p, nil
}

// readIntent is the intent of a search: it reads below a path.
func readIntent(tool, pattern string, p fsguard.Place) (tools.Intent, error) {
	canonical, err := tools.Canonical(struct {
		Tool    string `json:"tool"`
		Pattern string `json:"pattern"`
		Path    string `json:"path"`
		ID      string `json:"path_id"`
	}{tool, pattern, p.Path, p.ID()})
	return tools.Intent{
		Effect: tools.Read, Scopes: []tools.Scope{tools.FSRead}, Paths: []tools.Path{tools.PathOf(p, false)},
		Summary: fmt.Sprintf("%s %s in %s", tool, tools.ShownPath(pattern), tools.ShownPath(p.Path)), Canonical: canonical, Keep: p,
	}, err
}

// intended returns the place from the intent. After a restart the intent has lost it; then the path
// is resolved again and must lead to the same place.
// Otherwise the search would begin at a place that the permission rules have not seen.
func intended(g *fsguard.Guard, call tools.Call, path string, intent tools.Intent) (fsguard.Place, error) {
	return tools.Intended(intent, path, func() (fsguard.Place, error) { return resolve(g, call, path) })
}

// naming formats the paths of results as read accepts them: relative to the working folder if they
// are below it.
type naming struct{ before string }

// namesFrom returns the naming for results below start.
func namesFrom(g *fsguard.Guard, call tools.Call, start string) (naming, error) {
	base := g.Workspace()
	if call.Workdir != "" {
		p, err := g.Resolve("", call.Workdir)
		if err != nil {
			return naming{}, tools.RefusePath(g, call, call.Workdir, err)
		}
		base = p.Path
	}
	rel, err := filepath.Rel(base, start)
	// A start outside the working folder gives absolute paths.
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return naming{filepath.ToSlash(start)}, nil
	case rel == ".":
		return naming{}, nil
	}
	return naming{filepath.ToSlash(rel)}, nil
}

// of returns the name of a path below the start; "" is the start itself.
func (n naming) of(below string) string {
	switch {
	case n.before == "":
		return below
	case below == "":
		return n.before
	case strings.HasSuffix(n.before, "/"):
		return n.before + below
	}
	return n.before + "/" + below
}

// count formats a number with its noun.
func count(n int, noun string) string { return text.Count(n, noun) }
