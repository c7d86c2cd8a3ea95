// Package fs holds the tools that read and write whole files: read, write and ls.
//
// The intent resolves the path through the path guard, and the run opens exactly that place. read
// detects the format of a file: it shows text with line numbers, and hands PDF, Word, notebooks and
// pictures to package document, which decodes them in a separate process. Seen remembers what a
// session last read, so that write does not overwrite changes that the session has not seen.
//
// The tools never decide about permission, and follow no link that the path guard did not follow.
package fs

import (
	"hob/daemon/fsguard"
	"hob/daemon/text"
	"hob/tools"
)

// resolve resolves the path of a call. It refuses invalid paths and hob's own state.
func resolve(g *fsguard.Guard, call tools.Call, path string) (fsguard.Place, error) {
	p, err := g.Resolve(call.Workdir, path)
	if err != nil {
		return p, tools.RefusePath(g, call, path, err)
	}
	return p, nil
}

// intended returns the place from the intent. After a restart the intent has lost it; then the path
// is resolved again and must lead to the same place.
func intended(g *fsguard.Guard, call tools.Call, path string, intent tools.Intent) (fsguard.Place, error) {
	return tools.Intended(intent, path, func() (fsguard.Place, error) { return resolve(g, call, path) })
}

// touched describes one access for the intent.
func touched(p fsguard.Place, write bool) tools.Path { return tools.PathOf(p, write) }

// count formats a number with its noun.
func count(n int, noun string) string { return text.Count(n, noun) }

// sized formats a number of bytes for people.
func sized(n int64) string { return text.Size(n) }
