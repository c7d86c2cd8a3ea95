package edit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"hob/daemon/fail"
	"hob/daemon/fsguard"
)

// fileChange says what to do with one file.
type fileChange struct {
	Place  fsguard.Place // the file that Data is based on
	Data   []byte        // the new content
	Remove bool          // remove the file; Data is ignored
	Like   fs.FileInfo   // a new file copies permission bits and owner from it; nil: defaults

	// Long replaces Data if the content is too large for memory.
	Long *longText
}

// content returns the new content from either source.
func (ch fileChange) content() fsguard.Content {
	if ch.Long == nil {
		return fsguard.Bytes(ch.Data)
	}
	return fsguard.Content{Write: ch.Long.Fill, Read: func() io.Reader { return io.NewSectionReader(ch.Long, 0, ch.Long.Size()) }}
}

// job identifies one set of changes.
type job struct {
	Folder string // the journal folder, in hob's state; created when needed
	ID     string // identifies the job for committed: the same for each try of a call
	Args   []byte // the arguments of the call, which committed compares
}

// commitFiles changes several files so that either all of them change or none, even if the process
// is killed in between. First it writes each new content into a temporary file beside its target. Then
// it writes a journal that lists all renames and removals. Only then does it rename the first file.
// When the process is killed, Recover completes a job whose journal is complete, and reverts any
// other. A receipt remains for each finished job, so that committed can tell an interrupted turn what
// happened. It checks no paths: the path guard has resolved the places that it gets.
//
// It returns the new file infos in the order of changes, nil for a removal. If a file has changed since its Place was resolved, it changes nothing and
// returns fsguard.ErrMoved. A cancelled context stops it only before the journal is complete.
func commitFiles(ctx context.Context, g *fsguard.Guard, id job, changes []fileChange) ([]fs.FileInfo, error) {
	c := commit{guard: g, journal: journal{id.Folder, nameOf(id.ID)}, changes: changes}
	// Every temporary name is on record before its file exists, so that Recover can remove it.
	c.record = c.plan(id)
	if err := c.journal.begin(c.record); err != nil {
		return nil, err
	}
	// Slow work comes first: contents are written and synced while everything can still be reverted.
	if err := c.stage(ctx); err != nil {
		return nil, errors.Join(err, c.abandon())
	}
	if !fail.Broken("no-journal") {
		if err := c.journal.complete(c.record); err != nil {
			return nil, errors.Join(err, c.abandon())
		}
	}
	// From here on a kill no longer reverts the job: Recover completes it.
	fail.Point("edit.journal")
	if err := c.apply(); err != nil {
		return nil, errors.Join(err, c.undo())
	}
	return c.infos(), errors.Join(c.settle(), c.journal.done())
}

// commit is one running job.
type commit struct {
	guard   *fsguard.Guard
	journal journal
	changes []fileChange
	record  record
	staged  []*fsguard.Staged
	applied int
}

// plan names every file and folder that the job will create, before it creates any.
func (c *commit) plan(id job) record {
	r := record{Version: version, Args: digest(id.Args)}
	made := map[string]bool{}
	for _, ch := range c.changes {
		name := filepath.Base(ch.Place.Path)
		s := step{Folder: filepath.Dir(ch.Place.Path), Name: name}
		if !ch.Remove {
			s.Temp = fsguard.TempName(name)
			// Recover checks the content by its hash. A larger file is identified by its mark only.
			if ch.Long == nil && len(ch.Data) <= hashLimit {
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

// stage prepares every change and then checks that no file changed meanwhile.
func (c *commit) stage(ctx context.Context) error {
	for i, ch := range c.changes {
		var s *fsguard.Staged
		var err error
		if ch.Remove {
			s, err = c.guard.StageRemoval(ch.Place)
		} else {
			s, err = c.guard.Stage(ch.Place, c.record.Steps[i].Temp, ch.content(), ch.Like)
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
			return nil // a single rename is atomic: nothing to undo
		}
		// Several files: keep the old ones under second names, so that undo can restore them.
		if err := s.Keep(c.record.Steps[i].Old); err != nil {
			return err
		}
	}
	return nil
}

// apply renames and removes the files.
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

// undo restores the files that were changed before a later change failed, and removes the journal.
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
	return errors.Join(err, removeEmpty(c.record.Made), c.journal.forget())
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

// infos returns the new file infos.
func (c *commit) infos() []fs.FileInfo {
	infos := make([]fs.FileInfo, len(c.staged))
	for i, s := range c.staged {
		infos[i] = s.Temp()
	}
	return infos
}

// digest returns the SHA-256 of data in hex.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// nameOf derives a file name from the id of a job.
func nameOf(id string) string { return digest([]byte(id))[:24] }

// markOf identifies a version of a file by identity, size and time.
func markOf(info fs.FileInfo) string {
	return fmt.Sprintf("%s %d %d", fsguard.Identity(info), info.Size(), info.ModTime().UnixNano())
}
