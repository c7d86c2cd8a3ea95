package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"hob/config"
	"hob/daemon/archive"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/secret"
	"hob/daemon/sqlite"
	"hob/daemon/store"
	"hob/daemon/sys"
)

// BackupKey encrypts or decrypts a whole backup.
type BackupKey = archive.Key

// WholeBackup sums up a backup of a whole home.
type WholeBackup struct {
	Path         string       `json:"path"`
	Bytes        int64        `json:"bytes"`
	Made         time.Time    `json:"made"`
	Version      string       `json:"version"` // of the hob that made it
	Encrypted    bool         `json:"encrypted"`
	Secrets      bool         `json:"secrets"`                 // whether it contains secrets
	ConfigSecret bool         `json:"config_secret,omitempty"` // whether config.toml has a secret of its own, or cannot be read
	LeftOut      []string     `json:"left_out,omitempty"`      // the secrets that it does not contain: files, and references of the config
	Files        int          `json:"files"`
	Changed      []string     `json:"changed,omitempty"` // files that were written to while they were copied
	Skipped      []string     `json:"skipped,omitempty"` // links and special files, which it does not contain
	Database     BackupReport `json:"database"`
}

// WholeOptions say what a whole backup is to contain, and where it is written.
type WholeOptions struct {
	Path    string // "": a new name in the folder of backups
	Key     BackupKey
	Secrets bool
	Version string
	// Database asks a running hob for a copy of its database at a path; nil: none runs.
	Database func(ctx context.Context, path string) error
}

// databaseName, configName and secretsFolder are the names of these in a whole backup, as in a home.
const (
	databaseName  = "state/hob.db"
	configName    = "config.toml"
	secretsFolder = "state/secrets"
)

// wholeFolders are the folders that every whole backup contains. Everything else of state/ is made anew: logs, the index, the token of
// the local API, the folders of MCP servers.
func wholeFolders() []string { return []string{"workspace", "state/artifacts", "state/skills"} }

// SaveWhole writes the home into one file, while hob runs or not. The database is copied first: files that its rows name are there then.
func SaveWhole(ctx context.Context, home string, o WholeOptions) (w WholeBackup, err error) {
	now := sys.RealClock().Wall()
	suffix := sqlite.WholeBackup
	if o.Key != (BackupKey{}) {
		suffix = sqlite.SealedBackup
	}
	o.Path = backupPath(Options{Home: home}, o.Path, strings.TrimSuffix(sqlite.HandBackupName(now), ".db")+suffix)
	if exists(o.Path) {
		return w, backupFault(o.Path, os.ErrExist)
	}
	w = WholeBackup{Path: o.Path, Made: now, Version: o.Version, Encrypted: o.Key != (BackupKey{}), Secrets: o.Secrets}
	none := event.NewFault(event.Missing, "start it once with: hob up", "the home %s has no database yet: there is nothing to back up", home)
	err = withCopy(ctx, home, o.Database, none, func(scratch string) (err error) {
		if w.Database, err = VerifyBackup(ctx, filepath.Join(scratch, "hob.db")); err != nil {
			return err
		}
		return w.write(ctx, home, scratch, o.Key)
	})
	return w, err
}

// withCopy copies the database of a home into a folder, hob.db, and removes the folder after use. running asks a running hob for the copy; nil: none
// runs. none is the error of a home without a database.
func withCopy(ctx context.Context, home string, running func(ctx context.Context, path string) error, none error, use func(scratch string) error) (err error) {
	// Without a database nothing is made: the name of the home may be a mistake.
	if running == nil && !exists(Options{Home: home}.database()) {
		return none
	}
	folder := sqlite.BackupFolder(Options{Home: home}.state())
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return homeFault(home, err)
	}
	// The folder is inside the home, because the running hob writes the copy, and may not write elsewhere.
	scratch, err := os.MkdirTemp(folder, sqlite.Scratch+"*")
	if err != nil {
		return homeFault(home, err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	copied := filepath.Join(scratch, "hob.db")
	if running != nil {
		err = running(ctx, copied)
	} else {
		err = sqlite.CopyIdle(ctx, Options{Home: home}.database(), copied)
	}
	if err != nil {
		return err
	}
	return use(scratch)
}

// write makes the file under a temporary name, so that an interrupted one never has the real name.
func (w *WholeBackup) write(ctx context.Context, home, scratch string, k BackupKey) (err error) {
	part := w.Path + sqlite.Unfinished
	f, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // #nosec G304 -- beside the path that the owner names
	if err != nil {
		return backupFault(w.Path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fullDisk(err), os.Remove(part))
		}
	}()
	if err := w.fill(ctx, f, home, scratch, k); err != nil {
		return errors.Join(err, f.Close())
	}
	fail.Point("whole.written")
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", w.Path, err)
	}
	if err := os.Rename(part, w.Path); err != nil {
		return fmt.Errorf("name %s: %w", w.Path, err)
	}
	info, err := os.Stat(w.Path)
	if err != nil {
		return err
	}
	w.Bytes = info.Size()
	return sys.SyncFolder(filepath.Dir(w.Path))
}

