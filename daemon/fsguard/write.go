package fsguard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/daemon/fail"
	"hob/daemon/sys"
)

// Option changes how WriteFile works.
type Option int

// NewOnly makes WriteFile return ErrExists instead of replacing a file, even one that appears at the last moment.
const NewOnly Option = 1

// WriteFile writes data to a classified place, all or nothing: it writes a temporary file in the same folder, syncs it, renames it, and
// syncs the folder. It makes missing folders. A replaced file keeps its permission bits and, if hob may set it, its owner; its other
// names (hard links) keep the old content. A new file gets mode minus the umask. It returns the new file. Errors: ErrState, ErrDangle,
// ErrRegular, ErrExists, ErrMoved, fs.ErrPermission.
func (g *Guard) WriteFile(p Place, data []byte, mode fs.FileMode, opts ...Option) (fs.FileInfo, error) {
	only := len(opts) > 0 && opts[0] == NewOnly
	if err := writable(p, only); err != nil {
		return nil, fmt.Errorf("write %s: %w", p.Path, err)
	}
	dir, err := g.parent(p)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", p.Path, err)
	}
	defer closeRoot(dir)
	info, err := replace(dir, filepath.Base(p.Path), data, mode, p.Info, only, notifier(g, p))
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", p.Path, err)
	}
	return info, nil
}

// writable returns the reason that a place cannot be written, as far as its classification shows; only is NewOnly.
func writable(p Place, only bool) error {
	switch {
	case p.Area == State:
		return ErrState
	case p.Dangle:
		return ErrDangle
	case p.Info == nil:
		return nil
	case !p.Info.Mode().IsRegular():
		return fmt.Errorf("%w: it is %s", ErrRegular, Kind(p.Info.Mode()))
	case only:
		return ErrExists
	}
	return nil
}

// parent makes and opens the folder of a place, or returns ErrMoved if another one has taken its place since Resolve.
func (g *Guard) parent(p Place) (*os.Root, error) {
	path := filepath.Dir(p.Path)
	if err := g.makeFolders(path); err != nil {
		return nil, err
	}
	root, err := g.folder(path)
	if err != nil || p.folder == nil {
		return root, err
	}
	now, err := root.Stat(".")
	if err == nil && !os.SameFile(now, p.folder) {
		err = ErrMoved
	}
	if err != nil {
		closeRoot(root)
		return nil, err
	}
	return root, nil
}

// folder opens a resolved folder and checks that its path still leads to the same place.
func (g *Guard) folder(path string) (*os.Root, error) {
	now, err := g.Resolve("", path)
	if err != nil {
		return nil, err
	}
	if now.Path != path && now.Area != State {
		return nil, ErrMoved
	}
	return g.Folder(now)
}

// makeFolders is MkdirAll with two additions: it makes each new name durable, and it makes each folder through its open parent, so that a
// link that appears meanwhile cannot redirect it.
func (g *Guard) makeFolders(path string) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		return nil
	}
	up := filepath.Dir(path)
	if up == path {
		return fmt.Errorf("%s: %w", path, ErrFolder)
	}
	if err := g.makeFolders(up); err != nil {
		return err
	}
	root, err := g.folder(up)
	if err != nil {
		return err
	}
	defer closeRoot(root)
	if err := root.Mkdir(filepath.Base(path), 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return sys.SyncFolderIn(root, ".")
}

// replace writes the temporary file and publishes it. On an error it removes the temporary file.
// notify runs before the content is visible, so that a watch knows the hash when it sees the file.
func replace(dir *os.Root, name string, data []byte, mode fs.FileMode, old fs.FileInfo, only bool, notify func(hash string)) (fs.FileInfo, error) {
	temp := tempPrefix(name) + sys.RandomIDs().Code(12) + ".tmp"
	info, hash, err := fill(dir, temp, Bytes(data), mode.Perm(), old, notify != nil)
	fail.Point("file.temp")
	if err == nil {
		if notify != nil {
			notify(hash)
		}
		err = publish(dir, temp, name, only)
	}
	if err != nil {
		if gone := dir.Remove(temp); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return nil, err
	}
	return info, sys.SyncFolderIn(dir, ".")
}

// Content is the new content of a file.
type Content struct {
	Write func(*os.File) error // writes it into an empty file
	Read  func() io.Reader     // reads it; runs beside Write
}

// Bytes is a content in memory.
func Bytes(data []byte) Content {
	return Content{Read: func() io.Reader { return bytes.NewReader(data) }, Write: func(f *os.File) error {
		_, err := f.Write(data)
		return err
	}}
}

// notifier returns the function that reports new content at a place to Config.Wrote; nil: nobody wants it.
func notifier(g *Guard, p Place) func(hash string) {
	if g.wrote == nil {
		return nil
	}
	return func(hash string) { g.wrote(p.Path, hash) }
}

// fill writes new content durably under a temporary name. With hashed it also returns the content's SHA-256 in hex.
func fill(dir *os.Root, temp string, content Content, mode fs.FileMode, old fs.FileInfo, hashed bool) (info fs.FileInfo, hash string, err error) {
	f, err := dir.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, "", err
	}
	var unread error
	err = sys.Both(func() error {
		if err := content.Write(f); err != nil {
			return err
		}
		// The file gets its owner and permission bits before it has its final name.
		if old != nil {
			if err := errors.Join(keepOwner(f, old), f.Chmod(old.Mode().Perm())); err != nil {
				return err
			}
		}
		return f.Sync()
	}, func() error {
		if hashed {
			hash, unread = hashOf(content.Read())
		}
		return nil
	})
	if err == nil {
		err = unread // usually for the same reason as a failed write, so only one is told
	}
	info, statErr := f.Stat()
	return info, hash, errors.Join(err, statErr, f.Close())
}

// hashOf returns the SHA-256 of a content in hex.
func hashOf(content io.Reader) (string, error) {
	sum := sha256.New()
	_, err := io.Copy(sum, content)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// publish renames the temporary file to its final name. A rename replaces the name itself and follows no link.
func publish(dir *os.Root, temp, name string, only bool) error {
	if !only {
		return dir.Rename(temp, name)
	}
	// A link fails if the name exists; a rename would replace the file.
	err := dir.Link(temp, name)
	switch {
	case err == nil:
		return dir.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	}
	if _, there := dir.Lstat(name); there == nil { // a file system without hard links: check, then rename
		return ErrExists
	}
	return dir.Rename(temp, name)
}

// tempPrefix begins the names of a file's temporary files: ".hob-", eight hex digits of the name's hash, "-". Sweep finds them by it.
func tempPrefix(name string) string {
	sum := sha256.Sum256([]byte(name))
	return ".hob-" + hex.EncodeToString(sum[:4]) + "-"
}

// IsTemp reports whether a file name is that of a temporary file of WriteFile.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".hob-") && strings.HasSuffix(name, ".tmp")
}

// Sweep removes the temporary files that an interrupted WriteFile to this place left. It must not run at the same time as one.
// It removes only files whose names have the prefix for this place, so those of other files stay.
func (g *Guard) Sweep(p Place) error {
	up, err := g.Resolve("", filepath.Dir(p.Path))
	if err != nil || !up.IsDir() || p.Area == State {
		return err
	}
	dir, err := g.Folder(up)
	if err != nil {
		return err
	}
	defer closeRoot(dir)
	entries, err := fs.ReadDir(dir.FS(), ".")
	prefix := tempPrefix(filepath.Base(p.Path))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) && IsTemp(e.Name()) {
			err = errors.Join(err, dir.Remove(e.Name()))
		}
	}
	return err
}
