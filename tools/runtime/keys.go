// This file finds keys and credentials below a folder by the names that the path guard knows. It
// opens no file.

package runtime

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/daemon/fsguard"
)

const (
	maxFound = 200 // paths listed
	batch    = 500 // names read at a time; checking them takes about 10 ms
)

// KnownKeys lists the well-known places of keys in the home that exist below dir, as absolute
// paths. It is quick but incomplete.
func KnownKeys(g *fsguard.Guard, dir string) []string {
	var found []string
	inside := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	for _, place := range keyPlaces() {
		path := filepath.Join(g.Home(), filepath.FromSlash(place))
		if _, err := os.Lstat(path); err == nil && g.Home() != "" && strings.HasPrefix(path, inside) {
			found = append(found, path)
		}
	}
	return found
}

// KeyLimits bounds a search. With zero values the search examines one batch of names.
type KeyLimits struct {
	Entries int           // files and folders examined, rounded up to a batch
	Time    time.Duration // checked between two batches
}

// KeysBelow lists the files and folders with keys or credentials below dir, as absolute paths,
// sorted. It skips the workspace and the configured roots. whole is false if a limit stopped the
// search or more than 200 were found. It skips symbolic links: their targets are found where they
// are.
func KeysBelow(g *fsguard.Guard, dir string, most KeyLimits) (found []string, whole bool) {
	s := keySearch{found: KnownKeys(g, dir), most: most, began: time.Now()}
	s.skip = append([]string{g.Workspace()}, s.found...)
	for _, r := range g.Roots() {
		s.skip = append(s.skip, r.Path)
	}
	whole = true
	for s.todo = []string{dir}; whole && len(s.todo) > 0; {
		next := s.todo[0]
		s.todo = s.todo[1:]
		whole = s.folder(next)
	}
	found = s.found[:min(len(s.found), maxFound)]
	slices.Sort(found)
	return found, whole
}

// keySearch walks folders breadth first.
type keySearch struct {
	skip, todo, found []string
	seen              int
	most              KeyLimits
	began             time.Time
}

// folder examines the entries of one folder, a batch at a time, and reports whether the search may
// go on.
func (s *keySearch) folder(dir string) bool {
	f, err := os.Open(dir) // #nosec G304 -- its names are read, no file
	if err != nil {
		return true // it is gone, or the command cannot read it either
	}
	defer func() { _ = f.Close() }() // read only
	for {
		entries, err := f.ReadDir(batch)
		s.look(dir, entries)
		if len(s.found) > maxFound || s.over() && (err == nil || len(s.todo) > 0) {
			return false
		}
		if err != nil { // the end, or the command cannot read it either
			return true
		}
	}
}

// over reports whether a limit is reached.
func (s *keySearch) over() bool { return s.seen > s.most.Entries || time.Since(s.began) >= s.most.Time }

// look sorts the entries of a folder: keys are found, subfolders are examined later.
func (s *keySearch) look(dir string, entries []fs.DirEntry) {
	for _, e := range entries {
		secret := fsguard.SecretName(e.Name())
		if !secret && !e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
			continue // most entries: no path is made for them
		}
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(s.skip, path):
		case secret:
			s.found = append(s.found, path)
		default:
			s.todo = append(s.todo, path)
		}
	}
	s.seen += len(entries)
}

// keysFresh is how long the result of a search is valid. A command that needs no approval therefore searches only once.
const keysFresh = 2 * time.Second

// search says when a folder was searched, and how it was then.
type search struct {
	began   time.Time // zero: never
	version string    // of the folder
}

func newSearch(dir string) search { return search{time.Now(), folderVersion(dir)} }

// valid reports whether the result may be used again: the search is recent, and no entry was added to the folder since. Keys that are written into
// subfolders meanwhile are visible, as are those that are written while the command runs: a sandbox shows the folder, not a copy of it.
func (s search) valid(dir string) bool {
	return s.version != "" && time.Since(s.began) < keysFresh && folderVersion(dir) == s.version
}

// folderVersion changes when an entry is added to a folder or removed. It is "" if that may have happened in the same tick of the file system's clock.
func folderVersion(dir string) string {
	info, err := os.Lstat(dir)
	if err != nil || time.Since(changed(info)) < 20*time.Millisecond {
		return ""
	}
	return FileVersion(info) + " " + changed(info).UTC().Format(time.RFC3339Nano)
}

// keyPlaces lists where programs keep keys in a home. KeysBelow finds all others by their names.
func keyPlaces() []string {
	return []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", "Library/Keychains",
		".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".docker/config.json",
		".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/sops", ".config/rclone", ".config/doctl", ".config/containers/auth.json",
		".config/google-chrome", ".config/chromium", ".mozilla", ".thunderbird", "Library/Cookies", "Library/Application Support/Google/Chrome",
		"Library/Application Support/Firefox",
	}
}
