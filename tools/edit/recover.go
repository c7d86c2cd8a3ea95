package edit

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
	"hob/daemon/sys"
)

// errHalf says that the outcome of a job is unknown: only a part of it was done, or its journal
// cannot be read.
var errHalf = errors.New("it was interrupted and could not be completed")

// committed reports whether a job was done completely; errHalf if only a part of it was. Call it
// after Recover.
func committed(of job) (bool, error) {
	b := journal{of.Folder, nameOf(of.ID)}
	r, err := readRecord(b.path(finished))
	switch {
	case errors.Is(err, fs.ErrNotExist) && b.there(journaled):
		return false, errHalf
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	// A receipt with other arguments belongs to another call with the same id.
	case err != nil || r.Args != digest(of.Args):
		return false, err
	case r.Half:
		return false, errHalf
	}
	return true, nil
}

// Recover cleans up after a killed process: it completes the jobs with a complete journal and
// reverts the others. Call it once at start, before any turn resumes. It does not touch files that somebody
// else changed meanwhile. Its error names them, and everything else that failed.
func Recover(ctx context.Context, folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the edit journals: %w", err)
	}
	var faults []error
	// Journals come first: a job with a journal must be completed before its other records are
	// removed.
	for _, suffix := range []string{journaled, began, ".tmp"} {
		for _, e := range entries {
			name, ok := strings.CutSuffix(e.Name(), suffix)
			if !ok {
				continue
			}
			if err := ctx.Err(); err != nil {
				return errors.Join(append(faults, err)...)
			}
			// One broken job must not keep the others from being recovered.
			if err := (journal{folder, name}).recover(suffix); err != nil {
				faults = append(faults, err)
			}
		}
	}
	return errors.Join(append(faults, expire(folder, entries))...)
}

// recover handles one record by its suffix.
func (b journal) recover(suffix string) error {
	switch suffix {
	case journaled:
		return b.forward()
	case began:
		return b.back()
	default: // a journal that was not complete
		return gone(os.Remove(b.path(suffix)))
	}
}

// forward completes the job of a journal. If a new content cannot be put in place, it removes no
// file: that file may be the source of a move. It first marks the journal as half done and only
// then removes the leftovers. Otherwise a second recovery, after another kill, would find nothing
// left to do and report the job as done.
func (b journal) forward() error {
	r, err := readRecord(b.path(journaled))
	if err != nil {
		return err
	}
	var faults []error
	// New contents come first, then removals: a removed file may be the source of a move.
	for _, removals := range []bool{false, true} {
		skip := removals && (len(faults) > 0 || r.Half)
		for _, s := range r.Steps {
			if (s.Temp == "") != removals {
				continue
			}
			if err := s.forward(skip); err != nil {
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

// back reverts a job without a journal: it removes what was staged. It does nothing if a journal or
// a receipt exists.
func (b journal) back() error {
	r, err := readRecord(b.path(began))
	if errors.Is(err, fs.ErrNotExist) { // forward has completed it
		return nil
	}
	if err == nil {
		if b.there(journaled) { // it could not be read: leave everything as it is
			return nil
		}
		if !b.there(finished) {
			err = r.back()
		}
	}
	return errors.Join(err, gone(os.Remove(b.path(began)))) // an incomplete record: nothing was staged yet
}

// there reports whether a record exists.
func (b journal) there(suffix string) bool {
	_, err := os.Lstat(b.path(suffix))
	return err == nil
}

// back removes everything that the steps of a record have staged.
func (r record) back() error {
	var err error
	for _, s := range r.Steps {
		err = errors.Join(err, s.back())
	}
	return errors.Join(err, removeEmpty(r.Made))
}

// expire removes all receipts except the newest.
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
	if len(receipts) <= keptReceipts {
		return nil
	}
	// Newest first: the receipts after keptReceipts are the oldest.
	slices.SortFunc(receipts, func(a, b receipt) int { return b.at.Compare(a.at) })
	var err error
	for _, r := range receipts[keptReceipts:] {
		err = errors.Join(err, gone(os.Remove(filepath.Join(folder, r.name))))
	}
	return err
}

// open opens the folder of the step, if it is still the same folder.
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

// forward carries out the step. With skip it only syncs the folder.
func (s step) forward(skip bool) error {
	root, err := s.open()
	if err != nil {
		return err
	}
	switch {
	case skip:
	case s.Temp == "":
		err = s.remove(root)
	default:
		err = s.publish(root)
	}
	return errors.Join(err, sys.SyncFolderIn(root, "."), root.Close())
}

// publish renames the temporary file to its target. If the temporary file is gone, that has been
// done before.
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

// remove removes the target, if it is unchanged.
func (s step) remove(root *os.Root) error {
	if _, err := root.Lstat(s.Name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !s.untouched(root) {
		return fsguard.ErrMoved
	}
	return root.Remove(s.Name)
}

// untouched reports whether the target is still the file that the journal recorded.
func (s step) untouched(root *os.Root) bool {
	now, err := root.Lstat(s.Name)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) && s.Was == ""
	}
	return markOf(now) == s.Was
}

// genuine checks that the temporary file is the one that was staged, with the same content.
func (s step) genuine(root *os.Root, info fs.FileInfo) error {
	if !info.Mode().IsRegular() || markOf(info) != s.TempMark {
		return fmt.Errorf("%s: %w", s.Temp, fsguard.ErrMoved)
	}
	// Without a hash, the mark above must suffice.
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

// back removes the temporary file of a step and the second name of its old file. Both names are
// random, so no other file has them. If the folder has been replaced, the new one contains neither.
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
