// Package artifacts stores large results and attachments as files in state/artifacts, with one row each. An attachment also gets a copy
// in the workspace, where tools can read it. The package never parses what it stores.
//
// The order is always the same: write the bytes durably, then commit the row. A crash between the two leaves a file without a row, which
// Sweep removes at the next start.
package artifacts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
	"hob/tools"
	"hob/tools/sessions"
)

// Artifact is the row of a file in state/artifacts. The file's name is the ID.
type Artifact struct {
	ID     string
	SHA256 string
	Size   int64 // bytes
	Name   string
	MIME   string // "": not determined
	Trust  event.Trust
	Source string
}

// Rows commits the rows of artifacts. The store implements it.
type Rows interface {
	// KeepArtifact stores the row of an artifact whose bytes are already durable.
	KeepArtifact(ctx context.Context, a Artifact) error
	// Reserve returns the number of the future inbox row of an input with files. It never returns a number twice. If the input was
	// already accepted, seq is 0 and r is the receipt of the first time.
	Reserve(ctx context.Context, in event.In) (seq int64, r event.Receipt, err error)
	// AcceptFiles commits an input under a reserved number, together with the rows of its files. If the input was already accepted, it
	// stores nothing.
	AcceptFiles(ctx context.Context, seq int64, in event.In, files []Artifact) (event.Receipt, error)
	// ForgetEnclosed removes the rows of files that were sent with messages and are no longer needed, and returns their artifact ids.
	ForgetEnclosed(ctx context.Context) ([]string, error)
}

// View reads the rows of artifacts.
type View interface {
	// ArtifactNamed returns an artifact, or an event.Fault of kind Missing.
	ArtifactNamed(ctx context.Context, id string) (Artifact, error)
	// Abandoned reports whether a number was reserved for an inbox row that was never committed.
	Abandoned(ctx context.Context, seq int64) (bool, error)
}

// Store stores the bytes. Every field must be set.
type Store struct {
	Dir       string // the folder of the artifacts; made if missing
	Workspace string
	Rows      Rows
	View      View
	IDs       sys.IDs
}

// Keep stores bytes that hob or the owner made, with a name for people, and returns the id.
func (s Store) Keep(ctx context.Context, name string, data []byte) (string, error) {
	return s.keep(ctx, Artifact{Name: name, Trust: event.Owner, Source: "tool"}, data)
}

// KeepForeign stores foreign bytes, with a name for people, and returns the id. source says briefly where they come from. A turn that
// reads the artifact later gets this source and counts as having read foreign text.
func (s Store) KeepForeign(ctx context.Context, name, source string, data []byte) (string, error) {
	return s.keep(ctx, Artifact{Name: name, Trust: event.Public, Source: source}, data)
}

// keep writes the bytes durably, then commits the row.
func (s Store) keep(ctx context.Context, row Artifact, data []byte) (string, error) {
	a, err := s.put(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	a.Name, a.Trust, a.Source = row.Name, row.Trust, row.Source
	return a.ID, s.Rows.KeepArtifact(ctx, a)
}

// put writes the bytes of an artifact durably. The caller completes and commits the row.
func (s Store) put(data io.Reader) (Artifact, error) {
	w, err := s.create()
	if err != nil {
		return Artifact{}, err
	}
	if _, err := io.Copy(w, data); err != nil {
		return w.row, errors.Join(fmt.Errorf("write artifact: %w", err), w.Discard())
	}
	err = w.end()
	return w.row, err
}

// Writer is an artifact whose bytes arrive in pieces. Keep or Discard ends it. It has no row until Keep, so Sweep removes it after a crash.
type Writer struct {
	store Store
	row   Artifact
	root  *os.Root
	file  *os.File
	sum   hash.Hash
}

// Create makes the file of an artifact.
func (s Store) Create() (tools.ArtifactWriter, error) { return s.create() }

func (s Store) create() (*Writer, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make artifact folder: %w", err)
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("open artifact folder: %w", err)
	}
	w := &Writer{store: s, row: Artifact{ID: "a" + s.IDs.Code(9)}, root: root, sum: sha256.New()}
	if w.file, err = root.OpenFile(w.row.ID, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("make artifact: %w", err), root.Close())
	}
	return w, nil
}

