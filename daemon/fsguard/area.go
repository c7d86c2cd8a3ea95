package fsguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// area judges what walk found. The order matters: state before sensitive before the roots.
func (g *Guard) area(w walked) (Area, error) {
	state, err := g.inState(w)
	if err != nil {
		return "", err
	}
	if state || ownProcess(w.path) {
		return State, nil
	}
	root, area := g.rootOf(w.path)
	if root.Path == g.space && within(filepath.Join(g.space, ScratchFolder), w.path) {
		area = Scratch
	}
	if ownHome(g, root.Path, w) || g.sensitive(root.Path, w) || g.guest && isPrivate(g.space, w) {
		return Sensitive, nil
	}
	return area, nil
}

// ownHome says whether a path lies in hob's home, whose configuration may hold keys, by its name or by the identity of a folder on the way. The
// workspace does not count, nor does a root that the owner opened inside the home; a root around the home does not open it. Where the home is
// the owner's own home folder, or lies around it, only hob's configuration counts.
func ownHome(g *Guard, root string, w walked) bool {
	if root != "" && root != g.own && within(g.own, root) {
		return false
	}
	if g.home != "" && within(g.own, g.home) {
		return filepath.Dir(w.path) == g.own && strings.HasPrefix(fold(filepath.Base(w.path)), configName)
	}
	if within(g.own, w.path) {
		return true
	}
	own, err := os.Lstat(g.own)
	if err != nil {
		return false
	}
	same := func(info fs.FileInfo) bool { return os.SameFile(info, own) }
	return slices.ContainsFunc(w.trail, same) || w.info != nil && same(w.info)
}

// configName begins the names of hob's configuration file, of its drafts and of its copies.
const configName = "config.toml"

// rootOf finds the innermost of the workspace and the roots that holds path; the zero Root is none of them.
func (g *Guard) rootOf(path string) (root Root, area Area) {
	area = Outside
	if within(g.space, path) {
		root, area = Root{Path: g.space, Write: true}, Workspace
	}
	for _, r := range g.roots {
		if !within(r.Path, path) || len(r.Path) < len(root.Path) {
			continue
		}
		root, area = r, RootRO
		if r.Write {
			area = RootRW
		}
	}
	return root, area
}

// inState says whether a path lies in the state folder, by name or by the identity of any folder on the
// way (bind mounts, other spellings), or is a hard link to a file in it.
func (g *Guard) inState(w walked) (bool, error) {
	if within(g.state, w.path) {
		return true, nil
	}
	state, err := os.Lstat(g.state)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the state folder: %w", err)
	}
	for _, info := range w.trail {
		if os.SameFile(info, state) {
			return true, nil
		}
	}
	if w.info == nil {
		return false, nil
	}
	if os.SameFile(w.info, state) {
		return true, nil
	}
	return g.stateFile(w.info)
}

// stateFile says whether info is a file of the state folder under another name; nothing in the folder is opened. How many names a
// file has is no proof: a link that is renamed away at the same moment leaves one. So what lies in the folder itself, the database
// above all, is always compared; the folders in it are looked through for files with several names.
func (g *Guard) stateFile(info fs.FileInfo) (bool, error) {
	if !info.Mode().IsRegular() {
		return false, nil
	}
	if links(info) < 2 {
		return topFile(g.state, info)
	}
	found := false
	err := filepath.WalkDir(g.state, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return nil
		}
		other, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && os.SameFile(info, other) {
			found = true
			return fs.SkipAll
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look through the state folder: %w", err)
	}
	return found, nil
}

// topFile says whether info is a file that lies in the state folder itself.
func topFile(state string, info fs.FileInfo) (bool, error) {
	entries, err := os.ReadDir(state)
	if err != nil {
		return false, fmt.Errorf("look through the state folder: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		other, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("look at the state folder: %w", err)
		}
		if os.SameFile(info, other) {
			return true, nil
		}
	}
	return false, nil
}

// ownProcess is hob's own entry in /proc: its memory, its environment, its open files.
func ownProcess(path string) bool {
	rest, ok := strings.CutPrefix(path, "/proc/")
	if !ok {
		return false
	}
	number, _, _ := strings.Cut(rest, "/")
	if _, err := strconv.Atoi(number); err != nil {
		return false
	}
	if number == strconv.Itoa(os.Getpid()) {
		return true
	}
	_, err := os.Stat("/proc/self/task/" + number) // a thread of hob's has an entry of its own that no list shows
	return err == nil
}
