package runtime

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// shellState is the state of the shell at one point of a command, as far as it can be known. It gives
// words and paths their meaning.
type shellState struct {
	home, cwd string
	vars      map[string]string // set by the command so far; a value may hold unknown
}

// assign stores the variables that the command sets.
func (c *shellState) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name == nil || a.Naked {
			continue
		}
		value := c.text(a.Value)
		if a.Append || a.Array != nil || a.Index != nil {
			value = unknown
		}
		c.vars[a.Name.Value] = value
	}
}

// changeFolder follows a cd.
func (c *shellState) changeFolder(args []string) {
	to := c.home
	for _, a := range args {
		if a == "-" {
			to = "/" + unknown
		} else if !strings.HasPrefix(a, "-") {
			to = a
		}
	}
	c.cwd = c.absolute(to)
	c.vars["PWD"] = c.cwd
}

// precious reports whether removing a path would remove the root folder or the home: the path is
// one of them, a folder above the home, or everything inside ("~/*").
func (c *shellState) precious(p string) bool {
	if p == "" || strings.Contains(p, unknown) {
		return false
	}
	dir, _ := c.folderOf(p)
	return dir == "/" || c.home != "" && (dir == c.home || strings.HasPrefix(c.home, dir+"/"))
}

// folderOf strips a last component that matches everything in a folder, and reports whether there
// was one.
func (c *shellState) folderOf(p string) (dir string, all bool) {
	if slices.Contains([]string{"*", ".*", "**", "{*,.*}", ".[!.]*", "?*"}, path.Base(p)) {
		return c.absolute(strings.TrimSuffix(p, path.Base(p))), true
	}
	return c.absolute(p), false
}

// absolute cleans a path, relative to the current folder of the command.
func (c *shellState) absolute(p string) string {
	if p == "" {
		return c.cwd
	}
	if !path.IsAbs(p) {
		p = c.cwd + "/" + p
	}
	return path.Clean(p)
}
