// Reading the config file and replacing it atomically. Nothing here interprets the file.

package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"hob/daemon/fail"
	"hob/daemon/sys"
)

// ErrChanged reports that another program has changed the file since it was read, or is writing it.
var ErrChanged = errors.New("the file was changed in the meantime")

// abandoned is the age at which an unfinished file counts as left by a crash.
const abandoned = 30 * time.Second

// maxFile is the largest config file, in bytes.
const maxFile = 1 << 20

// Unfinished is the suffix of a file that is being written.
const Unfinished = ".new"

// FileContent returns the file's content; none if it is missing. Errors are those of ReadFile.
func FileContent(path string) ([]byte, error) {
	doc, _, err := ReadFile(path)
	return doc, err
}

// ReadFile returns the file's content and whether other users can read it. A missing file has no content.
func ReadFile(path string) (doc []byte, readable bool, err error) {
	// The kind of file is checked first: opening a named pipe would block.
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read config: %w", err)
	case info.IsDir():
		return nil, false, fmt.Errorf("read config: %s is a folder; want a file", path)
	case !info.Mode().IsRegular():
		return nil, false, fmt.Errorf("read config: %s is no regular file", path)
	case info.Size() > maxFile:
		return nil, false, fmt.Errorf("read config: %s has %d bytes; at most %d are read", path, info.Size(), maxFile)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, false, fmt.Errorf("read config: %w", err)
	}
	doc, err = io.ReadAll(io.LimitReader(f, maxFile))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, false, fmt.Errorf("read config: %w", err)
	}
	// Windows has no such permission bits.
	return doc, runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0, nil
}

// WriteFile replaces before, which FileContent has returned, by doc. A crash at any moment leaves one of them complete. The file keeps its mode; a
// new file gets 0600, and a new folder 0700. A symlink stays, and its target is written. ErrChanged means that the file no longer contains
// before, or that another WriteFile is running; then nothing was changed.
func WriteFile(path string, before, doc []byte) error {
	if len(doc) > maxFile {
		return fmt.Errorf("write config: %d bytes; at most %d are read", len(doc), maxFile)
	}
	// A file that lost its content by a power cut is empty too, so hob never makes one.
	if blank(doc) {
		doc = []byte("# hob config docs lists the keys.\n")
	}
	if behind, err := filepath.EvalSymlinks(path); err == nil {
		path = behind
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write config: %w", err)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	} else if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write config: %w", err)
	}
	temp := path + Unfinished
	if info, err := os.Lstat(temp); err == nil && time.Since(info.ModTime()) > abandoned {
		if err := os.Remove(temp); err != nil {
			return fmt.Errorf("clean up: %w", err)
		}
	}
	// The unfinished file is also the lock: O_EXCL lets only one process create it.
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: %s is being written, or was left by a crash less than %v ago", ErrChanged, filepath.Base(temp), abandoned)
	}
	if err != nil {
		return fmt.Errorf("write config: %w", err)
	}
	// FinishFile calls it just before the rename, when the new file is complete.
	unchanged := func() error {
		now, _, err := ReadFile(path)
		if err == nil && !bytes.Equal(now, before) {
			err = ErrChanged
		}
		return err
	}
	return FinishFile(f, path, doc, mode, unchanged)
}

// FinishFile writes a new file, and renames it to path if ready allows it. On an error it removes the new file.
// The new file is synced before the rename and the folder after it, so a power cut leaves the old or the new file.
func FinishFile(f *os.File, path string, doc []byte, mode fs.FileMode, ready func() error) error {
	_, err := f.Write(doc)
	if err == nil {
		err = errors.Join(f.Chmod(mode), sys.Adopt(f, filepath.Dir(path)), f.Sync()) // the umask may have narrowed the mode
	}
	fail.Point("config.temp")
	if err = errors.Join(err, f.Close()); err == nil {
		err = ready()
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
		fail.Point("config.rename")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Base(path), err), os.Remove(f.Name()))
	}
	if err := sys.SyncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("sync the folder: %w", err)
	}
	return nil
}
