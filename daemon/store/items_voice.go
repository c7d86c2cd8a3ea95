package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// untranscribedNotes lists the voice notes in a turn's inputs without a transcript, oldest first.
func untranscribedNotes(ctx context.Context, r *sqlite.Readers, id int64) ([]turn.VoiceNote, error) {
	rs, err := r.QueryContext(ctx, `SELECT i.seq, p.value FROM items i, json_each(i.parts) p
		WHERE i.turn = ? AND i.kind = 'input' AND p.value ->> '$.voice' AND p.value ->> '$.heard' IS NULL ORDER BY i.seq, p.key`, id)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (n turn.VoiceNote, err error) {
		return n, rs.Scan(&n.Item, sqlite.JSON(&n.Part))
	})
}

// storeTranscript stores the transcript of a voice note after the note.
func storeTranscript(tx *Tx, id int64, n turn.VoiceNote, text string) error {
	var parts []event.Part
	if err := tx.One("SELECT parts FROM items WHERE seq = ? AND turn = ?", []any{n.Item, id}, sqlite.JSON(&parts)); err != nil {
		return err
	}
	// The first unheard part counts: the same recording may have been sent twice.
	at := slices.IndexFunc(parts, func(p event.Part) bool { return p.Voice && !p.Transcribed && p.Artifact == n.Artifact })
	if at < 0 {
		return fmt.Errorf("item %d has no note %s that nobody has listened to", n.Item, n.Artifact)
	}
	parts[at].Transcribed = true
	doc, err := sqlite.Doc(slices.Insert(parts, at+1, event.Say(text)...))
	if err != nil {
		return err
	}
	return tx.Run("UPDATE items SET parts = ? WHERE seq = ?", doc, n.Item)
}

// UntranscribedNotes lists the voice notes in a turn's inputs that have no transcript, oldest first.
func (s Turns) UntranscribedNotes(ctx context.Context, id int64) ([]turn.VoiceNote, error) {
	return untranscribedNotes(ctx, s.core.read(), id)
}

// StoreTranscript stores the transcript of a voice note after the note.
func (s Turns) StoreTranscript(ctx context.Context, id int64, n turn.VoiceNote, text string) error {
	// This changes an item, so no transcript in memory may outlive the commit.
	s.core.transcripts.forget()
	defer s.core.transcripts.forget()
	return s.core.write(ctx, func(tx *Tx) error {
		// Only the process that runs the turn may change its items.
		if err := ownTurn(tx, id, 0); err != nil {
			return err
		}
		return storeTranscript(tx, id, n, text)
	})
}
