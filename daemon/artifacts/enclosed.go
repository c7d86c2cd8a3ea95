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
	"hob/daemon/filename"
)

// sniffed is how many bytes tell of what kind a file is (MIME Sniffing, section 5.2, reads no more than 1,445).
const sniffed = 512

// Enclose makes the bytes of a file durable that is to go with a message; path says where it is from. Their row comes with that of the
// message, in one commit: without it they are swept at the next start. A file of more than event.MaxEnclosed is described only.
func (s Store) Enclose(ctx context.Context, path string, size int64, data io.Reader) (event.Enclosed, error) {
	if err := ctx.Err(); err != nil {
		return event.Enclosed{}, err
	}
	e := event.Enclosed{Name: filename.Name(path), Path: path, Size: size}
	head := make([]byte, sniffed)
	n, err := io.ReadFull(data, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return event.Enclosed{}, fmt.Errorf("read %s: %w", path, err)
	}
	e.MIME = filename.Type(e.Name, "", head[:n])
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

// Content opens the bytes of an artifact as they are. An error that is fs.ErrNotExist: they are not there.
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

// clearEvery is how often is looked for files of what was given up long ago.
const clearEvery = 24 * time.Hour

// Tend clears the shelf whenever wake says that a message with files has arrived, and once a day, until ctx ends.
func (s Store) Tend(ctx context.Context, wake <-chan struct{}) error {
	tick := time.NewTicker(clearEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
		case <-tick.C:
		}
		if err := s.Clear(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// Clear removes the files that went with messages which have arrived, or were given up long ago. Their rows go first, in one commit: what a crash
// leaves of their bytes is swept.
func (s Store) Clear(ctx context.Context) error {
	ids, err := s.Rows.ForgetEnclosed(ctx)
	if err != nil {
		return fmt.Errorf("forget what was sent: %w", err)
	}
	if len(ids) > 0 {
		fail.Point("shelf.forgotten")
	}
	for _, id := range ids {
		if rerr := os.Remove(filepath.Join(s.Dir, id)); !errors.Is(rerr, os.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	if err != nil {
		return fmt.Errorf("remove what was sent: %w", err)
	}
	return nil
}
