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

// area classifies the result of walk. The order matters: state first, then sensitive, then the roots.
// So a root that contains the state folder does not open it, and a key in a writable root stays sensitive.
func (g *Guard) area(look lookup, w walked) (Area, error) {
	state, err := g.inState(look, w)
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
	if ownHome(g, look, root.Path, w) || g.sensitive(look, root.Path, w) || g.guest && isPrivate(g.space, w) {
		return Sensitive, nil
	}
	return area, nil
}

// ownHome reports whether a path is in hob's home, whose config may hold keys. It compares names, and the identity of every folder on the
// way.
//
// The workspace does not count, nor does a root that the owner opened inside hob's home. A root that contains hob's home does not open
// it. If hob's home is the owner's own home folder, or contains it, only hob's config counts.
func ownHome(g *Guard, look lookup, root string, w walked) bool {
	if root != "" && root != g.own && within(g.own, root) {
		return false
	}
	if g.home != "" && within(g.own, g.home) {
		return filepath.Dir(w.path) == g.own && strings.HasPrefix(fold(filepath.Base(w.path)), configName)
	}
	if within(g.own, w.path) {
		return true
	}
	own, err := look(g.own)
	if err != nil {
		return false
	}
	same := func(info fs.FileInfo) bool { return os.SameFile(info, own) }
	return slices.ContainsFunc(w.trail, same) || w.info != nil && same(w.info)
}

// configName is the prefix of the names of hob's config file, its drafts and its copies.
const configName = "config.toml"

// rootOf returns the innermost root or workspace that contains path. The zero Root means none.
// A root at the path of the workspace takes precedence over the workspace.
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

// inState reports whether a path is in the state folder. It compares names, and the identity of every folder on the way (bind mounts,
// other spellings). It also finds hard links to files of the state folder.
func (g *Guard) inState(look lookup, w walked) (bool, error) {
	if within(g.state, w.path) {
		return true, nil
	}
	state, err := look(g.state)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("stat the state folder: %w", err)
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

// stateFile reports whether info is a file of the state folder under another name. It opens nothing in that folder.
//
// A link count of one proves nothing: a link may be renamed away at the same moment. So the files directly in the folder, above all the
// database, are always compared. Its subfolders are searched only if the file has several names.
func (g *Guard) stateFile(info fs.FileInfo) (bool, error) {
	if !info.Mode().IsRegular() {
		return false, nil
	}
	if links(info) < 2 {
		return topFile(g.state, info)
	}
	// The file has several names, or their number is unknown: one of them may be anywhere in the state folder.
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
		return false, fmt.Errorf("search the state folder: %w", err)
	}
	return found, nil
}

// topFile reports whether info is a file directly in the state folder.
func topFile(state string, info fs.FileInfo) (bool, error) {
	entries, err := os.ReadDir(state)
	if err != nil {
		return false, fmt.Errorf("search the state folder: %w", err)
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
			return false, fmt.Errorf("stat a file of the state folder: %w", err)
		}
		if os.SameFile(info, other) {
			return true, nil
		}
	}
	return false, nil
}

// ownProcess reports whether a path is in hob's own entry of /proc: its memory, environment and open files.
// The path is resolved, so /proc/self has become the number of the process.
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
	_, err := os.Stat("/proc/self/task/" + number) // each thread of hob has an entry too, which no listing shows
	return err == nil
}
