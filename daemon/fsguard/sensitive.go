package fsguard

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// secretFolders hold keys and credentials wherever they stand; secretHomes do below the home folder.
// Lower case, with slashes.
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

// secretNames match one component of a path; path.Match patterns in lower case.
func secretNames() []string {
	return []string{
		".env", ".env.*", ".env-*", ".envrc", "*.env", "*credential*", "*secret*",
		"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.kdbx", "*.keychain", "*.keychain-db",
		".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", ".vault-token", ".terraformrc",
		"authorized_keys", "ssh_host_*", "wallet.dat",
	}
}

// secretFiles are the system's own; the patterns match the whole path.
func secretFiles() []string {
	return []string{
		"/etc/shadow*", "/etc/gshadow*", "/etc/sudoers", "/etc/sudoers.d/*", "/etc/master.passwd", "/etc/ssl/private/*", "/etc/krb5.keytab",
		"/proc/*/environ", "/proc/*/mem", "/proc/kcore", "/run/secrets/*", "/var/run/secrets/*", "/dev/mem", "/dev/kmem",
	}
}

// private are the owner's own files and folders in the workspace: what hob knows about the owner.
func private() []string { return []string{"USER.md", "MEMORY.md", "CAPABILITIES.md", "memory"} }

// Private says that a file or folder of the workspace, by its path in it, is for the owner alone.
func Private(name string) bool {
	first, _, _ := strings.Cut(filepath.ToSlash(name), "/")
	return slices.ContainsFunc(private(), func(own string) bool { return fold(own) == fold(first) })
}

// isPrivate says whether a path lies in one of the owner's own files and folders, by name or, under other names, by identity.
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

// sensitive says whether a path holds keys or credentials, by its names below root (so that a workspace
// that happens to lie below a folder called "secret" can be used), and by the identity of the home's key folders.
func (g *Guard) sensitive(root string, w walked) bool {
	whole := fold(filepath.ToSlash(w.path))
	for _, pattern := range secretFiles() {
		if ok, err := path.Match(pattern, whole); ok && err == nil {
			return true
		}
	}
	if g.home != "" && within(g.home, w.path) && homeSecret(fold(filepath.ToSlash(w.path[len(g.home):]))) {
		return true
	}
	below := w.path
	switch {
	case root != "":
		below = w.path[len(root):]
	case g.home != "" && within(g.home, w.path):
		below = w.path[len(g.home):]
	}
	for _, name := range split(below) {
		if secretName(fold(name)) {
			return true
		}
	}
	return g.keyFolder(w)
}

func homeSecret(below string) bool {
	below = strings.Trim(below, "/")
	for _, dir := range secretHomes() {
		if below == dir || strings.HasPrefix(below, dir+"/") {
			return true
		}
	}
	return false
}

// SecretName says that a file or folder of this name, wherever it stands, counts as one with keys or credentials. Others may
// too, by where they stand: Resolve tells.
func SecretName(name string) bool { return secretName(fold(name)) }

func secretName(name string) bool {
	for _, dir := range secretFolders() {
		if name == dir {
			return true
		}
	}
	for _, pattern := range secretNames() {
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return !strings.HasSuffix(name, ".pub")
		}
	}
	return false
}

// keyFolder catches the home's key folders under other names: bind mounts, foreign spellings of a
// file system that folds letters.
func (g *Guard) keyFolder(w walked) bool {
	if g.home == "" {
		return false
	}
	for _, dir := range secretFolders() {
		key, err := os.Lstat(filepath.Join(g.home, dir))
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

// fold lowers letters as file systems that ignore case do: by way of upper case, so that "ſ" and "K" (Kelvin) meet s and k.
func fold(s string) string { return strings.ToLower(strings.ToUpper(s)) }
