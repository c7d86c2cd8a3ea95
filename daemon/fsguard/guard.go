// Package fsguard resolves paths and opens and writes files safely. It finds out where a path really leads, classifies the place
// (workspace, root, outside, sensitive, state), and makes sure that nothing redirects the path between the check and the use.
//
// The flow: Resolve follows a path without opening anything and returns a Place. The permission rules (package policy) decide by the Place's area.
// Then Open, Folder, WriteFile or Stage act on the same Place, and fail with ErrMoved if the file is another one by now.
//
// It refuses only what is refused in every mode: hob's state folder, and files that are not regular. It never decides about permission.
//
// It also makes safe names for files that are received or sent (SafeName, ReceivedName, UniqueName), and detects their types (FileType).
//
// It recognises the state folder by identity (device and inode), not by name. The reason: closing any descriptor of the database drops
// SQLite's locks, so a file in there must not even be opened.
package fsguard

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Area classifies a path. The values are those of package tools.
type Area string

// The areas of the file system.
const (
	Workspace Area = "workspace" // the workspace, readable and writable
	RootRW    Area = "root-rw"   // a configured root, writable
	RootRO    Area = "root-ro"   // a configured root, readable
	Outside   Area = "outside"   // anywhere else
	Scratch   Area = "scratch"   // the workspace's .scratch folder, where tainted turns write
	Sensitive Area = "sensitive" // keys, credentials, .env
	State     Area = "state"     // hob's own state folder and process: always refused
)

// Errors about paths. Errors for missing files wrap fs.ErrNotExist.
var (
	ErrPath    = errors.New("not a valid path")          // empty, too long, or with a NUL byte
	ErrState   = errors.New("hob's own state")           // refused in every mode
	ErrSecret  = errors.New("it may hold secrets")       // refused where nobody can be asked
	ErrLoop    = errors.New("too many symbolic links")   //
	ErrDangle  = errors.New("a link that leads nowhere") // refused for writing
	ErrRegular = errors.New("not a regular file")        // a folder, device, pipe or socket
	ErrFolder  = errors.New("not a folder")              //
	ErrMoved   = errors.New("changed while it was used") // the opened file is not the one that was checked
	ErrExists  = errors.New("already exists")            // NewOnly
)

// Root is a folder outside of the workspace that the owner opened to the tools.
type Root struct {
	Path    string // absolute, or with "~"
	Write   bool
	Foreign bool // other people fill it, so its content is foreign; it is never written

	Programs bool // a folder of PATH: its programs count as the owner's
}

// Config names the folders.
type Config struct {
	Workspace string // absolute
	State     string // absolute; hob's own
	Home      string // the owner's home, for "~" and the sensitive paths
	Roots     []Root
	Binds     []Root                   // what every sandbox shows besides the workspace and the roots
	Guest     bool                     // someone other than the owner asks: the owner's private files count as sensitive
	Marked    func(path string) string // says why a file counts as foreign, for example because a tainted turn wrote it; "": it does not. nil: no file is marked
	Wrote     func(path, hash string)  // called before new content becomes visible, with its SHA-256 in hex, or "" for a removal. nil: nobody is notified
}

// Guard classifies and opens paths. It is safe for concurrent use.
type Guard struct {
	state string // as configured; its identity is looked up each time, because the folder may be made later
	own   string // the parent of the state folder: hob's home
	home  string
	roots []Root // resolved, without the workspace
	binds []Root // resolved
	space string // the workspace, resolved
	guest bool
	marks func(path string) string
	wrote func(path, hash string)

	mu   sync.Mutex
	held []*os.File // files of the state folder that a race made us open; they are never closed
}

// New makes a guard. The folders need not exist yet.
func New(c Config) (*Guard, error) {
	if !filepath.IsAbs(c.Workspace) || !filepath.IsAbs(c.State) {
		return nil, fmt.Errorf("workspace %q and state %q: want absolute paths", c.Workspace, c.State)
	}
	// All folders are resolved once, because area compares resolved paths.
	g := &Guard{marks: c.Marked, wrote: c.Wrote, guest: c.Guest}
	var err error
	if g.state, err = resolved(c.State); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	g.own = filepath.Dir(g.state)
	if g.space, err = resolved(c.Workspace); err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	if c.Home != "" {
		if g.home, err = resolved(c.Home); err != nil {
			return nil, fmt.Errorf("home: %w", err)
		}
	}
	if g.roots, err = g.opened("root", c.Roots); err == nil {
		g.binds, err = g.opened("bind", c.Binds)
	}
	return g, err
}

