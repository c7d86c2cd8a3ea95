package store

import (
	"database/sql"
	"fmt"
	"time"

	"hob/channels"
	"hob/daemon/artifacts"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// outgoingSource is the source of artifacts that are sent with messages. They count as foreign: a later reader must not conclude that their
// text is the owner's.
const outgoingSource = "outbox"

// keepUndelivered is how long the files of an undelivered message are kept, for a retry.
const keepUndelivered = 30 * 24 * time.Hour

// putArtifact stores the row of an artifact.
func putArtifact(tx *Tx, a artifacts.Artifact) error {
	return tx.Run("INSERT INTO artifacts (id, sha256, size, name, mime, trust, source, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		a.ID, a.SHA256, a.Size, a.Name, a.MIME, a.Trust, a.Source, sqlite.Micros(tx.Now))
}

// encloseFiles stores the list of files of an outbox row, and their artifacts.
func encloseFiles(tx *Tx, outbox int64, list []event.Enclosed) error {
	if len(list) == 0 {
		return nil
	}
	for _, f := range list {
		// The file was too large to be sent, so no bytes are stored.
		if f.Artifact == "" {
			continue
		}
		err := putArtifact(tx, artifacts.Artifact{ID: f.Artifact, SHA256: f.SHA256, Size: f.Size, Name: f.Name, MIME: f.MIME, Trust: event.Public, Source: outgoingSource})
		if err != nil {
			return fmt.Errorf("store the file %s: %w", f.Name, err)
		}
	}
	doc, err := sqlite.Doc(list)
	if err != nil {
		return err
	}
	return tx.Run("UPDATE outbox SET files = ? WHERE id = ?", doc, outbox)
}

// listFiles lists files by path, for messages on this machine.
func listFiles(list []event.Enclosed) (text string) {
	for _, f := range list {
		text += fmt.Sprintf("\n[file: %s, %d bytes]", f.Path, f.Size)
	}
	return text
}

// nameFiles lists file names after an excerpt of their message.
func nameFiles(list []event.Enclosed) (text string) {
	for _, f := range list {
		text += " [file " + f.Name + "]"
	}
	return text
}

// filePart encodes the file of a message part for its column.
func filePart(f *channels.File) (sql.NullString, error) {
	if f == nil {
		return sql.NullString{}, nil
	}
	doc, err := sqlite.Doc(f)
	return sql.NullString{String: doc, Valid: true}, err
}

// filesDelivered wakes the cleaner if a delivered message had files.
func filesDelivered(tx *Tx, outbox int64) error {
	var some bool
	err := tx.One("SELECT files IS NOT NULL FROM outbox WHERE id = ?", []any{outbox}, &some)
	if some {
		tx.Wake(sqlite.SignalFiles)
	}
	return err
}

// forgetFiles deletes the rows of files whose messages have been delivered, or failed a month ago. It returns the ids.
func forgetFiles(tx *Tx) ([]string, error) {
	rs, err := tx.Query(`DELETE FROM artifacts WHERE source = ?1 AND id NOT IN (SELECT f.value ->> '$.artifact' FROM outbox o, json_each(o.files) f
		WHERE o.files IS NOT NULL AND f.value ->> '$.artifact' IS NOT NULL AND o.state <> 'done' AND (o.ended = 0 OR o.ended > ?2)) RETURNING id`,
		outgoingSource, sqlite.Micros(tx.Now.Add(-keepUndelivered)))
	return sqlite.Collect(rs, err, sqlite.Value[string])
}
