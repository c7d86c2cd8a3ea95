// Package keys finds what below a folder holds keys or credentials, by the names that fsguard knows. It opens no file.
package keys

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/fsguard"
)

// Limits of the search.
const (
	maxEntries = 100_000
	maxFound   = 200
)

// Known lists those of the home's well-known places of keys that lie below a folder, absolute. It is quick, and not all.
func Known(g *fsguard.Guard, dir string) []string {
	var found []string
	inside := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	for _, place := range places() {
		path := filepath.Join(g.Home(), filepath.FromSlash(place))
		if _, err := os.Lstat(path); err == nil && g.Home() != "" && strings.HasPrefix(path, inside) {
			found = append(found, path)
		}
	}
	return found
}

// Below lists the files and folders with keys or credentials below a folder, absolute. The workspace and the configured roots are left
// out. It is not whole when there was too much to look at, or to list. Symbolic links are passed over: where they lead is found there.
func Below(g *fsguard.Guard, dir string) (found []string, whole bool) {
	found = Known(g, dir)
	skip := append([]string{g.Workspace()}, found...)
	for _, r := range g.Roots() {
		skip = append(skip, r.Path)
	}
	seen := 0
	for todo := []string{dir}; len(todo) > 0; {
		entries, err := os.ReadDir(todo[0])
		if err != nil {
			entries = nil // it is gone, or closed to the command too
		}
		for _, e := range entries {
			path := filepath.Join(todo[0], e.Name())
			switch {
			case slices.Contains(skip, path) || e.Type()&fs.ModeSymlink != 0:
			case fsguard.SecretName(e.Name()):
				found = append(found, path)
			case e.IsDir():
				todo = append(todo, path)
			}
		}
		if seen += len(entries); seen > maxEntries || len(found) > maxFound {
			return found[:min(len(found), maxFound)], false
		}
		todo = todo[1:]
	}
	return found, true
}

// places are where keys lie in a home; for what is missing here, Below knows the names.
func places() []string {
	return []string{
		".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", ".local/share/keyrings", ".local/share/kwalletd", "Library/Keychains",
		".netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".docker/config.json",
		".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/sops", ".config/rclone", ".config/doctl", ".config/containers/auth.json",
		".config/google-chrome", ".config/chromium", ".mozilla", ".thunderbird", "Library/Cookies", "Library/Application Support/Google/Chrome",
		"Library/Application Support/Firefox",
	}
}
