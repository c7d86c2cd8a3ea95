package atomic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// version is that of the journal's form. A journal of another version is left alone.
const version = 1

// The names in a folder of journals, after the name of the job.
const (
	began     = ".began"   // what is being staged; without a journal it is taken back
	journaled = ".journal" // what is to be renamed and removed; once it is there, all of it will be
	finished  = ".done"    // it was all done; kept for Took
)

// keep is how many receipts of finished jobs outlive a start: a turn that was interrupted asks for one when hob starts again.
const keep = 1000

// record is the journal of one job.
type record struct {
	Version int      `json:"version"`
	Args    string   `json:"args"` // hash of what was asked for
	Steps   []step   `json:"steps"`
	Made    []string `json:"made,omitempty"` // folders that did not exist before, the outermost first
	Half    bool     `json:"half,omitempty"` // recovery could not do all of it: nobody can say that it was done, or that it was not
}

// step is one file. Names are relative to Folder.
type step struct {
	Folder   string `json:"folder"`
	FolderID string `json:"folder_id"` // device and inode
	Name     string `json:"name"`
	Temp     string `json:"temp,omitempty"`      // the new content; "": a removal
	TempMark string `json:"temp_mark,omitempty"` // the new content, as markOf tells it
	Hash     string `json:"hash,omitempty"`      // of the new content, SHA-256; "" of a big one
	Old      string `json:"old,omitempty"`       // second name of what was there before
	Was      string `json:"was,omitempty"`       // what was there before, as markOf tells it
}

// book is the place of one job's records. Its files are hob's own state: they are written with plain system calls,
// because no tool may reach them.
type book struct{ folder, name string }

func (b book) path(suffix string) string { return filepath.Join(b.folder, b.name+suffix) }

// begin notes what will be staged. It need not survive a power cut: then a temporary file stays behind, nothing else.
func (b book) begin(r record) error {
	if err := os.MkdirAll(b.folder, 0o700); err != nil {
		return fmt.Errorf("folder of the edit journal: %w", err)
	}
	raw, err := json.Marshal(r)
	if err == nil {
		err = errors.Join(gone(os.Remove(b.path(finished))), os.WriteFile(b.path(began), raw, 0o600))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("begin the edit journal: %w", err), gone(os.Remove(b.path(began))))
	}
	return nil
}

// complete makes the journal durable, at once and whole.
func (b book) complete(r record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write the edit journal: %w", err)
	}
	temp := b.path(".tmp")
	err = writeDurably(temp, raw)
	if err == nil {
		err = os.Rename(temp, b.path(journaled))
	}
	if err == nil {
		err = syncFolder(b.folder)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the edit journal: %w", err), gone(os.Remove(temp)))
	}
	return nil
}

// done turns the journal into the receipt.
func (b book) done() error {
	if err := os.Rename(b.path(journaled), b.path(finished)); err != nil {
		return fmt.Errorf("close the edit journal: %w", err)
	}
	if err := gone(os.Remove(b.path(began))); err != nil {
		return fmt.Errorf("close the edit journal: %w", err)
	}
	return syncFolder(b.folder)
}

// forget removes every trace of the job. The journal goes first: while it is there, the job would be done.
func (b book) forget() error {
	err := gone(os.Remove(b.path(journaled)))
	if err == nil {
		err = errors.Join(syncFolder(b.folder), gone(os.Remove(b.path(began))), gone(os.Remove(b.path(".tmp"))))
	}
	if err != nil {
		return fmt.Errorf("forget the edit journal: %w", err)
	}
	return nil
}

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
		return r, fmt.Errorf("the edit journal %s is of version %d, not %d", filepath.Base(path), r.Version, version)
	}
	for _, s := range r.Steps {
		if !filepath.IsAbs(s.Folder) || !plain(s.Name) || s.Temp != "" && !plain(s.Temp) || s.Old != "" && !plain(s.Old) {
			return r, fmt.Errorf("the edit journal %s names no files", filepath.Base(path))
		}
	}
	return r, nil
}

// plain says that a name is one of a file in a folder, and leads nowhere else.
func plain(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") && name == filepath.Base(name)
}

func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// removeEmpty takes back folders that were made, the innermost first. One that somebody put something into stays, and so does
// what a link on the way leads to.
func removeEmpty(made []string) error {
	var err error
	for _, dir := range slices.Backward(made) {
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

// gone forgives that something is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
