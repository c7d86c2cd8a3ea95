package skills

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/fsguard"
	"hob/daemon/sys"
)

// Limits of a skill's folder.
const (
	maxFile  = 2 << 20 // bytes of one file
	maxTree  = 8 << 20 // bytes of all files
	maxFiles = 200
)

// skillFile is the file that makes a folder a skill.
const skillFile = "SKILL.md"

// subfolders are the folders that a skill may have. They hold files only.
func subfolders() []string { return []string{"assets", "references", "scripts"} }

// file is a file of a tree.
type file struct {
	path string // with slashes, below the folder
	exec bool
	data []byte
}

// tree is the content of a skill's folder at one moment, in memory, so that what is hashed is what is copied.
type tree struct {
	files []file // by path
	hash  string
}

// mostOfPath is the number of letters of a path in an error.
const mostOfPath = 1000

// readTree reads the folder of a skill. It follows no links, opens regular files only, and leaves out names that begin with a dot. Its
// errors are sentences for the owner.
func readTree(g *fsguard.Guard, dir string) (tree, error) {
	at, err := g.Resolve("", dir)
	switch {
	case err != nil:
		return tree{}, err
	case !at.Exists():
		return tree{}, &event.Fault{Kind: event.Missing, Text: "there is no folder " + short(dir, mostOfPath), Hint: "name a folder with a SKILL.md", Err: fs.ErrNotExist}
	case at.Path != filepath.Clean(dir):
		return tree{}, fmt.Errorf("%s, or a folder above it, is a symbolic link", short(dir, mostOfPath))
	case !at.IsDir():
		return tree{}, fmt.Errorf("%s is %s, not a folder", short(dir, mostOfPath), fsguard.Kind(at.Info.Mode()))
	}
	r := reader{guard: g, dir: at.Path}
	if err := r.folder(""); err != nil {
		return tree{}, err
	}
	return sealed(r.files), nil
}

// sealed sorts the files of a tree and computes its hash, over the names, the executable bits and the contents.
func sealed(files []file) tree {
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	h := sha256.New()
	for _, f := range files {
		_, _ = fmt.Fprintf(h, "%q %t %d\n", f.path, f.exec, len(f.data))
		_, _ = h.Write(f.data) // never fails
	}
	return tree{files, hex.EncodeToString(h.Sum(nil))}
}

// reader collects the files of a folder.
type reader struct {
	guard *fsguard.Guard
	dir   string
	files []file
	bytes int
}

