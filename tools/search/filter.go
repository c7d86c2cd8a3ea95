package search

import (
	"context"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"hob/daemon/fsguard"
	"hob/daemon/walk"
)

// maxRules limits the size of a file of ignore rules, in bytes. A larger one counts as unreadable.
const maxRules = 1 << 20

// Deps holds the dependencies of the tools.
type Deps struct {
	Guard *fsguard.Guard
	State string // hob's own state folder, absolute: never searched, whatever name leads to it
}

// filter decides which files a search may see. It leaves out ignored files, files with keys or
// credentials, and hob's own state.
type filter struct {
	guard    *fsguard.Guard
	rules    walk.RulesReader
	start    fsguard.Place
	top      *walk.Rules // the ignore rules above the start
	own      own
	tainted  bool                   // leave out what the turn may not read without a question
	careful  bool                   // the start is outside all roots: check each folder
	special  bool                   // it has to do with a place where a path alone makes secret
	secrets  map[[2]uint64]struct{} // folders that are secret under any path, by device and inode
	parts    []string               // parts of names about which the path guard is asked
	unread   atomic.Int64           // files and folders that could not be read
	withheld atomic.Int64           // files and folders with keys or credentials

	// The final check, after the search, uses these: the guard, and the folders of results by their path.
	final   *fsguard.Batch
	folders map[string]checked
}

// checked is a folder of results. ok is false if nothing in it may be shown.
type checked struct {
	fsguard.Place
	ok bool
}

// newFilter prepares the filter for a search from start by a turn that has read foreign text, or has not.
func newFilter(d Deps, start fsguard.Place, tainted bool) (*filter, error) {
	s := &filter{guard: d.Guard, start: start, tainted: tainted, careful: start.Area == fsguard.Outside || start.Path == "/"}
	s.parts, s.secrets = suspects(start.Path), map[[2]uint64]struct{}{}
	s.special = slices.ContainsFunc(fsguard.SecretPlaces(d.Guard), func(dir string) bool { return inside(dir, start.Path) || inside(start.Path, dir) })
	for _, info := range fsguard.SecretByIdentity(d.Guard) {
		device, inode := walk.Identity(info)
		s.secrets[[2]uint64{device, inode}] = struct{}{}
	}
	s.folders = map[string]checked{}
	s.rules = walk.RulesReader{Read: s.read, Home: d.Guard.Home()}
	var err error
	if s.own, err = newOwn(d.State); err != nil {
		return nil, err
	}
	// A file that the call names is searched even if it is ignored.
	if !start.IsDir() {
		return s, nil
	}
	// Ignore rules in the folders above the start apply as well.
	if s.top, err = s.rules.Above(start.Path, s.limit()); err != nil {
		s.unread.Add(1)
	}
	return s, nil
}

// limit returns the topmost folder whose ignore rules apply outside a repository: the root or
// workspace that contains the start.
// The longest path wins, because a root may be inside another.
func (s *filter) limit() string {
	limit := ""
	for _, root := range append(s.guard.Roots(), fsguard.Root{Path: s.guard.Workspace()}) {
		rel, err := filepath.Rel(root.Path, s.start.Path)
		if err == nil && filepath.IsLocal(rel) && len(root.Path) > len(limit) {
			limit = root.Path
		}
	}
	return limit
}

