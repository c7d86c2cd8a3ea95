package fsguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/daemon/sys"
)

// Folders of the workspace that hold what is not the owner's own.
const (
	ScratchFolder    = ".scratch"    // what tainted turns write, a folder for each session
	AttachmentFolder = "attachments" // what came with messages
)

// Foreign says why the content of a path that was judged to lie in an area is somebody else's text: it came with a message, a
// tainted turn wrote it, or it lies where the owner did not say that hob may work. "" when it is the owner's.
func (g *Guard) Foreign(path string, area Area) string {
	switch {
	case area == State:
		return ""
	case inForeign(filepath.Join(g.space, AttachmentFolder), path):
		return "attachment"
	case area == Scratch, inForeign(filepath.Join(g.space, ScratchFolder), path):
		return "scratch"
	}
	if g.marks != nil {
		if why := g.marks(path); why != "" {
			return why
		}
	}
	switch root, _ := g.rootOf(path); {
	case root.Foreign:
		return "in the foreign root " + root.Path
	case root.Path == "":
		return "outside the roots"
	}
	return ""
}

// inForeign says whether a path lies in a foreign folder. Where a link has the folder's name, what the link leads to counts as foreign too.
func inForeign(dir, path string) bool {
	if path != dir && within(dir, path) {
		return true
	}
	if info, err := os.Lstat(dir); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	target, err := resolved(dir)
	return err == nil && within(target, path)
}

// ForeignFolders are the folders of a workspace with somebody else's text in them.
func ForeignFolders(workspace string) []string {
	return []string{filepath.Join(workspace, AttachmentFolder), filepath.Join(workspace, ScratchFolder)}
}

// RealFolder returns ErrFolder when a link, or anything but a folder, has the place of a foreign folder: what hob writes there would not
// count as foreign. A folder that is missing is fine.
func RealFolder(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		err = ErrFolder
	}
	return fmt.Errorf("%s: %w", dir, err)
}

// Workspace is the workspace's folder, resolved.
func (g *Guard) Workspace() string { return g.space }

// Roots are the configured roots, resolved, in the order of the config.
func (g *Guard) Roots() []Root { return append([]Root(nil), g.roots...) }

// ScratchOf is the folder, in a workspace, for what a session writes after it has read something foreign.
func ScratchOf(workspace, session string) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, session)
	if name != session || len(name) > 64 {
		name = name[:min(len(name), 40)] + "-" + sys.Digest(session)
	}
	return filepath.Join(workspace, ScratchFolder, name)
}
