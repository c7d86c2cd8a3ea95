package artifacts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/fsguard"
)

// sniffed is the number of bytes from which a file's type is detected (MIME Sniffing, section 5.2, reads at most 1,445).
const sniffed = 512

// Enclose durably writes the bytes of a file that a message sends. path says where the file comes from. The row is committed together with
// the message's row. Bytes without a row are removed at the next start. A file larger than event.MaxEnclosed is only described.
func (s Store) Enclose(ctx context.Context, path string, size int64, data io.Reader) (event.Enclosed, error) {
	if err := ctx.Err(); err != nil {
		return event.Enclosed{}, err
	}
	e := event.Enclosed{Name: fsguard.SafeName(path), Path: path, Size: size}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(data, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return event.Enclosed{}, fmt.Errorf("read %s: %w", path, err)
	}
	e.MIME = fsguard.FileType(e.Name, "", head[:n])
	if size > event.MaxEnclosed {
		return e, nil
	}
	a, err := s.put(io.LimitReader(io.MultiReader(bytes.NewReader(head[:n]), data), event.MaxEnclosed+1))
	if err != nil {
		return event.Enclosed{}, err
	}
	e.Size = a.Size
	if a.Size > event.MaxEnclosed { // it has grown meanwhile
		return e, os.Remove(filepath.Join(s.Dir, a.ID))
	}
	e.Artifact, e.SHA256 = a.ID, a.SHA256
	return e, nil
}

// Content opens the bytes of an artifact. The error is fs.ErrNotExist if there are none.
func (s Store) Content(ctx context.Context, id string) (io.ReadSeekCloser, error) {
	a, err := s.View.ArtifactNamed(ctx, id)
	if f, ok := event.AsFault(err); ok && f.Kind == event.Missing {
		return nil, fmt.Errorf("artifact %s: %w", id, os.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Open(filepath.Join(s.Dir, a.ID)) // #nosec G304 -- the id comes from a row
	if err != nil {
		return nil, fmt.Errorf("open artifact: %w", err)
	}
	return f, nil
}

// clearEvery is the interval at which files of abandoned messages are removed.
const clearEvery = 24 * time.Hour

// RunCleanup removes sent files whenever wake signals that a message with files was delivered, and once a day, until ctx ends.
func (s Store) RunCleanup(ctx context.Context, wake <-chan struct{}) error {
	tick := time.NewTicker(clearEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-tick.C:
		}
		if err := s.RemoveSent(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// RemoveSent removes the files of messages that were delivered, or abandoned long ago. It first commits the removal of their rows. Bytes
// that a crash leaves are removed by Sweep.
func (s Store) RemoveSent(ctx context.Context) error {
	ids, err := s.Rows.ForgetEnclosed(ctx)
	if err != nil {
		return fmt.Errorf("forget sent files: %w", err)
	}
	if len(ids) > 0 {
		fail.Point("artifacts.forgotten")
	}
	return s.Remove(ids)
}

// Remove removes the bytes of artifacts whose rows are gone.
func (s Store) Remove(ids []string) (err error) {
	for _, id := range ids {
		if rerr := os.Remove(filepath.Join(s.Dir, id)); !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	if err != nil {
		return fmt.Errorf("remove files of artifacts: %w", err)
	}
	return nil
}
