package fsguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/sys"
)

// Folders of the workspace whose content is foreign: it did not come from the owner.
const (
	ScratchFolder    = ".scratch"    // files that tainted turns write, in one folder per session
	AttachmentFolder = "attachments" // files that came with messages
)

// ForeignMemory is the memory file for what comes from others, in the workspace. It is foreign by its name, even when its mark is lost.
const ForeignMemory = "memory/foreign.md"

// Foreign says why the content of a path in an area counts as foreign text: it came with a message, a tainted turn wrote it, or it is
// outside of the folders that the owner opened. "" means that it is the owner's own.
//
// The order matters: foreign folders and ForeignMemory count by their place alone, then come the marks, and the roots last.
func (g *Guard) Foreign(path string, area Area) string { return foreign(g, os.Lstat, path, area) }

func foreign(g *Guard, look lookup, path string, area Area) string {
	switch {
	case area == State:
		return ""
	case inForeign(look, filepath.Join(g.space, AttachmentFolder), path):
		return "attachment"
	case area == Scratch, inForeign(look, filepath.Join(g.space, ScratchFolder), path):
		return "scratch"
	case isForeignMemory(g.space, path):
		return "remembered from others"
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

// inForeign reports whether a path is in a foreign folder. If the folder's name is a symbolic link, its target counts too.
func inForeign(look lookup, dir, path string) bool {
	if path != dir && within(dir, path) {
		return true
	}
	if info, err := look(dir); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return false
	}
	target, err := resolved(dir)
	return err == nil && within(target, path)
}

// ForeignFolders lists the folders of a workspace that hold foreign text.
func ForeignFolders(workspace string) []string {
	return []string{filepath.Join(workspace, AttachmentFolder), filepath.Join(workspace, ScratchFolder)}
}

// isForeignMemory ignores case, because some file systems do.
func isForeignMemory(workspace, path string) bool {
	return strings.EqualFold(path, filepath.Join(workspace, filepath.FromSlash(ForeignMemory)))
}

// ForeignMemories lists the paths of a workspace that are ForeignMemory in any case. Not all of them need to exist.
func ForeignMemories(workspace string) (list []string) {
	folder, name := path.Split(ForeignMemory)
	for _, dir := range inAnyCase(workspace, path.Clean(folder)) {
		list = append(list, inAnyCase(dir, name)...)
	}
	return list
}

// inAnyCase lists the entries of a folder with a name. If the folder cannot be listed, the name may still be there.
func inAnyCase(dir, name string) (list []string) {
	f, err := os.Open(dir) // #nosec G304 -- the workspace, or its folder of memory files
	if err != nil {
		return []string{filepath.Join(dir, name)}
	}
	names, err := f.Readdirnames(-1) // unsorted: the workspace may be large
	if err = errors.Join(err, f.Close()); err != nil {
		names = append(names, name)
	}
	for _, n := range names {
		if strings.EqualFold(n, name) {
			list = append(list, filepath.Join(dir, n))
		}
	}
	return list
}

// RealFolder returns ErrFolder if a foreign folder's name is taken by a link or another kind of file: what hob writes there would not
// count as foreign. A missing folder is fine.
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

// Workspace returns the path of the workspace, resolved.
func (g *Guard) Workspace() string { return g.space }

// Roots returns the configured roots, resolved, in the order of the config.
func (g *Guard) Roots() []Root { return append([]Root(nil), g.roots...) }

// Bind is a file or folder of Config.Binds.
type Bind struct {
	Root
	Own  bool // a root of the owner's holds it, so its content is the owner's
	Data bool // others may fill it: not Own, and a folder that is not for a program's settings, or one that is known to be filled by others
}

// Binds returns what every sandbox shows besides the workspace and the roots, resolved, in the order of the config.
func (g *Guard) Binds() []Bind {
	var list []Bind
	for _, r := range g.binds {
		root, _ := g.rootOf(r.Path)
		b := Bind{Root: r, Own: r.Programs || within(g.space, r.Path) || root.Path != "" && !root.Foreign}
		info, err := os.Stat(r.Path)
		settings := strings.Contains(filepath.ToSlash(r.Path), "/.") // such as ~/.cargo, which commands read without naming it
		b.Data = !b.Own && err == nil && info.IsDir() && (!settings || Shared(r.Path))
		list = append(list, b)
	}
	return list
}

// Shared reports whether a folder has a name that sync clients, browsers and mail programs use for what others send.
func Shared(path string) bool {
	return slices.Contains([]string{
		"downloads", "download", "dropbox", "sync", "syncthing", "nextcloud", "owncloud", "onedrive", "google drive", "googledrive",
		"icloud drive", "mail", "mails", "maildir", ".mail", ".maildir", ".thunderbird", "thunderbird", "inbox",
	}, strings.ToLower(filepath.Base(path)))
}

// ScratchOf returns the folder in which a session writes after it has read something foreign. Characters of the session's name that do
// not suit a file name are replaced, and a digest is added.
func ScratchOf(workspace, session string) string {
	name := strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '_'
	}, session)
	// Without the digest, two sessions could share a folder.
	if name != session || len(name) > 64 {
		name = name[:min(len(name), 40)] + "-" + sys.Digest(session)
	}
	return filepath.Join(workspace, ScratchFolder, name)
}
