// Package atomic changes several files so that either all of them change or none, also when the process is killed
// half-way: every new content is staged beside its file, a journal says what is to be renamed and removed, and only
// then is the first name changed. It judges no paths; the places that it gets were judged by fsguard.
package atomic

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"hob/daemon/fail"
	"hob/daemon/fsguard"
)

// hashLimit is the size, in bytes, up to which new content is told again by its hash too. Beyond that identity, size and time
// must do, as for everything else.
const hashLimit = 4 << 20

// Change is what is to become of one file.
type Change struct {
	Place  fsguard.Place // as it was when Data was made from it
	Data   []byte        // the new content
	Remove bool          // instead of Data
	Like   fs.FileInfo   // the file that a new one takes permission bits and owner from; nil: the usual ones

	// Fill is there instead of Data when the new content is too big for memory: it writes it into an empty file.
	Fill func(*os.File) error
}

// fill writes the new content, from memory or not.
func (ch Change) fill(f *os.File) error {
	if ch.Fill != nil {
		return ch.Fill(f)
	}
	return fsguard.Bytes(ch.Data)(f)
}

// Job is one set of changes.
type Job struct {
	Folder string // where journals lie: a folder of hob's state; it is made
	ID     string // names the job for Took: the same for each try of one call
	Args   []byte // what was asked for: Took compares it
}

// Commit carries out all changes or none. What it returns stands in the order of changes; nil for a removal.
// A file that is no longer what its place says makes it change nothing: fsguard.ErrMoved. The context is asked before
// the journal is complete; after that nothing stops it.
func Commit(ctx context.Context, g *fsguard.Guard, job Job, changes []Change) ([]fs.FileInfo, error) {
	c := commit{guard: g, book: book{job.Folder, nameOf(job.ID)}, changes: changes}
	c.record = c.plan(job)
	if err := c.book.begin(c.record); err != nil {
		return nil, err
	}
	if err := c.stage(ctx); err != nil {
		return nil, errors.Join(err, c.abandon())
	}
	if !fail.Broken("no-journal") {
		if err := c.book.complete(c.record); err != nil {
			return nil, errors.Join(err, c.abandon())
		}
	}
	fail.Point("edit.journal")
	if err := c.apply(); err != nil {
		return nil, errors.Join(err, c.undo())
	}
	return c.infos(), errors.Join(c.settle(), c.book.done())
}

type commit struct {
	guard   *fsguard.Guard
	book    book
	changes []Change
	record  record
	staged  []*fsguard.Staged
	applied int
}

// plan names everything that will be made, before it is made.
func (c *commit) plan(job Job) record {
	r := record{Version: version, Args: digest(job.Args)}
	made := map[string]bool{}
	for _, ch := range c.changes {
		name := filepath.Base(ch.Place.Path)
		s := step{Folder: filepath.Dir(ch.Place.Path), Name: name}
		if !ch.Remove {
			s.Temp = fsguard.TempName(name)
			if ch.Fill == nil && len(ch.Data) <= hashLimit {
				s.Hash = digest(ch.Data)
			}
			for _, dir := range fsguard.Missing(ch.Place) {
				if !made[dir] {
					made[dir] = true
					r.Made = append(r.Made, dir)
				}
			}
		}
		if ch.Place.Exists() {
			s.Old, s.Was = fsguard.TempName(name), markOf(ch.Place.Info)
		}
		r.Steps = append(r.Steps, s)
	}
	return r
}

// stage prepares every change, and makes sure that nothing changed meanwhile.
func (c *commit) stage(ctx context.Context) error {
	for i, ch := range c.changes {
		var s *fsguard.Staged
		var err error
		if ch.Remove {
			s, err = c.guard.StageRemoval(ch.Place)
		} else {
			s, err = c.guard.Stage(ch.Place, c.record.Steps[i].Temp, ch.fill, ch.Like)
		}
		if err != nil {
			return err
		}
		c.staged = append(c.staged, s)
		c.record.Steps[i].FolderID = fsguard.Identity(s.Folder())
		if t := s.Temp(); t != nil {
			c.record.Steps[i].TempMark = markOf(t)
		}
		fail.Point("edit.staged")
	}
	for i, s := range c.staged {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.Check(); err != nil {
			return err
		}
		if len(c.staged) == 1 {
			return nil // one rename is all or nothing by itself: there is nothing to undo
		}
		if err := s.Keep(c.record.Steps[i].Old); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) apply() error {
	for _, s := range c.staged {
		if err := s.Apply(); err != nil {
			return err
		}
		c.applied++
		fail.Point("edit.renamed")
	}
	return nil
}

// undo brings back what was applied when a later change could not be, and forgets the journal.
func (c *commit) undo() error {
	var err error
	for i := c.applied - 1; i >= 0; i-- {
		err = errors.Join(err, c.staged[i].Restore(c.record.Steps[i].Old))
	}
	return errors.Join(err, c.abandon())
}

// abandon removes everything that was staged.
func (c *commit) abandon() error {
	var err error
	for i, s := range c.staged {
		err = errors.Join(err, s.Forget(c.record.Steps[i].Old), s.Discard())
	}
	return errors.Join(err, removeEmpty(c.record.Made), c.book.forget())
}

// settle makes everything durable and removes the second names of the old files.
func (c *commit) settle() error {
	var err error
	for _, s := range c.staged {
		err = errors.Join(err, s.Sync())
	}
	for i, s := range c.staged {
		err = errors.Join(err, s.Forget(c.record.Steps[i].Old), s.Close())
	}
	return err
}

func (c *commit) infos() []fs.FileInfo {
	infos := make([]fs.FileInfo, len(c.staged))
	for i, s := range c.staged {
		infos[i] = s.Temp()
	}
	return infos
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// nameOf makes a file name out of a job's id.
func nameOf(id string) string { return digest([]byte(id))[:24] }

// markOf tells a file again: by identity, size and time.
func markOf(info fs.FileInfo) string {
	return fmt.Sprintf("%s %d %d", fsguard.Identity(info), info.Size(), info.ModTime().UnixNano())
}
