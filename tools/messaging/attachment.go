package messaging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/tools"
)

// Artifacts stores the bytes of attached files.
type Artifacts interface {
	// Enclose stores the bytes of a file durably, so that later changes of the file do not matter;
	// path says where the file comes from. The message's commit writes the row. It stores no bytes
	// of a file that is too large for any channel.
	Enclose(ctx context.Context, path string, size int64, data io.Reader) (event.Enclosed, error)
}

// enclosure is an attached file in the state that the intent has seen and the owner may have
// approved. Exactly this state is sent.
type enclosure struct {
	fsguard.Place
	id string // the hash of its bytes; for a file too large to send, its identity and size
}

// look resolves a file and hashes its content.
func (m messenger) look(base, path string) (enclosure, error) {
	p, err := m.guard.Resolve(base, path)
	switch {
	case err != nil:
		return enclosure{}, tools.Refuse(tools.Validation, "", "attachments: %v", err)
	case p.Area == fsguard.State:
		return enclosure{}, tools.Refuse(tools.Denied, "", "attachments: %s: this is hob's own state; no tool may reach it", path)
	case !p.Exists() || !p.Info.Mode().IsRegular():
		return enclosure{}, tools.Refuse(tools.NotFound, "ls shows what is there", "attachments: there is no file %s", path)
	case p.Info.Size() > event.MaxEnclosed:
		return enclosure{p, fmt.Sprintf("%s %d", p.ID(), p.Info.Size())}, nil
	}
	e := enclosure{Place: p}
	err = m.read(e, func(f io.Reader) error {
		sum := sha256.New()
		_, err := io.Copy(sum, io.LimitReader(f, event.MaxEnclosed+1))
		e.id = hex.EncodeToString(sum.Sum(nil))
		return err
	})
	return e, err
}

// enclose stores the bytes of the files.
func (m messenger) enclose(ctx context.Context, files []enclosure) (list []event.Enclosed, err error) {
	for _, f := range files {
		var e event.Enclosed
		err := m.read(f, func(r io.Reader) (err error) {
			e, err = m.artifacts.Enclose(ctx, f.Path, f.Info.Size(), r)
			return err
		})
		if err != nil {
			return nil, err
		}
		// The owner may have approved the file by its hash, so a changed one is refused.
		if e.SHA256 != "" && e.SHA256 != f.id {
			return nil, changed(f.Path)
		}
		list = append(list, e)
	}
	return list, nil
}

// read opens a file if it is still the same one.
func (m messenger) read(e enclosure, use func(io.Reader) error) (err error) {
	f, err := m.guard.Open(e.Place)
	if err == nil {
		err = use(f)
		err = errors.Join(err, f.Close())
	}
	switch {
	case errors.Is(err, fsguard.ErrMoved), errors.Is(err, fs.ErrNotExist):
		return changed(e.Path)
	case errors.Is(err, fs.ErrPermission):
		return tools.Refuse(tools.Denied, "", "attachments: %s may not be read", e.Path)
	case err != nil:
		return tools.Refuse(tools.IO, "", "attachments: %v", err)
	}
	return nil
}

// changed refuses a file that changed after the intent.
func changed(path string) error {
	return tools.Refuse(tools.Conflict, "call it again if it is still the right one", "attachments: %s has changed since it was checked", path)
}