// Write appends bytes.
func (w *Writer) Write(data []byte) (int, error) {
	n, err := w.file.Write(data)
	_, _ = w.sum.Write(data[:n]) // never fails
	w.row.Size += int64(n)
	return n, err
}

// Sync makes the written bytes durable. A caller that still waits for other work saves this time at the end.
func (w *Writer) Sync() error { return w.file.Sync() }

// Keep stores the artifact with a name for people and returns its id. source says where foreign bytes come from; it is "" for those that hob or
// the owner made.
func (w *Writer) Keep(ctx context.Context, name, source string) (string, error) {
	if err := w.end(); err != nil {
		return "", err
	}
	w.row.Name, w.row.Trust, w.row.Source = name, event.Owner, "tool"
	if source != "" {
		w.row.Trust, w.row.Source = event.Public, source
	}
	return w.row.ID, w.store.Rows.KeepArtifact(ctx, w.row)
}

// end makes the file durable with its name. After an error the file does not exist.
func (w *Writer) end() error {
	if err := w.file.Sync(); err != nil {
		return errors.Join(fmt.Errorf("write artifact: %w", err), w.Discard())
	}
	err := w.file.Close()
	if err == nil {
		err = sys.SyncFolderIn(w.root, ".")
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write artifact: %w", err), w.root.Remove(w.row.ID), w.root.Close())
	}
	w.row.SHA256 = hex.EncodeToString(w.sum.Sum(nil))
	fail.Point("artifact.written")
	return w.root.Close()
}

// Discard removes the file.
func (w *Writer) Discard() error {
	return errors.Join(w.file.Close(), w.root.Remove(w.row.ID), w.root.Close())
}

// writeDurable makes a new file. When it returns without an error, the file has its name and all its bytes durably; after an error the
// file does not exist.
func writeDurable(root *os.Root, name string, data io.Reader) (size int64, err error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(f, data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = sys.SyncFolderIn(root, path.Dir(name))
	}
	if err != nil {
		return 0, errors.Join(err, root.Remove(name))
	}
	return size, nil
}

// Open opens a stored artifact for reading.
func (s Store) Open(ctx context.Context, id string) (sessions.Artifact, error) {
	a, err := s.View.ArtifactNamed(ctx, id)
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing {
		return sessions.Artifact{}, sessions.ErrNoArtifact
	}
	if err != nil {
		return sessions.Artifact{}, err
	}
	f, err := os.Open(filepath.Join(s.Dir, a.ID)) // #nosec G304 -- the id comes from a row
	if err != nil {
		return sessions.Artifact{}, fmt.Errorf("open artifact: %w", err)
	}
	return sessions.Artifact{Name: a.Name, Size: a.Size, Trust: a.Trust, Source: a.Source, Body: f}, nil
}

// maxBytes is the largest artifact that Bytes returns.
const maxBytes = 8 << 20

// Bytes returns the content of an artifact for a model, at most 8 MB. The error says whether the artifact is missing or too large.
func (s Store) Bytes(ctx context.Context, id string) ([]byte, error) {
	a, err := s.Open(ctx, id)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(a.Body, maxBytes+1))
	if err = errors.Join(err, a.Body.Close()); err != nil {
		return nil, fmt.Errorf("read artifact %s: %w", id, err)
	}
	if len(data) > maxBytes {
		return nil, event.NewFault(event.Invalid, "", "artifact %s has more than %d MB", id, maxBytes>>20)
	}
	return data, nil
}

// Sweep removes what an unfinished write has left: artifacts without a row, and attachment folders of messages that were never accepted.
// It runs at start.
func (s Store) Sweep(ctx context.Context) error {
	files, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list artifacts: %w", err)
	}
	for _, f := range files {
		_, err := s.View.ArtifactNamed(ctx, f.Name())
		if fault, ok := event.AsFault(err); ok && fault.Kind == event.Missing && strings.HasPrefix(f.Name(), "a") {
			err = os.Remove(filepath.Join(s.Dir, f.Name()))
		}
		if err != nil {
			return fmt.Errorf("sweep artifacts: %w", err)
		}
	}
	return s.sweepCopies(ctx)
}
