package daemon

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/ident"
	"hob/daemon/store"
	"hob/tools/sessions"
)

// shelf keeps large results as files in state/artifacts, each with a row.
type shelf struct {
	dir   string
	store *store.Store
	ids   ident.Source
}

// Keep writes the bytes, makes them durable, and then commits the row: a file without a row is swept at start.
func (s shelf) Keep(ctx context.Context, name string, data []byte) (string, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return "", fmt.Errorf("make artifact folder: %w", err)
	}
	id := "a" + s.ids.Code(9)
	if err := writeDurable(filepath.Join(s.dir, id), data); err != nil {
		return "", err
	}
	fail.Point("artifact.written")
	sum := sha256.Sum256(data)
	err := s.store.KeepArtifact(ctx, store.Artifact{ID: id, SHA256: hex.EncodeToString(sum[:]), Size: int64(len(data)), Name: name, Trust: event.Owner, Source: "tool"})
	return id, err
}

func writeDurable(path string, data []byte) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // #nosec G304 -- hob's own folder
	if err != nil {
		return fmt.Errorf("write artifact: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write artifact: %w", err), os.Remove(path))
	}
	return nil
}

// Open opens a shelved result for reading.
func (s shelf) Open(ctx context.Context, id string) (sessions.Artifact, error) {
	a, err := s.store.ArtifactNamed(ctx, id)
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing {
		return sessions.Artifact{}, sessions.ErrNoArtifact
	}
	if err != nil {
		return sessions.Artifact{}, err
	}
	f, err := os.Open(filepath.Join(s.dir, a.ID)) // #nosec G304 -- the id comes from a row
	if err != nil {
		return sessions.Artifact{}, fmt.Errorf("open artifact: %w", err)
	}
	return sessions.Artifact{Name: a.Name, Size: a.Size, Body: f}, nil
}

// sweep removes the files that have no row: they were being written when hob ended.
func (s shelf) sweep(ctx context.Context) error {
	files, err := os.ReadDir(s.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list artifacts: %w", err)
	}
	for _, f := range files {
		_, err := s.store.ArtifactNamed(ctx, f.Name())
		if fault, ok := event.AsFault(err); ok && fault.Kind == event.Missing && strings.HasPrefix(f.Name(), "a") {
			err = os.Remove(filepath.Join(s.dir, f.Name()))
		}
		if err != nil {
			return fmt.Errorf("sweep artifacts: %w", err)
		}
	}
	return nil
}