// fill writes the content: database, config, folders, and the secrets if they are wanted.
func (w *WholeBackup) fill(ctx context.Context, to *os.File, home, scratch string, k BackupKey) error {
	secrets, err := homeSecrets(ctx, home, w.Secrets)
	if err != nil {
		return err
	}
	wanted := w.Secrets
	if w.LeftOut = secrets.outside; !wanted {
		w.LeftOut = secrets.names()
	}
	// A config or a database that holds a secret itself makes the backup one with secrets, also where the others are left out.
	w.ConfigSecret = secrets.inConfig
	w.Secrets = w.ConfigSecret || w.Database.HookSecrets > 0 || wanted && len(secrets.kept)+len(secrets.files) > 0
	out, err := archive.NewWriter(to, archive.Head{Version: w.Version, Made: w.Made, Secrets: w.Secrets, LeftOut: w.LeftOut}, k)
	if err != nil {
		return err
	}
	for _, part := range []struct{ name, folder, file string }{{databaseName, scratch, "hob.db"}, {configName, home, configName}} {
		if err := addFile(ctx, out, part.name, part.folder, part.file); err != nil {
			return err
		}
	}
	for _, name := range wholeFolders() {
		if err := out.Tree(ctx, name, filepath.Join(home, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	if wanted {
		for _, s := range secrets.kept {
			if err := out.Bytes(path.Join(secretsFolder, s.Name), s.Content); err != nil {
				return err
			}
		}
		for _, name := range secrets.files {
			if err := addFile(ctx, out, filepath.ToSlash(name), home, name); err != nil {
				return err
			}
		}
	}
	m, err := out.Close()
	w.Files, w.Skipped = len(m.Files), m.Skipped
	w.changed(m)
	return err
}

func (w *WholeBackup) changed(m archive.Manifest) {
	for _, f := range m.Files {
		if f.Changed {
			w.Changed = append(w.Changed, f.Path)
		}
	}
}

// addFile adds one file of a folder, if it exists.
func addFile(ctx context.Context, out *archive.Writer, name, folder, file string) (err error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	return out.File(ctx, name, root, file)
}

// secretsOfHome are the secrets that a home has or refers to.
type secretsOfHome struct {
	kept     []secret.Stored // of the vault, with values that were read from the keyring
	vault    []string        // the names of those
	files    []string        // files of the home that the config refers to
	outside  []string        // other references of the config: env:, keyring:, cmd:, files elsewhere
	inConfig bool            // the config itself contains one
}

func (s secretsOfHome) names() []string {
	list := slices.Concat(s.files, s.outside)
	for _, name := range s.vault {
		list = append(list, path.Join(secretsFolder, name))
	}
	return list
}

// SecretsLeftOut divides the secrets that a backup does not contain into those that it could contain and those that are outside of the home.
func (w WholeBackup) SecretsLeftOut() (home, elsewhere []string) {
	for _, name := range w.LeftOut {
		if secret.IsReference(name) {
			elsewhere = append(elsewhere, name)
		} else {
			home = append(home, name)
		}
	}
	return home, elsewhere
}

// keptOf returns the home whose replaced part a folder is, or the folder itself. The keyring knows secrets by their home.
func keptOf(home string) string {
	parent := filepath.Dir(home)
	if whole := filepath.Dir(filepath.Dir(parent)); parent == filepath.Join(Options{Home: whole}.state(), sqlite.WholeKept) {
		return whole
	}
	return home
}

// homeSecrets lists the secrets of a home, with the values of the vault if they are wanted.
func homeSecrets(ctx context.Context, home string, wanted bool) (s secretsOfHome, err error) {
	o := Options{Home: home}
	vault := secret.NewVault(secret.VaultConfig{Folder: filepath.Join(o.state(), "secrets"), Home: keptOf(home)})
	if s.vault, err = vault.Names(); err != nil {
		return s, err
	}
	if wanted {
		if s.kept, err = vault.Export(ctx); err != nil {
			return s, err
		}
	}
	values, err := configSecrets(o.config())
	if err != nil {
		return s, fmt.Errorf("read the config for its secrets: %w", err)
	}
	for _, value := range values {
		scheme, name, _ := strings.Cut(strings.TrimSpace(value), ":")
		if inside, err := filepath.Rel(home, filepath.FromSlash(name)); err == nil && filepath.IsLocal(inside) {
			name = filepath.ToSlash(inside)
		}
		switch {
		case !secret.IsReference(value):
			s.inConfig = true
		case scheme == "file" && filepath.IsLocal(filepath.FromSlash(name)):
			s.files = append(s.files, filepath.FromSlash(name))
		default:
			s.outside = append(s.outside, strings.TrimSpace(value))
		}
	}
	slices.Sort(s.files)
	slices.Sort(s.outside)
	// What is in the workspace is in the backup anyway.
	s.files = slices.DeleteFunc(slices.Compact(s.files), func(name string) bool {
		name = path.Clean(filepath.ToSlash(name))
		return name == configName || strings.HasPrefix(name, "workspace/")
	})
	s.outside = slices.Compact(s.outside)
	return s, nil
}

// configSecrets lists the secrets of a config and its references to some. A part that does not parse hides those that it has, so then every
// reference in the text counts, and a text that is no TOML counts as a secret itself.
func configSecrets(file string) (values []string, err error) {
	snap, problems, err := config.Load(file, nil)
	if broken := config.Errors(nil); err != nil && !errors.As(err, &broken) {
		return nil, err
	}
	if snap == nil {
		values = append(values, "a text")
	} else {
		for _, named := range snap.Secrets {
			values = append(values, named.Value)
		}
	}
	if err == nil && len(problems) == 0 {
		return values, nil
	}
	text, err := os.ReadFile(file) // #nosec G304 -- the config of the home
	for _, m := range regexp.MustCompile(`["']\s*((file|env|keyring|cmd):[^"'\n]+)`).FindAllSubmatch(text, -1) {
		values = append(values, string(m[1]))
	}
	return values, err
}

// VerifyWhole reads a whole backup to its end: every hash, and its database. It needs room for a copy of the database.
func VerifyWhole(ctx context.Context, file string, k BackupKey) (w WholeBackup, err error) {
	dir, err := os.MkdirTemp("", "hob-verify-*")
	if err != nil {
		return w, fmt.Errorf("make a place for the database of the backup: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	w, err = extractWhole(ctx, file, k, dir, func(name string) bool { return name == databaseName })
	if err != nil {
		return w, err
	}
	w.Database, err = store.VerifyBackup(ctx, filepath.Join(dir, filepath.FromSlash(databaseName)), store.Migrations())
	w.Database.Path = ""
	return w, store.BackupFault("the database in "+file, err)
}

// extractWhole extracts the wanted files of a backup into a folder.
func extractWhole(ctx context.Context, file string, k BackupKey, dir string, want func(string) bool) (w WholeBackup, err error) {
	info, err := os.Stat(file)
	if err != nil {
		return w, store.BackupFault(file, err)
	}
	kind, err := archive.KindOf(file)
	if err != nil {
		return w, store.BackupFault(file, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	free, err := sys.DiskFree(dir)
	if err != nil {
		return w, err
	}
	m, err := archive.Extract(ctx, file, k, root, free, want)
	if err != nil {
		return w, fullDisk(err)
	}
	w = WholeBackup{
		Path: file, Bytes: info.Size(), Made: m.Made, Version: m.Version, Encrypted: kind != archive.Plain, Secrets: m.Secrets,
		LeftOut: m.LeftOut, Files: len(m.Files), Skipped: m.Skipped,
	}
	w.changed(m)
	if !slices.ContainsFunc(m.Files, func(f archive.File) bool { return f.Path == databaseName }) {
		return w, event.NewFault(event.Clash, "hob backup list shows what there is", "%s has no database of hob", file)
	}
	return w, nil
}

// IsWhole reports whether a file is a whole backup, and what opens it: a passphrase, a key, or nothing.
func IsWhole(file string) (whole, passphrase, key bool, err error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		hint := "name a file; hob backup list shows what there is"
		if exists(filepath.Join(file, filepath.FromSlash(databaseName))) {
			hint = "it is a home: make a backup of it with hob --home DIR backup create, and restore that"
		}
		return false, false, false, event.NewFault(event.Invalid, hint, "%s is a folder, not a backup", file)
	}
	kind, err := archive.KindOf(file)
	return kind != archive.Foreign, kind == archive.ByPassphrase, kind == archive.ByRecipient, store.BackupFault(file, err)
}
