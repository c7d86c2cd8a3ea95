package store

import (
	"context"
	"database/sql"
	"errors"

	"hob/daemon/store/db"

	"hob/daemon/event"
	"hob/daemon/shelf"
)

// KeepArtifact stores the row of an artifact whose bytes are durable already.
func (s Artifacts) KeepArtifact(ctx context.Context, a shelf.Artifact) error {
	return s.Write(context.WithoutCancel(ctx), func(tx *Tx) error { return putArtifact(tx, a) })
}

func putArtifact(tx *Tx, a shelf.Artifact) error {
	return tx.Run("INSERT INTO artifacts (id, sha256, size, name, mime, trust, source, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		a.ID, a.SHA256, a.Size, a.Name, a.MIME, a.Trust, a.Source, db.Micros(tx.Now))
}

// Reserve gives out the number of the inbox row that an input with files will have. No number is given out twice; one that no row
// takes stays a gap. For an input that is there already it gives out none, seq is 0, and the receipt has the numbers of the first one.
func (s Inbox) Reserve(ctx context.Context, in event.In) (seq int64, r event.Receipt, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		if r, err = findReceipt(tx, in); errors.Is(err, sql.ErrNoRows) {
			seq, err = tx.Reserve("inbox")
		}
		return err
	})
	return seq, r, err
}

// AcceptFiles commits an input under a reserved number together with the rows of the files that came with it, whose bytes are
// durable already. When its (source, id) is there already, nothing is stored, and the receipt has the numbers of the first one.
func (s Inbox) AcceptFiles(ctx context.Context, seq int64, in event.In, files []shelf.Artifact) (r event.Receipt, err error) {
	err = s.Write(ctx, func(tx *Tx) error {
		r, err = acceptAs(tx, seq, in)
		for i := 0; err == nil && r.New && i < len(files); i++ {
			err = putArtifact(tx, files[i])
		}
		return err
	})
	return r, err
}