// opened resolves the paths of roots or binds.
func (g *Guard) opened(kind string, given []Root) (list []Root, err error) {
	for _, r := range given {
		path, err := resolved(g.absolute("", r.Path))
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", kind, r.Path, err)
		}
		list = append(list, Root{path, r.Write && !r.Foreign, r.Foreign, r.Programs})
	}
	return list, nil
}

// resolved follows the symbolic links of a path as far as it exists.
// The missing rest stays as it is, so a folder may be made later.
func resolved(path string) (string, error) {
	w, err := walk(os.Lstat, path)
	return w.path, err
}

// Place is a path that Resolve has classified.
type Place struct {
	Path   string      // absolute, symbolic links resolved
	Area   Area        //
	Info   fs.FileInfo // the file that exists there; nil: none
	Own    bool        // in hob's home but not in the workspace; hob's config is there
	Dangle bool        // a symbolic link on the way leads to something that does not exist
	Via    []string    // the folders of the symbolic links on the way

	// Guarded is true for what a turn may read after foreign text only if the owner agrees: hidden files and folders of the home, and names as
	// keys have them. The workspace does not count, and hidden ones count only outside the roots.
	Guarded bool

	// Foreign says why the content is foreign text: "attachment", "scratch", "outside the roots", "written by …". "" means that it is the
	// owner's own.
	Foreign string

	folder fs.FileInfo // the folder that holds it; nil: it does not exist
}

// Exists reports whether the file exists.
func (p Place) Exists() bool { return p.Info != nil }

// Absent identifies the absence of a file, with the folder in which it is missing: an approval to make it is for that folder only.
func (p Place) Absent() string {
	if p.folder == nil {
		return "absent"
	}
	return "absent in " + identity(p.folder)
}

// IsDir reports whether the place is a folder.
func (p Place) IsDir() bool { return p.Info != nil && p.Info.IsDir() }

// ID identifies the file by device and inode. It is "" if the file does not exist or the system has no such numbers.
func (p Place) ID() string {
	if p.Info == nil {
		return ""
	}
	return identity(p.Info)
}

// Resolve finds out where a path leads, in the way the kernel would: relative to base (absolute), with "~" as the owner's home, each
// symbolic link followed, ".." applied after that. Missing parts are kept as they are. It opens nothing.
func (g *Guard) Resolve(base, path string) (Place, error) { return resolve(g, os.Lstat, base, path) }

func resolve(g *Guard, look lookup, base, path string) (Place, error) {
	p, err := unjudged(g, look, base, path)
	if err == nil {
		p.Foreign, p.Guarded = foreign(g, look, p.Path, p.Area), g.guarded(p)
	}
	return p, err
}

// unjudged is resolve without a judgement about whose text the place holds.
func unjudged(g *Guard, look lookup, base, path string) (Place, error) {
	if err := usable(path); err != nil {
		return Place{}, err
	}
	w, err := walk(look, g.absolute(base, path))
	if err != nil {
		return Place{}, fmt.Errorf("%s: %w", path, err)
	}
	p := Place{Path: w.path, Info: w.info, Dangle: w.dangle, Via: w.via, folder: w.folder}
	// The area comes first, because hob's own state is never foreign and never counts as Own.
	p.Area, err = g.area(look, w)
	if err != nil {
		return Place{}, fmt.Errorf("classify %s: %w", path, err)
	}
	p.Own = p.Area != State && within(g.own, p.Path) && !within(g.space, p.Path)
	return p, nil
}

// Absolute makes a path absolute: "~" is the home of the user that hob runs as. It follows symbolic links as far as the path exists.
func Absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		path = home + rest
	}
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s: %w", path, ErrPath)
	}
	return resolved(path)
}

// absolute joins a path with base, or with the workspace if base is "".
// It does not clean the result: filepath.Join would apply ".." before the links are followed.
func (g *Guard) absolute(base, path string) string {
	if path == "~" {
		return g.home
	}
	if len(path) > 1 && path[0] == '~' && os.IsPathSeparator(path[1]) {
		return g.home + string(filepath.Separator) + path[2:]
	}
	if filepath.IsAbs(path) {
		return path
	}
	base = cmp.Or(base, g.space)
	return base + string(filepath.Separator) + path
}

// Named returns a path in one absolute form, for use as a name only: it looks at no disk and follows no link.
func Named(g *Guard, base, path string) string { return filepath.Clean(g.absolute(base, path)) }

// Home returns the owner's home folder, resolved.
func (g *Guard) Home() string { return g.home }

// Links returns the number of names (hard links) that a file has; 2 where the system does not tell.
func Links(info fs.FileInfo) uint64 { return links(info) }
