// This file says what a command in the sandbox may have missed: the sandbox swallows much without an error.

package runtime

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/fsguard"
	"hob/daemon/sandbox"
	"hob/daemon/sys"
)

// unresolved matches what programs say about a name or an address that they cannot reach without a network.
var unresolved = sys.Regexp(`(?i)could not resolve|name resolution|name or service not known|getaddrinfo|EAI_AGAIN|network is unreachable|no such host|unable to resolve`)

// removes matches the parts of a command that delete files.
var removes = sys.Regexp(`\b(rm|rmdir|unlink|shred)\s[^;&|\n]*|\bfind\s[^;&|\n]*-delete`)

// remarks are notes for the result of a command in the sandbox.
func (e executor) remarks(at *site, output string) (notes []string) {
	if !at.sandboxed || at.sandbox.ScratchOnly {
		return nil
	}
	if unseen := e.unseen(at, at.command); unseen != "" {
		notes = append(notes, "this command cannot see "+unseen+", which is outside the workspace and the roots; outside = true asks the owner to run it without the sandbox")
	}
	if private := e.private(at); private != "" {
		notes = append(notes, "what a command writes to "+private+" is deleted when it ends; what is to be kept belongs in the workspace")
	}
	if !at.network && unresolved().MatchString(output) {
		notes = append(notes, "this command had no network; network = true asks the owner for it")
	}
	return notes
}

// kept returns a path that a command seems to have deleted although its sandbox does not show it, so that it is still there; "" if there is none.
func (e executor) kept(at *site) string {
	if !at.sandboxed || at.sandbox.ScratchOnly {
		return ""
	}
	return e.unseen(at, strings.Join(removes().FindAllString(at.command, -1), "\n"))
}

// named lists the paths that the text of a command, or of a part of it, names.
func (e executor) named(at *site, text string) []string {
	return fileNames(text, e.Guard.Home(), at.cwd, nil, nil).Files
}

// unseen returns the first path that a text names, that exists, and that the sandbox does not show; "" if there is none.
func (e executor) unseen(at *site, text string) string {
	for _, path := range e.named(at, text) {
		if _, err := os.Lstat(path); err == nil && !slices.Contains(sandbox.PrivateFolders(e.Guard.Home()), path) && !e.sees(at, path) {
			return path
		}
	}
	return ""
}

// sees reports whether the sandbox shows a path, or a part of what is below it. Keys and hob's own state count as seen: nothing leads to them.
func (e executor) sees(at *site, path string) bool {
	p, err := e.Guard.Resolve("", path)
	if err != nil || p.Area == fsguard.State || p.Area == fsguard.Sensitive || sandbox.ShowsSystem(path) || sandbox.ShowsSystem(p.Path) || at.shows(p.Path) {
		return true
	}
	return slices.ContainsFunc(slices.Concat(at.sandbox.Writable, at.sandbox.Readable, at.bound), func(dir string) bool { return below(p.Path, dir) })
}

// private returns the first private folder of the sandbox below which a command names a path, or which it names; "" if there is none.
func (e executor) private(at *site) string {
	for _, path := range e.named(at, at.command) {
		for _, dir := range sandbox.PrivateFolders(e.Guard.Home()) {
			if below(dir, path) && !at.shows(path) && filepath.Dir(path) != path {
				return dir
			}
		}
	}
	return ""
}
