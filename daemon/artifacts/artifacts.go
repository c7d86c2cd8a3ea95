// Package artifacts keeps large results and attachments as files in state/artifacts, one row each. An attachment also gets a copy in
// the workspace, where tools can read it. The package never parses what it stores.
package artifacts

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
	"hob/tools/sessions"
)

// Artifact is the row of bytes that lie in state/artifacts under its ID.
type Artifact struct {
	ID     string
	SHA256 string
	Size   int64 // bytes
	Name   string
	MIME   string // "" where nobody asked
	Trust  event.Trust
	Source string
}

// Rows is where the rows are committed.
type Rows interface {
	// KeepArtifact stores the row of an artifact whose bytes are durable already.
	KeepArtifact(ctx context.Context, a Artifact) error
	// Reserve gives out the number of the inbox row that an input with files will have, never twice. For an input that is there
	// already seq is 0, and the receipt has the numbers of the first one.
	Reserve(ctx context.Context, in event.In) (seq int64, r event.Receipt, err error)
	// AcceptFiles commits an input under a reserved number together with the rows of its files. When the input is there already,
	// nothing is stored.
	AcceptFiles(ctx context.Context, seq int64, in event.In, files []Artifact) (event.Receipt, error)
	// ForgetEnclosed removes the rows of files that went with messages and are not needed any more, and returns their artifacts.
	ForgetEnclosed(ctx context.Context) ([]string, error)
}

// View is where the rows are read.
type View interface {
	// ArtifactNamed finds an artifact; an event.Fault of kind Missing when there is none.
	ArtifactNamed(ctx context.Context, id string) (Artifact, error)
	// Abandoned reports whether a number was given out for an inbox row that never came.
	Abandoned(ctx context.Context, seq int64) (bool, error)
}

// Store keeps bytes. Every field must be set.
type Store struct {
	Dir       string // of the artifacts; made when missing
	Workspace string
	Rows      Rows
	View      View
	IDs       sys.IDs
}

// Keep keeps what hob itself or the owner made, under a name for people.
func (s Store) Keep(ctx context.Context, name string, data []byte) (string, error) {
	return s.keep(ctx, Artifact{Name: name, Trust: event.Owner, Source: "tool"}, data)
}

// KeepForeign keeps somebody else's bytes, under a name for people. source says in a few words where they are from: who reads the
// artifact later is told so, and his turn counts as one that has read foreign text.
func (s Store) KeepForeign(ctx context.Context, name, source string, data []byte) (string, error) {
	return s.keep(ctx, Artifact{Name: name, Trust: event.Public, Source: source}, data)
}

// keep writes the bytes, makes them durable, and then commits the row: a file without a row is swept at start.
func (s Store) keep(ctx context.Context, row Artifact, data []byte) (string, error) {
	a, err := s.put(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	a.Name, a.Trust, a.Source = row.Name, row.Trust, row.Source
	return a.ID, s.Rows.KeepArtifact(ctx, a)
}

// put writes the bytes of an artifact and makes them durable. Its row is for the caller to complete and to commit.
func (s Store) put(data io.Reader) (a Artifact, err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return a, fmt.Errorf("make artifact folder: %w", err)
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return a, fmt.Errorf("open artifact folder: %w", err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	a, sum := Artifact{ID: "a" + s.IDs.Code(9)}, sha256.New()
	if a.Size, err = writeDurable(root, a.ID, io.TeeReader(data, sum)); err != nil {
		return a, fmt.Errorf("write artifact: %w", err)
	}
	a.SHA256 = hex.EncodeToString(sum.Sum(nil))
	fail.Point("artifact.written")
	return a, nil
}

// writeDurable makes a new file, which is there with its name and all its bytes when it returns; after an error it is not there.
func writeDurable(root *os.Root, name string, data io.Reader) (size int64, err error) {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	size, err = io.Copy(f, data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = syncFolder(root, path.Dir(name))
	}
	if err != nil {
		return 0, errors.Join(err, root.Remove(name))
	}
	return size, nil
}

// syncFolder makes the names in a folder durable, where folders can be synced.
func syncFolder(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) { // a file system that has no fsync for folders
		err = nil
	}
	return errors.Join(err, f.Close())
}

// Open opens a shelved result for reading.
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

// maxBytes is the largest artifact that Bytes hands out.
const maxBytes = 8 << 20

// Bytes returns the content of an artifact, for a model: 8 MB at most. One that is not there, or is larger, is an error that says so.
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

// Sweep removes what was being written when hob ended: files of the shelf that have no row, and folders of attachments whose message
// was never accepted.
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
