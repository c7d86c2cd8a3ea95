package edit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/sys"
)

// version is the version of the journal format. Journals of another version are left alone.
const version = 1

// Suffixes of the files in a journal folder, after the name of the job.
const (
	began     = ".began"   // lists what is being staged; without a journal it is reverted
	journaled = ".journal" // lists the renames and removals; once it exists, they will be completed
	finished  = ".done"    // the receipt of a finished job, for committed
)

// keptReceipts is how many receipts survive a start. An interrupted turn asks for its receipt when hob
// starts again.
const keptReceipts = 1000

// record is the content of a journal.
type record struct {
	Version int      `json:"version"`
	Args    string   `json:"args"` // hash of the call's arguments
	Steps   []step   `json:"steps"`
	Made    []string `json:"made,omitempty"` // folders that the job creates, outermost first
	Half    bool     `json:"half,omitempty"` // recovery could not complete it, so the outcome is unknown
}

// step is the change of one file. Names are relative to Folder.
type step struct {
	Folder   string `json:"folder"`
	FolderID string `json:"folder_id"` // device and inode
	Name     string `json:"name"`
	Temp     string `json:"temp,omitempty"`      // the new content; "": a removal
	TempMark string `json:"temp_mark,omitempty"` // markOf the new content
	Hash     string `json:"hash,omitempty"`      // SHA-256 of the new content; "": too large
	Old      string `json:"old,omitempty"`       // second name of the old file
	Was      string `json:"was,omitempty"`       // markOf the old file
}

// journal is the place of one job's records. The files belong to hob's own state, which no tool can
// reach, so plain system calls suffice to write them.
type journal struct{ folder, name string }

// path returns the path of one record of the job.
func (b journal) path(suffix string) string { return filepath.Join(b.folder, b.name+suffix) }

// begin records what will be staged. It need not survive a power failure: that only leaves a
// temporary file behind.
func (b journal) begin(r record) error {
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		return fmt.Errorf("folder of the edit journal: %w", err)
	}
	raw, err := json.Marshal(r)
	if err == nil {
		// A receipt of an earlier try must not count for this one.
		err = errors.Join(gone(os.Remove(b.path(finished))), os.WriteFile(b.path(began), raw, 0o600))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("begin the edit journal: %w", err), gone(os.Remove(b.path(began))))
	}
	return nil
}

// complete writes the journal atomically and makes it durable.
func (b journal) complete(r record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the edit journal: %w", err)
	}
	// Recover takes any file with the suffix of a journal for complete, so the name comes last.
	temp := b.path(".tmp")
	err = writeDurably(temp, raw)
	if err == nil {
		err = os.Rename(temp, b.path(journaled))
	}
	if err == nil {
		err = sys.SyncFolder(b.folder)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the edit journal: %w", err), gone(os.Remove(temp)))
	}
	return nil
}

// done turns the journal into a receipt.
func (b journal) done() error {
	// One rename ends the job and leaves the receipt: no kill can come between the two.
	if err := os.Rename(b.path(journaled), b.path(finished)); err != nil {
		return fmt.Errorf("close the edit journal: %w", err)
	}
	if err := gone(os.Remove(b.path(began))); err != nil {
		return fmt.Errorf("close the edit journal: %w", err)
	}
	return sys.SyncFolder(b.folder)
}

// forget removes every record of the job. The journal goes first, because its presence would
// complete the job.
func (b journal) forget() error {
	err := gone(os.Remove(b.path(journaled)))
	if err == nil {
		err = errors.Join(sys.SyncFolder(b.folder), gone(os.Remove(b.path(began))), gone(os.Remove(b.path(".tmp"))))
	}
	if err != nil {
		return fmt.Errorf("forget the edit journal: %w", err)
	}
	return nil
}

// readRecord reads a record and checks that its names stay inside their folders.
func readRecord(path string) (record, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return record{}, fmt.Errorf("read the edit journal: %w", err)
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("read the edit journal %s: %w", filepath.Base(path), err)
	}
	if r.Version != version {
		return r, fmt.Errorf("the edit journal %s has version %d, not %d", filepath.Base(path), r.Version, version)
	}
	for _, s := range r.Steps {
		if !filepath.IsAbs(s.Folder) || !plainName(s.Name) || s.Temp != "" && !plainName(s.Temp) || s.Old != "" && !plainName(s.Old) {
			return r, fmt.Errorf("the edit journal %s has an invalid file name", filepath.Base(path))
		}
	}
	return r, nil
}

// plainName reports whether a name is a file name without a path.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") && name == filepath.Base(name)
}

// writeDurably writes a file and syncs it.
func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// removeEmpty removes the folders that the job created, innermost first. It keeps a folder that is
// no longer empty, and follows no symbolic links.
func removeEmpty(made []string) error {
	var err error
	for _, dir := range slices.Backward(made) {
		// A link on the way would lead to a folder that the job has not created.
		if real, looking := filepath.EvalSymlinks(dir); looking != nil || real != dir {
			err = errors.Join(err, gone(looking))
			continue
		}
		if entries, listing := os.ReadDir(dir); listing != nil || len(entries) > 0 {
			err = errors.Join(err, gone(listing))
			continue
		}
		err = errors.Join(err, gone(os.Remove(dir)))
	}
	return err
}

// gone ignores the error that a file does not exist.
func gone(err error) error {
	return sys.Except(err, fs.ErrNotExist)
}
