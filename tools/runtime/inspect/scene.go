package inspect

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// scene is what a command finds where it runs, as far as that can be known: it gives words and paths their meaning.
type scene struct {
	home, cwd string
	vars      map[string]string // set by the command so far; a value may hold unknown
}

// assign keeps what a command sets.
func (c *scene) assign(list []*syntax.Assign) {
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
func (c *scene) changeFolder(args []string) {
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

// precious says whether removing a path removes the root folder or the home: it is one of them, a folder
// above the home, or everything inside ("~/*").
func (c *scene) precious(p string) bool {
	if p == "" || strings.Contains(p, unknown) {
		return false
	}
	dir, _ := c.folderOf(p)
	return dir == "/" || c.home != "" && (dir == c.home || strings.HasPrefix(c.home, dir+"/"))
}

// folderOf is a path without a last component that stands for everything in it, and whether there was one.
func (c *scene) folderOf(p string) (dir string, all bool) {
	if slices.Contains([]string{"*", ".*", "**", "{*,.*}", ".[!.]*", "?*"}, path.Base(p)) {
		return c.absolute(strings.TrimSuffix(p, path.Base(p))), true
	}
	return c.absolute(p), false
}

// absolute cleans a path as seen from the folder that the command is in.
func (c *scene) absolute(p string) string {
	if p == "" {
		return c.cwd
	}
	if !path.IsAbs(p) {
		p = c.cwd + "/" + p
	}
	return path.Clean(p)
}
