package fsguard

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// secretFolders lists folder names that hold keys and credentials anywhere; secretHomes lists paths below the home folder. All in lower
// case, with slashes.
func secretFolders() []string {
	return []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store", "keychains", "keyrings", ".secrets"}
}

func secretHomes() []string {
	return []string{
		".config/gcloud", ".config/gh", ".config/hub", ".config/op", ".config/sops", ".config/rclone", ".config/doctl",
		".config/google-chrome", ".config/chromium", ".mozilla", ".thunderbird", ".docker/config.json",
		".local/share/keyrings", ".local/share/kwalletd", "library/keychains", "library/cookies",
		"library/application support/google/chrome", "library/application support/firefox",
		".cargo/credentials", ".cargo/credentials.toml", ".m2/settings.xml", ".config/containers/auth.json",
	}
}

// secretNames lists path.Match patterns, in lower case, for one component of a path.
func secretNames() []string {
	return []string{
		".env", ".env.*", ".env-*", ".envrc", "*.env", "*credential*", "*secret*",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.kdbx", "*.keychain", "*.keychain-db", "*.tfstate", "*.ovpn",
		".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".vault-token", ".terraformrc",
		"authorized_keys", "ssh_host_*", "wallet.dat",
	}
}

// secretFiles lists system files with secrets; the patterns match the whole path.
func secretFiles() []string {
	return []string{
		"/etc/shadow*", "/etc/gshadow*", "/etc/sudoers", "/etc/sudoers.d/*", "/etc/master.passwd", "/etc/ssl/private/*", "/etc/krb5.keytab",
		"/proc/*/environ", "/proc/*/mem", "/proc/*/task/*/environ", "/proc/*/task/*/mem", "/proc/kcore", "/run/secrets/*", "/var/run/secrets/*", "/dev/mem", "/dev/kmem",
	}
}

// private lists the workspace's files and folders with what hob knows about the owner.
func private() []string { return []string{"USER.md", "MEMORY.md", "CAPABILITIES.md", "memory"} }

// Private reports whether a file or folder of the workspace, given by its path inside, is for the owner alone.
func Private(name string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return slices.ContainsFunc(private(), func(own string) bool { return fold(own) == fold(first) })
}

// SecretPlaces lists the folders in which files are secret because of their place, not because of a name in their path: Resolve decides about
// each. A search that neither begins in one of them nor contains one need not ask about its folders, except about those of SecretByIdentity.
func SecretPlaces(g *Guard) []string {
	list := []string{g.own, g.state, g.space, "/etc", "/proc", "/dev", "/run", "/var/run"}
	if g.home != "" {
		list = append(list, g.home)
	}
	return list
}

// SecretByIdentity describes the folders that are secret whatever path leads to them, as far as they exist: those of hob, those with the owner's
// keys, and for a guest the owner's private ones.
func SecretByIdentity(g *Guard) (list []fs.FileInfo) {
	paths := []string{g.own, g.state}
	if g.home != "" {
		for _, dir := range secretFolders() {
			paths = append(paths, filepath.Join(g.home, dir))
		}
	}
	if g.guest {
		for _, name := range private() {
			paths = append(paths, filepath.Join(g.space, name))
		}
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			list = append(list, info)
		}
	}
	return list
}

// isPrivate reports whether a path is in one of the owner's private files or folders, by name or by identity.
func isPrivate(space string, w walked) bool {
	if rel, err := filepath.Rel(space, w.path); err == nil && filepath.IsLocal(rel) && Private(rel) {
		return true
	}
	for _, name := range private() {
		own, err := os.Stat(filepath.Join(space, name))
		if err == nil && (w.info != nil && os.SameFile(w.info, own) || slices.ContainsFunc(w.trail, func(i fs.FileInfo) bool { return os.SameFile(i, own) })) {
			return true
		}
	}
	return false
}

// sensitive reports whether a path holds keys or credentials. Only the names below root count, so that a workspace inside a folder called
// "secret" still works. The key folders of the home are also recognised by identity.
func (g *Guard) sensitive(look lookup, root string, w walked) bool {
	whole := fold(filepath.ToSlash(w.path))
	for _, pattern := range secretFiles() {
		if ok, err := path.Match(pattern, whole); ok && err == nil {
			return true
		}
	}
	if g.home != "" && within(g.home, w.path) && homeSecret(fold(filepath.ToSlash(w.path[len(g.home):]))) {
		return true
	}
	// Test the names below the root, or else below the home folder, or else all of them.
	below := w.path
	switch {
	case root != "":
		below = w.path[len(root):]
	case g.home != "" && within(g.home, w.path):
		below = w.path[len(g.home):]
	}
	// One secret name on the way is enough: everything in such a folder is sensitive.
	return slices.ContainsFunc(split(below), func(name string) bool { return secretName(fold(name)) }) || g.keyFolder(look, w)
}

