// This file finds what below a folder holds keys or credentials, by the names that fsguard knows. It opens no file.

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
	maxFound = 200 // listed
	batch    = 500 // names read at a time; looking at them takes some 10 ms
)

// KnownKeys lists those of the home's well-known places of keys that lie below a folder, absolute. It is quick, and not all.
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

// KeyLimits bound a search, whatever is found: zero values let it look at one batch.
type KeyLimits struct {
	Entries int           // files and folders looked at, rounded up to a batch
	Time    time.Duration // looked at between two batches
}

// KeysBelow lists the files and folders with keys or credentials below a folder, absolute and sorted. The workspace and the configured
// roots are left out. It is not whole when there was too much to look at, or to list. Symbolic links are passed over: where they lead
// is found there.
func KeysBelow(g *fsguard.Guard, dir string, most KeyLimits) (found []string, whole bool) {
	s := search{found: KnownKeys(g, dir), most: most, began: time.Now()}
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

// search goes through folders, the outer before the inner.
type search struct {
	skip, todo, found []string
	seen              int
	most              KeyLimits
	began             time.Time
}

// folder looks at what lies in one folder, and says whether the search may go on. A huge one is not read at once.
func (s *search) folder(dir string) bool {
	f, err := os.Open(dir) // #nosec G304 -- its names are read, no file
	if err != nil {
		return true // it is gone, or closed to the command too
	}
	defer func() { _ = f.Close() }() // only read
	for {
		entries, err := f.ReadDir(batch)
		s.look(dir, entries)
		if len(s.found) > maxFound || s.over() && (err == nil || len(s.todo) > 0) {
			return false
		}
		if err != nil { // the end, or closed to the command too
			return true
		}
	}
}

// over says whether the limits are reached.
func (s *search) over() bool { return s.seen > s.most.Entries || time.Since(s.began) >= s.most.Time }

func (s *search) look(dir string, entries []fs.DirEntry) {
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case slices.Contains(s.skip, path) || e.Type()&fs.ModeSymlink != 0:
		case fsguard.SecretName(e.Name()):
			s.found = append(s.found, path)
		case e.IsDir():
			s.todo = append(s.todo, path)
		}
	}
	s.seen += len(entries)
}

// keyPlaces are where keys lie in a home; for what is missing here, Below knows the names.
func keyPlaces() []string {
	return []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", "Library/Keychains",
		".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".docker/config.json",
		".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/sops", ".config/rclone", ".config/doctl", ".config/containers/auth.json",
		".config/google-chrome", ".config/chromium", ".mozilla", ".thunderbird", "Library/Cookies", "Library/Application Support/Google/Chrome",
		"Library/Application Support/Firefox",
	}
}