// folder reads the folder itself ("") or one of its subfolders.
func (r *reader) folder(below string) error {
	at, err := r.place(below)
	if err != nil {
		return err
	}
	root, err := r.guard.Folder(at)
	if err != nil {
		return err
	}
	d, err := root.Open(".")
	if err != nil {
		return errors.Join(err, root.Close())
	}
	entries, err := d.ReadDir(maxFiles + len(subfolders()) + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err := errors.Join(err, d.Close(), root.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if err := r.entry(path.Join(below, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// place classifies a path of the tree and refuses links.
func (r *reader) place(rel string) (fsguard.Place, error) {
	full := filepath.Join(r.dir, filepath.FromSlash(rel))
	at, err := r.guard.Resolve("", full)
	switch {
	case err != nil:
		return at, fmt.Errorf("%s: %w", short(rel, 200), err)
	case at.Path != full || at.Dangle:
		return at, fmt.Errorf("%s is a symbolic link: a skill holds real files only", short(rel, 200))
	case at.Area == fsguard.Sensitive || at.Area == fsguard.State:
		return at, fmt.Errorf("%s may hold secrets by its name: a skill must not", short(rel, 200))
	}
	return at, nil
}

// entry reads a file, or enters a subfolder.
func (r *reader) entry(rel string) error {
	name := short(rel, 200)
	if name != rel || strings.ContainsFunc(rel, func(c rune) bool { return unicode.IsControl(c) || c == '\\' }) {
		return fmt.Errorf("the name %q holds characters that cannot be shown", name)
	}
	at, err := r.place(rel)
	switch {
	case err != nil:
		return err
	case at.IsDir() && !slices.Contains(subfolders(), rel):
		return fmt.Errorf("%s: a skill may have the folders %s, with files only", name, strings.Join(subfolders(), ", "))
	case at.IsDir():
		return r.folder(rel)
	case !at.Exists():
		return fmt.Errorf("%s vanished while it was read", name)
	case !at.Info.Mode().IsRegular():
		return fmt.Errorf("%s is %s: a skill holds regular files only", name, fsguard.Kind(at.Info.Mode()))
	case runtime.GOOS != "windows" && fsguard.Links(at.Info) > 1: // Windows does not tell
		return fmt.Errorf("%s has a second name (a hard link): a skill holds files of its own only", name)
	}
	most := int64(maxFile)
	if rel == skillFile {
		most = maxSkillFile
	}
	if at.Info.Size() > most {
		return fmt.Errorf("%s has %d KB, at most %d KB are allowed", name, at.Info.Size()>>10, most>>10)
	}
	f, err := r.guard.Open(at)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	r.bytes += len(data)
	switch {
	case int64(len(data)) > most:
		return fmt.Errorf("%s grew while it was read", name)
	case r.bytes > maxTree:
		return fmt.Errorf("the skill has more than %d MB", maxTree>>20)
	case len(r.files) == maxFiles:
		return fmt.Errorf("the skill has more than %d files", maxFiles)
	}
	r.files = append(r.files, file{rel, at.Info.Mode()&0o111 != 0, data})
	return nil
}

// text returns the content of SKILL.md.
func (t tree) text() ([]byte, error) {
	for _, f := range t.files {
		if f.path == skillFile {
			return f.data, nil
		}
	}
	return nil, errors.New("it has no " + skillFile)
}

// save writes the tree to dir/HASH and returns that path: first all files under another name, then the rename, so that a folder with that
// name is always whole. Nobody may write the files.
func (t tree) save(dir string) (string, error) {
	to := filepath.Join(dir, t.hash)
	if have, err := readPinned(to); err == nil && have.hash == t.hash {
		return to, nil
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), remove(to)); err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp(dir, "new-*.tmp")
	if err != nil {
		return "", err
	}
	if err := t.write(temp, 0o400); err != nil {
		return "", errors.Join(err, remove(temp))
	}
	fail.Point("skill.copied")
	if err := os.Rename(temp, to); err != nil {
		return "", errors.Join(err, remove(temp))
	}
	fail.Point("skill.named")
	return to, sys.SyncFolder(dir)
}

// write writes the files into a folder that exists, durably. mode is that of a file without the executable bit.
func (t tree) write(dir string, mode fs.FileMode) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // every file was closed and checked
	folders := []string{"."}
	for _, f := range t.files {
		if up := path.Dir(f.path); !slices.Contains(folders, up) {
			if err := root.Mkdir(up, 0o700); err != nil {
				return err
			}
			folders = append(folders, up)
		}
		m := mode
		if f.exec {
			m |= 0o100
		}
		out, err := root.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, m)
		if err != nil {
			return err
		}
		_, err = out.Write(f.data)
		if err == nil {
			err = out.Sync()
		}
		if err = errors.Join(err, out.Close()); err != nil {
			return fmt.Errorf("write %s: %w", f.path, err)
		}
		fail.Point("skill.file")
	}
	for _, name := range folders {
		if err := sys.SyncFolderIn(root, name); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a tree that save or write has made.
func remove(dir string) error { return os.RemoveAll(dir) }

// readPinned reads a copy in hob's own state, which nobody else writes.
func readPinned(dir string) (tree, error) {
	var files []file
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s: %w", p, fsguard.ErrRegular)
		}
		data, err := os.ReadFile(p) // #nosec G304 G122 -- hob's own copy, which nobody else writes
		rel, bad := filepath.Rel(dir, p)
		files = append(files, file{filepath.ToSlash(rel), info.Mode()&0o111 != 0, data})
		return errors.Join(err, bad)
	})
	if err != nil {
		return tree{}, err
	}
	return sealed(files), nil
}
