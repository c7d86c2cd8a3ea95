package messaging

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fsguard"
	"hob/tools"
	"hob/tools/fs/document"
	"hob/tools/fs/picture"
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
	id    string // the hash of the bytes that are sent; for a file too large to send, its identity and size
	start []byte // its first maxJudged bytes and one more
	why   string // why the owner is asked before it is sent; "": it may go
	drawn []byte // a picture that was drawn anew, which goes in its place
	as    string // the path under which that goes
}

// redraw replaces a picture by one that has its pixels and nothing else: no text, no second frame, nothing behind its end. The owner need not
// be asked about that. He is asked as before about what has another name than a picture, or cannot be drawn.
func (m messenger) redraw(ctx context.Context, e *enclosure) {
	end := filepath.Ext(e.Path)
	if !slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif"}, strings.ToLower(end)) || !picture.Known(e.start) {
		return
	}
	var shown picture.Shown
	err := m.read(*e, func(f io.Reader) (err error) {
		shown, err = document.Show(ctx, m.helper, f, document.Drawing)
		return err
	})
	if err != nil {
		e.why = fmt.Sprintf("%s; it cannot be drawn anew: %v", e.why, err)
		return
	}
	sum := sha256.Sum256(shown.Data)
	e.why, e.drawn, e.id = "", shown.Data, hex.EncodeToString(sum[:])
	e.as = strings.TrimSuffix(e.Path, end) + map[string]string{"image/png": ".png", "image/jpeg": ".jpg"}[shown.MIME]
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
		return enclosure{Place: p, id: fmt.Sprintf("%s %d", p.ID(), p.Info.Size())}, nil
	}
	e := enclosure{Place: p}
	err = m.read(e, func(f io.Reader) error {
		sum := sha256.New()
		all := io.TeeReader(io.LimitReader(f, event.MaxEnclosed+1), sum)
		var err error
		if e.start, err = io.ReadAll(io.LimitReader(all, maxJudged+1)); err == nil {
			_, err = io.Copy(io.Discard, all)
		}
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
			if f.drawn != nil {
				e, err = m.artifacts.Enclose(ctx, f.as, int64(len(f.drawn)), bytes.NewReader(f.drawn))
				return err
			}
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
