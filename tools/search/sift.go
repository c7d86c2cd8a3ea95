package search

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"hob/daemon/fsguard"
	"hob/daemon/ignore"
	"hob/daemon/walk"
)

// maxRules bounds a file of ignore rules; what is larger counts as not readable.
const maxRules = 1 << 20

// Deps is what the tools work with.
type Deps struct {
	Guard *fsguard.Guard
	State string // hob's own state folder, absolute: never entered, by whatever name it is reached
}

// sift knows what of a tree is not to be looked at: what rules leave out, what holds keys and credentials, and hob's own
// state.
type sift struct {
	guard    *fsguard.Guard
	rules    ignore.Reader
	start    fsguard.Place
	top      *ignore.Node // the rules above the start
	own      own
	careful  bool         // the start lies where no folder was opened to hob: each folder is judged
	unread   atomic.Int64 // files and folders that could not be read
	withheld atomic.Int64 // files and folders that hold keys or credentials
}

func newSift(d Deps, start fsguard.Place) (*sift, error) {
	s := &sift{guard: d.Guard, start: start, careful: start.Area == fsguard.Outside || start.Path == "/"}
	s.rules = ignore.Reader{Read: s.read, Home: d.Guard.Home()}
	var err error
	if s.own, err = newOwn(d.State); err != nil {
		return nil, err
	}
	if !start.IsDir() {
		return s, nil
	}
	if s.top, err = s.rules.Above(start.Path, s.limit()); err != nil {
		s.unread.Add(1)
	}
	return s, nil
}

// limit is the folder up to which rules count where there is no repository: the one that was opened to hob.
func (s *sift) limit() string {
	limit := ""
	for _, root := range append(s.guard.Roots(), fsguard.Root{Path: s.guard.Workspace()}) {
		rel, err := filepath.Rel(root.Path, s.start.Path)
		if err == nil && filepath.IsLocal(rel) && len(root.Path) > len(limit) {
			limit = root.Path
		}
	}
	return limit
}

// read opens a file of rules by way of the guard: a link in a work tree must not lead into the state folder.
func (s *sift) read(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err != nil || info.IsDir() {
		return nil, iofs.ErrNotExist // the usual case, without judging
	}
	p, err := s.guard.Resolve("", path)
	if errors.Is(err, fsguard.ErrFolder) {
		return nil, iofs.ErrNotExist
	}
	if err != nil {
		return nil, err
	}
	f, err := s.guard.Open(p)
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	if err == nil && len(raw) > maxRules {
		err = errors.New("too large for a file of rules")
	}
	return raw, errors.Join(err, f.Close())
}

// below is the path, on the system, of what stands below the start.
func (s *sift) below(path string) string { return filepath.Join(s.start.Path, path) }

// forbidden says that a folder must not be looked into at all.
func (s *sift) forbidden(d *walk.Dir) bool {
	device, inode := d.Identity()
	if inode != 0 && s.own.folder == [2]uint64{device, inode} {
		return true
	}
	return (s.careful || inode == 0) && d.Path != "" && s.secret(d.Path)
}

// secret says that something below the start holds keys or credentials, or is hob's own, and that the call did not name it.
func (s *sift) secret(path string) bool {
	p, err := s.guard.Resolve("", s.below(path))
	switch {
	case err != nil || p.Area == fsguard.State:
		return true
	case p.Area == fsguard.Sensitive && s.start.Area != fsguard.Sensitive:
		s.withheld.Add(1)
		return true
	default:
		return false
	}
}

// open opens a file below the start by way of the guard; nil: it is one of hob's own. What the guard judged is looked at once
// more, because a file that loses a name in that moment seems to have one only; the guard opens nothing else than that.
func (s *sift) open(path string) (f source, size int64, err error) {
	p, err := s.guard.Resolve("", s.below(path))
	if err != nil || p.Area == fsguard.State {
		return nil, 0, err
	}
	if p.Exists() {
		if hobs, err := s.own.holds(walk.Identity(p.Info)); hobs || err != nil {
			return nil, 0, err
		}
	}
	o, err := s.guard.Open(p)
	if err != nil {
		return nil, 0, err
	}
	return o, p.Info.Size(), nil
}

// node are the rules in a folder, given those above it.
func (s *sift) node(d *walk.Dir, entries []walk.Entry, above *ignore.Node) *ignore.Node {
	var found ignore.Found
	for _, e := range entries {
		if e.Name[0] == '.' {
			found |= ignore.FoundOf(e.Name)
		}
	}
	if found == 0 {
		return above
	}
	node, err := s.rules.Enter(above, s.below(d.Path), found)
	if err != nil {
		s.unread.Add(1)
	}
	return node
}

// failed counts what cannot be read. A cancelled search counts nothing.
func (s *sift) failed(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, iofs.ErrNotExist) {
		s.unread.Add(1)
	}
}

// suspects are pieces of names that may be those of keys and credentials. The guard decides; this only spares it most names.
func suspects() []string {
	return []string{
		"env", "cred", "secret", "id_", ".pem", ".key", ".p12", ".pfx", ".ppk", ".jks", ".kdbx", "keychain", "keyring", "netrc", "authorized",
		"ssh_host", "wallet", "shadow", "sudoers", "passwd", "keytab", "environ", "mem", "kcore", "password", "user.md", "capabilities.md",
	}
}

// suspicious says that the guard has to be asked about a name.
func suspicious(name string, pieces []string) bool {
	lower := name
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || i == 0 && c == '.' {
			return true
		} else if 'A' <= c && c <= 'Z' {
			lower = strings.ToLower(name)
		}
	}
	for _, p := range pieces {
		if strings.Contains(lower, p) {
			return true
		}
	}
	return false
}

// lists judges a file that glob found: its folder, once for all that are in it, and the file where its name or its place
// may make it one with keys or credentials.
func (s *sift) lists(path string, folders map[string]bool) bool {
	dir, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		dir, name = path[:i], path[i+1:]
	}
	ok, known := folders[dir]
	if !known {
		_, ok = s.shows(dir)
		folders[dir] = ok
	}
	if ok && (fsguard.SecretName(name) || s.hidden(path)) {
		_, ok = s.shows(path)
	}
	return ok
}

// hidden says that a path has a part that begins with a dot. Of the workspace only what is below it counts.
func (s *sift) hidden(path string) bool {
	if path[0] == '.' || strings.Contains(path, "/.") {
		return true
	}
	inside := s.start.Area == fsguard.Workspace || s.start.Area == fsguard.Scratch
	return !inside && strings.Contains(filepath.ToSlash(s.start.Path), "/.")
}

// shows judges, one last time and for sure, a file that the result would show: false when it may not, and why its content
// is somebody else's text.
func (s *sift) shows(path string) (foreign string, ok bool) {
	p, err := s.guard.Resolve("", s.below(path))
	if err != nil || p.Area == fsguard.State || p.Area == fsguard.Sensitive && s.start.Area != fsguard.Sensitive {
		return "", false
	}
	return p.Foreign, true
}
