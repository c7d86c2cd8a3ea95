package atomic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hob/daemon/fail"
	"hob/daemon/fsguard"
)

// ErrHalf says that nobody knows whether a job was done: a part of it was, or its journal cannot be read.
var ErrHalf = errors.New("it was cut off, and could not be ended")

// Took says whether a job was done, all of it; ErrHalf when only a part of it was. To be asked after Recover.
func Took(job Job) (bool, error) {
	b := book{job.Folder, nameOf(job.ID)}
	r, err := readRecord(b.path(finished))
	switch {
	case errors.Is(err, fs.ErrNotExist) && b.there(journaled):
		return false, ErrHalf
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil || r.Args != digest(job.Args):
		return false, err
	case r.Half:
		return false, ErrHalf
	}
	return true, nil
}

// Recover ends what a killed process left in a folder of journals: a complete journal is carried out, an incomplete one
// is taken back. To be called once at start, before anything is edited. Files that somebody else changed since then are
// left to him, and named in the error; so is what could not be done.
func Recover(ctx context.Context, folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the edit journals: %w", err)
	}
	var faults []error
	for _, suffix := range []string{journaled, began, ".tmp"} {
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), suffix)
			if !ok {
				continue
			}
			if err := ctx.Err(); err != nil {
				return errors.Join(append(faults, err)...)
			}
			if err := (book{folder, name}).recover(suffix); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return errors.Join(append(faults, expire(folder, entries))...)
}

func (b book) recover(suffix string) error {
	switch suffix {
	case journaled:
		return b.forward()
	case began:
		return b.back()
	default: // a journal that was not yet one
		return gone(os.Remove(b.path(suffix)))
	}
}

// forward carries out a complete journal. When a new content cannot be put in its place nothing is removed: it may be
// that of a file that was to be moved. The journal says so before what is left over goes, so that a recovery that is cut off itself,
// and finds nothing to do the next time, does not take the job for done.
func (b book) forward() error {
	r, err := readRecord(b.path(journaled))
	if err != nil {
		return err
	}
	var faults []error
	for _, removals := range []bool{false, true} {
		spare := removals && (len(faults) > 0 || r.Half)
		for _, s := range r.Steps {
			if (s.Temp == "") != removals {
				continue
			}
			if err := s.forward(spare); err != nil {
				faults = append(faults, fmt.Errorf("finish the edit of %s: %w", filepath.Join(s.Folder, s.Name), err))
			}
			fail.Point("edit.forward")
		}
	}
	if len(faults) > 0 && !r.Half {
		r.Half = true
		if err := b.complete(r); err != nil {
			return errors.Join(append(faults, err)...)
		}
	}
	fail.Point("edit.recovered")
	for _, s := range r.Steps {
		if err := s.back(); err != nil {
			faults = append(faults, err)
		}
		fail.Point("edit.cleared")
	}
	return errors.Join(append(faults, b.done())...)
}

// back takes an incomplete one back: it removes what was staged. Where there is, or was, a journal, there is nothing to take back.
func (b book) back() error {
	r, err := readRecord(b.path(began))
	if errors.Is(err, fs.ErrNotExist) { // forward closed it
		return nil
	}
	if err == nil {
		if b.there(journaled) { // one that could not be read: hands off
			return nil
		}
		if !b.there(finished) {
			err = r.back()
		}
	}
	return errors.Join(err, gone(os.Remove(b.path(began)))) // half a record names nothing: nothing was staged yet
}

func (b book) there(suffix string) bool {
	_, err := os.Lstat(b.path(suffix))
	return err == nil
}

func (r record) back() error {
	var err error
	for _, s := range r.Steps {
		err = errors.Join(err, s.back())
	}
	return errors.Join(err, removeEmpty(r.Made))
}

// expire removes all receipts but the newest.
func expire(folder string, entries []fs.DirEntry) error {
	type receipt struct {
		name string
		at   time.Time
	}
	var receipts []receipt
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), finished) {
			receipts = append(receipts, receipt{e.Name(), info.ModTime()})
		}
	}
	if len(receipts) <= keep {
		return nil
	}
	slices.SortFunc(receipts, func(a, b receipt) int { return b.at.Compare(a.at) })
	var err error
	for _, r := range receipts[keep:] {
		err = errors.Join(err, gone(os.Remove(filepath.Join(folder, r.name))))
	}
	return err
}

// open opens the step's folder, if it is still the one that was meant.
func (s step) open() (*os.Root, error) {
	root, err := os.OpenRoot(s.Folder)
	if err != nil {
		return nil, err
	}
	info, err := root.Stat(".")
	if err == nil && s.FolderID != "" && fsguard.Identity(info) != s.FolderID {
		err = fsguard.ErrMoved
	}
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// forward does what the step says; with spare it does nothing.
func (s step) forward(spare bool) error {
	root, err := s.open()
	if err != nil {
		return err
	}
	switch {
	case spare:
	case s.Temp == "":
		err = s.remove(root)
	default:
		err = s.publish(root)
	}
	return errors.Join(err, syncRoot(root), root.Close())
}

// publish gives the new content its name. When the temporary file is gone, that was done before.
func (s step) publish(root *os.Root) error {
	info, err := root.Lstat(s.Temp)
	if err != nil {
		return gone(err)
	}
	if err := s.genuine(root, info); err != nil {
		return err
	}
	if !s.untouched(root) {
		return fsguard.ErrMoved
	}
	return root.Rename(s.Temp, s.Name)
}

func (s step) remove(root *os.Root) error {
	if _, err := root.Lstat(s.Name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !s.untouched(root) {
		return fsguard.ErrMoved
	}
	return root.Remove(s.Name)
}

// untouched says that the name still stands for what stood there when the journal was written.
func (s step) untouched(root *os.Root) bool {
	now, err := root.Lstat(s.Name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) && s.Was == ""
	}
	return markOf(now) == s.Was
}

// genuine says that the temporary file is the one that was staged, and holds what was staged.
func (s step) genuine(root *os.Root, info fs.FileInfo) error {
	if !info.Mode().IsRegular() || markOf(info) != s.TempMark {
		return fmt.Errorf("%s: %w", s.Temp, fsguard.ErrMoved)
	}
	if s.Hash == "" {
		return nil
	}
	f, err := root.Open(s.Temp)
	if err != nil {
		return err
	}
	h := sha256.New()
	_, err = io.Copy(h, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(h.Sum(nil)) != s.Hash {
		return fmt.Errorf("%s: %w", s.Temp, fsguard.ErrMoved)
	}
	return nil
}

// back removes what was staged for a step, and the second name of what was there. Its names are fresh random ones: nothing else has
// them. A folder that is another one now holds neither.
func (s step) back() error {
	root, err := s.open()
	if errors.Is(err, fsguard.ErrMoved) {
		return nil
	}
	if err != nil {
		return gone(err)
	}
	for _, name := range []string{s.Temp, s.Old} {
		if name != "" && fsguard.IsTemp(name) {
			err = errors.Join(err, gone(root.Remove(name)))
		}
	}
	return errors.Join(err, root.Close())
}

// syncRoot makes the names in a folder durable.
func syncRoot(root *os.Root) error { return syncFolder(root.Name()) }
