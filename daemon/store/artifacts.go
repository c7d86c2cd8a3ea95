package store

import (
	"context"
	"database/sql"
	"errors"

	"hob/daemon/agent/turn"
	"hob/daemon/artifacts"
	"hob/daemon/event"
)

// KeepArtifact stores the row of an artifact whose bytes are durable already.
func (s Artifacts) KeepArtifact(ctx context.Context, a artifacts.Artifact) error {
	return s.core.write(context.WithoutCancel(ctx), func(tx *Tx) error { return putArtifact(tx, a) })
}

// ForgetEnclosed removes the rows of files that went with messages and are not needed any more, and returns their artifacts.
func (s Artifacts) ForgetEnclosed(ctx context.Context) (ids []string, err error) {
	err = s.core.write(ctx, func(tx *Tx) (err error) {
		ids, err = forgetFiles(tx)
		return err
	})
	return ids, err
}

// Unheard lists the voice notes in a turn's inputs that nobody has listened to, oldest first.
func (s Turns) Unheard(ctx context.Context, id int64) ([]turn.VoiceNote, error) {
	return unheardNotes(ctx, s.core.read(), id)
}

// Heard puts a text behind a voice note that nobody has listened to.
func (s Turns) Heard(ctx context.Context, id int64, n turn.VoiceNote, text string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		if err := ownTurn(tx, id, 0); err != nil {
			return err
		}
		return hearNote(tx, id, n, text)
	})
}

// Reserve gives out the number of the inbox row that an input with files will have. No number is given out twice; one that no row
// takes stays a gap. For an input that is there already it gives out none, seq is 0, and the receipt has the numbers of the first one.
func (s Artifacts) Reserve(ctx context.Context, in event.In) (seq int64, r event.Receipt, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		if r, err = findInput(tx, in); errors.Is(err, sql.ErrNoRows) {
			seq, err = tx.Reserve("inbox")
		}
		return err
	})
	return seq, r, err
}

// AcceptFiles commits an input under a reserved number together with the rows of the files that came with it, whose bytes are
// durable already. When its (source, id) is there already, or an edit changes nothing, nothing is stored, and the receipt has the numbers of the first one.
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
