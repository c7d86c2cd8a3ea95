package store

import (
	"context"
	"database/sql"
	"errors"

	"hob/daemon/artifacts"
)

// ArtifactNamed returns an artifact by id.
func (s *View) ArtifactNamed(ctx context.Context, id string) (artifacts.Artifact, error) {
	a := artifacts.Artifact{ID: id}
	err := s.read.QueryRowContext(ctx, "SELECT sha256, size, name, mime, trust, source FROM artifacts WHERE id = ?", id).Scan(&a.SHA256, &a.Size, &a.Name, &a.MIME, &a.Trust, &a.Source)
	if errors.Is(err, sql.ErrNoRows) {
		return a, notFound("artifact", id)
	}
	return a, err
}

// Abandoned reports whether a number was reserved for an inbox row that was never written.
func (s *View) Abandoned(ctx context.Context, seq int64) (gone bool, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'inbox' AND seq >= ?1)
		AND NOT EXISTS (SELECT 1 FROM inbox WHERE seq = ?1) AND NOT EXISTS (SELECT 1 FROM edits WHERE number = ?1 AND number > 0)`, seq).Scan(&gone)
	return gone, err
}