// read reads a file of ignore rules through the path guard, because a link must not lead into the
// state folder.
func (s *filter) read(path string) ([]byte, error) {
	if info, err := os.Lstat(path); err != nil || info.IsDir() {
		return nil, iofs.ErrNotExist // the usual case, without asking the guard
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
	// The extra byte tells a file of the largest size from a larger one.
	raw, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	if err == nil && len(raw) > maxRules {
		err = errors.New("too large for a file of rules")
	}
	return raw, errors.Join(err, f.Close())
}

// below returns the system path of a path below the start.
func (s *filter) below(path string) string { return filepath.Join(s.start.Path, path) }

// forbidden reports whether a folder must not be searched at all.
func (s *filter) forbidden(d *walk.Dir) bool {
	device, inode := d.Identity()
	if inode != 0 && s.own.folder == [2]uint64{device, inode} {
		return true
	}
	// Without an inode only the path can tell. Names that are secret anywhere were left out of the folder above.
	_, known := s.secrets[[2]uint64{device, inode}]
	return (inode == 0 || s.careful && (s.special || known)) && d.Path != "" && s.secret(d.Path)
}

// secret reports whether a path holds keys or credentials that the call did not name, or is hob's
// own.
// A path that the guard cannot resolve counts as secret.
func (s *filter) secret(path string) bool {
	p, err := s.guard.Resolve("", s.below(path))
	switch {
	case err != nil || p.Area == fsguard.State:
		return true
	case p.Area == fsguard.Sensitive && s.start.Area != fsguard.Sensitive, s.guards(p):
		s.withheld.Add(1)
		return true
	}
	return false
}

// open opens a file below the start through the path guard; nil if it is hob's own. The check
// against the state folder runs again here, because a file that loses a name at that moment appears
// to have only one. The guard opens nothing but the checked file.
func (s *filter) open(path string) (f source, size int64, err error) {
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

// node returns the ignore rules that apply in a folder, given those of its parent.
func (s *filter) node(d *walk.Dir, entries []walk.Entry, above *walk.Rules) *walk.Rules {
	var found walk.RuleFiles
	for _, e := range entries {
		// The names of all files of rules begin with a dot.
		if e.Name[0] == '.' {
			found |= walk.RuleFile(e.Name)
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

// failed counts an unreadable file or folder, unless the search was cancelled.
// A file that was deleted during the search is no failure.
func (s *filter) failed(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, iofs.ErrNotExist) {
		s.unread.Add(1)
	}
}

// place is a folder in which some names may be secret; parts are parts of them, in lower case.
type place struct {
	base  string
	parts []string
}

// placed lists parts of names that may belong to a secret, or to a private file of the owner, in some places only. base is such a place,
// absolute; "" is everywhere. The path guard decides; this list avoids asking it about every name.
func placed() []place {
	return []place{
		{"", []string{"config.toml", "user.md", "memory", "capabilities.md"}}, // hob's config and workspace have them, under any path
		{"/etc", []string{"shadow", "sudoers", "passwd", "keytab"}},
		{"/proc", []string{"environ", "mem", "kcore"}},
		{"/dev", []string{"mem"}},
	}
}

// suspects lists the parts of names that matter to a search from start.
func suspects(start string) (list []string) {
	for _, p := range placed() {
		if p.base == "" || inside(p.base, start) || inside(start, p.base) {
			list = append(list, p.parts...)
		}
	}
	return list
}

// inside reports whether path is dir or below it.
func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// suspicious reports whether the path guard must be asked about a name.
// It asks too often rather than too seldom: for each name with a dot in front or a character beyond ASCII.
func (s *filter) suspicious(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= 0x80 || i == 0 && c == '.' {
			return true
		}
	}
	if fsguard.SecretName(name) || s.tainted && fsguard.GuardedName(name) {
		return true
	}
	lower := strings.ToLower(name) // copies nothing if it is in lower case
	return slices.ContainsFunc(s.parts, func(part string) bool { return strings.Contains(lower, part) })
}

// lists reports whether glob may list a file. It checks each folder once, and the file itself only
// if its name or its place may make it a secret.
func (s *filter) lists(path string) bool {
	dir, name := split(path)
	_, ok := s.folder(dir)
	if ok && (fsguard.SecretName(name) || s.tainted && fsguard.GuardedName(name) || s.hidden(path)) {
		_, ok = s.place(path)
	}
	return ok
}

// split divides a path below the start into its folder, "" for the start, and its name.
func split(path string) (dir, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

// hidden reports whether a component of a path starts with a dot. In the workspace only the part
// below it counts.
func (s *filter) hidden(path string) bool {
	if path[0] == '.' || strings.Contains(path, "/.") {
		return true
	}
	inside := s.start.Area == fsguard.Workspace || s.start.Area == fsguard.Scratch
	return !inside && strings.Contains(filepath.ToSlash(s.start.Path), "/.")
}

// shows makes the final check of a file in the result. ok is false if the file must not be shown;
// foreign is the reason why its content is foreign text, or "". In the roots, a regular file of one
// ordinary name can only be secret, or foreign without a mark, because of its folder, which is checked once.
func (s *filter) shows(path string) (foreign string, ok bool) {
	dir, name := split(path)
	info, err := os.Lstat(s.below(path))
	if err != nil || !info.Mode().IsRegular() || walk.Links(info) != 1 || path == "" || s.suspicious(name) || s.hidden(path) {
		p, ok := s.place(path)
		return p.Foreign, ok
	}
	above, ok := s.folder(dir)
	if !ok {
		return "", false
	}
	// Outside the roots, places such as /etc have secrets of their own.
	if above.Area == fsguard.Outside {
		p, ok := s.place(path)
		return p.Foreign, ok
	}
	return s.batch().Foreign(filepath.Join(above.Path, name), above.Area), true
}

// folder is place for a folder of results. It remembers its answers.
func (s *filter) folder(dir string) (fsguard.Place, bool) {
	known, found := s.folders[dir]
	if !found {
		known.Place, known.ok = s.place(dir)
		s.folders[dir] = known
	}
	return known.Place, known.ok
}

// guards reports whether a path needs a question that the search has not asked.
func (s *filter) guards(p fsguard.Place) bool { return s.tainted && p.Guarded && !s.start.Guarded }

// batch returns the guard of the final check, which begins with the first call.
func (s *filter) batch() *fsguard.Batch {
	if s.final == nil {
		s.final = fsguard.NewBatch(s.guard)
	}
	return s.final
}

// place resolves a path below the start. ok is false if the path must not be shown.
func (s *filter) place(path string) (p fsguard.Place, ok bool) {
	p, err := s.batch().Resolve("", s.below(path))
	return p, err == nil && p.Area != fsguard.State && !s.guards(p) && (p.Area != fsguard.Sensitive || s.start.Area == fsguard.Sensitive)
}
