// Package fsguard says where a path really leads, and opens and writes files without being led elsewhere
// in between. It judges (workspace, root, outside, sensitive, state) and refuses only what is refused in
// every mode: hob's state folder, and what is not a regular file. It never decides about permission.
//
// The state folder is told by identity (device and inode), not by name, because closing any descriptor of
// the database drops SQLite's locks on it: a file in there must not even be opened.
package fsguard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Area says where a path lies. The values are those of the tools seam.
type Area string

// The areas of the file system.
const (
	Workspace Area = "workspace" // the workspace, readable and writable
	RootRW    Area = "root-rw"   // a configured root, writable
	RootRO    Area = "root-ro"   // a configured root, readable
	Outside   Area = "outside"   // anywhere else
	Scratch   Area = "scratch"   // the workspace's .scratch: what tainted turns write
	Sensitive Area = "sensitive" // keys, credentials, .env
	State     Area = "state"     // hob's own state folder and process: always refused
)

// What can be wrong with a path. Errors for missing files wrap fs.ErrNotExist.
var (
	ErrPath    = errors.New("not a usable path")         // empty, a NUL in it, too long
	ErrState   = errors.New("hob's own state")           // refused in every mode
	ErrSecret  = errors.New("it may hold secrets")       // refused where nobody can be asked
	ErrLoop    = errors.New("too many symbolic links")   //
	ErrDangle  = errors.New("a link that leads nowhere") // refused for writing
	ErrRegular = errors.New("not a regular file")        // a folder, device, pipe or socket
	ErrFolder  = errors.New("not a folder")              //
	ErrMoved   = errors.New("changed while it was used") // what was opened is not what was judged
	ErrExists  = errors.New("is there already")          // NewOnly
)

// Root is a folder that the owner opened to the tools beside the workspace.
type Root struct {
	Path    string // absolute, or with "~"
	Write   bool
	Foreign bool // others fill it: what is in it is not the owner's. It is not written
}

// Config says which folders there are.
type Config struct {
	Workspace string // absolute
	State     string // absolute; hob's own
	Home      string // the owner's home, for "~" and the sensitive paths
	Roots     []Root
	Guest     bool                     // somebody else than the owner asks: what is private to the owner counts as sensitive
	Marked    func(path string) string // why a file counts as foreign: a tainted turn wrote it; "" when it does not. nil: none does
	Wrote     func(path, hash string)  // is told, before anybody can see it, of each content that is written: its SHA-256 in hex, "" for a removal. nil: nobody is
}

// Guard judges and opens paths. It is safe for concurrent use.
type Guard struct {
	state string // as configured; its identity is looked up each time, it may be made later
	own   string // the folder that holds the state folder: hob's home
	home  string
	roots []Root // resolved, the longest path first; the workspace is among them
	space string // the workspace, resolved
	guest bool
	marks func(path string) string
	wrote func(path, hash string)

	mu   sync.Mutex
	held []*os.File // descriptors of state files that a race made us open: never closed
}

// New makes a guard. The folders need not exist yet.
func New(c Config) (*Guard, error) {
	if !filepath.IsAbs(c.Workspace) || !filepath.IsAbs(c.State) {
		return nil, fmt.Errorf("workspace %q and state %q: want absolute paths", c.Workspace, c.State)
	}
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
	for _, r := range c.Roots {
		path, err := resolved(g.absolute("", r.Path))
		if err != nil {
			return nil, fmt.Errorf("root %s: %w", r.Path, err)
		}
		g.roots = append(g.roots, Root{path, r.Write && !r.Foreign, r.Foreign})
	}
	return g, nil
}

func resolved(path string) (string, error) {
	w, err := walk(path)
	return w.path, err
}

// Place is a path that was judged.
type Place struct {
	Path   string      // absolute, symbolic links resolved
	Area   Area        //
	Info   fs.FileInfo // what is there; nil: nothing
	Own    bool        // in hob's home folder but not in the workspace: its configuration lies there
	Dangle bool        // a symbolic link on the way leads to something that is not there

	// Foreign says why what is there is somebody else's text: "attachment", "scratch", "outside the roots", "written by …". "" when it
	// is the owner's.
	Foreign string
}

// Exists says whether something is there.
func (p Place) Exists() bool { return p.Info != nil }

// IsDir says whether a folder is there.
func (p Place) IsDir() bool { return p.Info != nil && p.Info.IsDir() }

// ID names what is there by device and inode, "" when nothing is there or the system has no such numbers.
func (p Place) ID() string {
	if p.Info == nil {
		return ""
	}
	return identity(p.Info)
}

// Resolve finds out where a path leads, as the kernel would go: relative to base (absolute), "~" for the
// owner's home, each symbolic link followed, ".." taken after that. What does not exist is resolved as far
// as it does. It opens nothing.
func (g *Guard) Resolve(base, path string) (Place, error) {
	if err := usable(path); err != nil {
		return Place{}, err
	}
	w, err := walk(g.absolute(base, path))
	if err != nil {
		return Place{}, fmt.Errorf("%s: %w", path, err)
	}
	p := Place{Path: w.path, Info: w.info, Dangle: w.dangle}
	p.Area, err = g.area(w)
	if err != nil {
		return Place{}, fmt.Errorf("judge %s: %w", path, err)
	}
	p.Own = p.Area != State && within(g.own, p.Path) && !within(g.space, p.Path)
	p.Foreign = g.Foreign(p.Path, p.Area)
	return p, nil
}

// Absolute is where a path leads: "~" is the home of hob's own user, and links are followed as far as there is something.
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
	if base == "" {
		base = g.space
	}
	return base + string(filepath.Separator) + path
}

// Home is the owner's home folder, resolved.
func (g *Guard) Home() string { return g.home }