// homeSecret reports whether a path below the home folder is in one of secretHomes.
func homeSecret(below string) bool {
	below = strings.Trim(below, "/")
	return slices.ContainsFunc(secretHomes(), func(dir string) bool { return below == dir || strings.HasPrefix(below, dir+"/") })
}

// guarded says what Place.Guarded is.
func (g *Guard) guarded(p Place) bool {
	hidden := p.Area == Outside && g.home != "" && within(g.home, p.Path) && strings.Contains(filepath.ToSlash(p.Path[len(g.home):]), "/.")
	return hidden || p.Area != Workspace && p.Area != Scratch && GuardedName(filepath.Base(p.Path))
}

// GuardedName reports whether a file may hold a key by its name. Unlike a SecretName it may well be something else, so only turns that have
// read foreign text ask. Source code does not count.
func GuardedName(name string) bool {
	name = fold(name)
	switch path.Ext(name) {
	case ".go", ".py", ".js", ".jsx", ".ts", ".tsx", ".css", ".scss", ".rs", ".java", ".kt", ".swift", ".c", ".h", ".cc", ".cpp", ".cs", ".rb", ".php":
		return false
	}
	return strings.HasSuffix(name, "_history") || slices.ContainsFunc([]string{
		"token", "passw", "recovery", "backup-code", "backup_code", ".tfstate", ".ovpn", "auth.json", "keystore", "mnemonic", "seed-phrase", "seed_phrase",
		"rclone.conf", "vault_pass", ".macaroon", "wg0.conf",
	}, func(part string) bool { return strings.Contains(name, part) })
}

// SecretName reports whether a file or folder with this name counts as secret in any place. Other names may be secret because of their
// place, which only Resolve knows.
func SecretName(name string) bool { return secretName(fold(name)) }

// secretName expects a folded name. Public keys (*.pub) are not secret.
func secretName(name string) bool {
	r := secretRules()
	if r.folders[name] {
		return true
	}
	return r.match(name) && !strings.HasSuffix(name, ".pub")
}

// nameRules holds the patterns of secretNames by their form, because a search for keys tests each name of a large folder: path.Match with all patterns
// takes longer than reading the folder.
// A pattern has at most one star at each end, apart from which its text is literal.
type nameRules struct {
	folders  map[string]bool // of secretFolders
	whole    map[string]bool
	endings  map[string]bool // from the last dot of a name on
	prefixes map[byte][]string
	parts    []string
}

var secretRules = sync.OnceValue(func() nameRules {
	r := nameRules{folders: map[string]bool{}, whole: map[string]bool{}, endings: map[string]bool{}, prefixes: map[byte][]string{}}
	for _, name := range secretFolders() {
		r.folders[name] = true
	}
	for _, pattern := range secretNames() {
		text := strings.Trim(pattern, "*")
		switch starts, ends := strings.HasSuffix(pattern, "*"), strings.HasPrefix(pattern, "*"); {
		case starts && ends:
			r.parts = append(r.parts, text)
		case starts:
			r.prefixes[text[0]] = append(r.prefixes[text[0]], text)
		case ends:
			r.endings[text] = true
		default:
			r.whole[text] = true
		}
	}
	return r
})

// match reports whether one of the patterns matches a name.
func (r nameRules) match(name string) bool {
	if name == "" {
		return false
	}
	for _, prefix := range r.prefixes[name[0]] {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if dot := strings.LastIndexByte(name, '.'); dot >= 0 && r.endings[name[dot:]] {
		return true
	}
	return r.whole[name] || slices.ContainsFunc(r.parts, func(part string) bool { return strings.Contains(name, part) })
}

// keyFolder recognises the home's key folders under other names: bind mounts, or other spellings on a file system that ignores case.
func (g *Guard) keyFolder(look lookup, w walked) bool {
	if g.home == "" {
		return false
	}
	for _, dir := range secretFolders() {
		key, err := look(g.home + string(filepath.Separator) + dir)
		if err != nil {
			continue
		}
		for _, info := range w.trail {
			if os.SameFile(info, key) {
				return true
			}
		}
		if w.info != nil && os.SameFile(w.info, key) {
			return true
		}
	}
	return false
}

// fold lowers letters as file systems that ignore case do. It goes through upper case, so that "ſ" and "K" (Kelvin) equal s and k.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.ToLower(strings.ToUpper(s))
		}
	}
	return strings.ToLower(s) // the same for ASCII, and nothing is copied if it is in lower case
}
