package store

import (
	"context"
	"database/sql"
	"errors"

	"hob/daemon/artifacts"
	"hob/daemon/event"
)

// KeepArtifact stores the row of an artifact. Its bytes are already durable on disk.
func (s Artifacts) KeepArtifact(ctx context.Context, a artifacts.Artifact) error {
	return s.core.write(context.WithoutCancel(ctx), func(tx *Tx) error { return putArtifact(tx, a) })
}

// ForgetEnclosed deletes the rows of files that were sent with messages and are no longer needed. It returns the ids, so that the caller
// can delete the bytes.
func (s Artifacts) ForgetEnclosed(ctx context.Context) (ids []string, err error) {
	err = s.core.write(ctx, func(tx *Tx) (err error) {
		ids, err = forgetFiles(tx)
		return err
	})
	return ids, err
}

// Reserve assigns the number of the inbox row for an input with files, since the files' paths contain it. A number is assigned only once;
// an unused one stays a gap. For a known input seq is 0, and the receipt has the numbers of the existing row.
func (s Artifacts) Reserve(ctx context.Context, in event.In) (seq int64, r event.Receipt, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		if r, err = findInput(tx, in); errors.Is(err, sql.ErrNoRows) {
			seq, err = tx.Reserve("inbox")
		}
		return err
	})
	return seq, r, err
}

// AcceptFiles commits an input under its reserved number, together with the rows of its files, whose bytes are already durable. For a known
// (source, id), or an edit that changes nothing, it stores nothing, and the receipt has the numbers of the existing row.
//
// The bytes come first, then this commit: a crash in between leaves files without a row, which the clean-up removes.
func (s Artifacts) AcceptFiles(ctx context.Context, seq int64, in event.In, list []artifacts.Artifact) (r event.Receipt, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		r, err = accept(tx, arrival{In: in, Number: seq, Files: list})
		for i := 0; err == nil && r.New && i < len(list); i++ {
			err = putArtifact(tx, list[i])
		}
		return err
	})
	return r, err
}
