package store

import (
	"context"
	"database/sql"
	"errors"

	"hob/daemon/store/db"

	"hob/daemon/event"
)

// Artifact is the row of bytes that lie in state/artifacts under its ID.
type Artifact struct {
	ID     string
	SHA256 string
	Size   int64 // bytes
	Name   string
	Trust  event.Trust
	Source string
}

// KeepArtifact stores the row of an artifact whose bytes are durable already.
func (s Artifacts) KeepArtifact(ctx context.Context, a Artifact) error {
	return s.Write(context.WithoutCancel(ctx), func(tx *Tx) error {
		return tx.Run("INSERT INTO artifacts (id, sha256, size, name, trust, source, created) VALUES (?, ?, ?, ?, ?, ?, ?)",
			a.ID, a.SHA256, a.Size, a.Name, a.Trust, a.Source, db.Micros(tx.Now))
	})
}

// ArtifactNamed finds an artifact.
func (s Artifacts) ArtifactNamed(ctx context.Context, id string) (Artifact, error) {
	a := Artifact{ID: id}
	err := s.read().QueryRowContext(ctx, "SELECT sha256, size, name, trust, source FROM artifacts WHERE id = ?", id).Scan(&a.SHA256, &a.Size, &a.Name, &a.Trust, &a.Source)
	if errors.Is(err, sql.ErrNoRows) {
		return a, notFound("artifact", id)
	}
	return a, err
}
