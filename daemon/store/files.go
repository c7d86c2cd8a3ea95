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

// outgoingSource is the source of artifacts that are files on their way out. Whoever opens one of them later must not learn from it that
// its text is the owner's: they count as anybody's.
const outgoingSource = "outbox"

// keepUndelivered is how long the files of a message stay that did not arrive, so that it can be retried.
const keepUndelivered = 30 * 24 * time.Hour

// putArtifact stores the row of an artifact.
func putArtifact(tx *Tx, a artifacts.Artifact) error {
	return tx.Run("INSERT INTO artifacts (id, sha256, size, name, mime, trust, source, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
		a.ID, a.SHA256, a.Size, a.Name, a.MIME, a.Trust, a.Source, sqlite.Micros(tx.Now))
}

// encloseFiles stores which files go with an outbox row, and their artifacts.
func encloseFiles(tx *Tx, outbox int64, list []event.Enclosed) error {
	if len(list) == 0 {
		return nil
	}
	for _, f := range list {
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

// listFiles names files by where they lie, as a message on the machine itself shows them.
func listFiles(list []event.Enclosed) (text string) {
	for _, f := range list {
		text += fmt.Sprintf("\n[file: %s, %d bytes]", f.Path, f.Size)
	}
	return text
}

// nameFiles names files behind an excerpt of what they go with.
func nameFiles(list []event.Enclosed) (text string) {
	for _, f := range list {
		text += " [file " + f.Name + "]"
	}
	return text
}

// filePart is the file that a part of a message is, as a column.
func filePart(f *channels.File) (sql.NullString, error) {
	if f == nil {
		return sql.NullString{}, nil
	}
	doc, err := sqlite.Doc(f)
	return sql.NullString{String: doc, Valid: true}, err
}

// filesDelivered rings for the files of a message that has arrived.
func filesDelivered(tx *Tx, outbox int64) error {
	var some bool
	err := tx.One("SELECT files IS NOT NULL FROM outbox WHERE id = ?", []any{outbox}, &some)
	if some {
		tx.Wake(sqlite.SignalFiles)
	}
	return err
}

// forgetFiles removes the rows of files that went with messages which have arrived, or ended without that a month ago, and returns their ids.
func forgetFiles(tx *Tx) ([]string, error) {
	rs, err := tx.Query(`DELETE FROM artifacts WHERE source = ?1 AND id NOT IN (SELECT f.value ->> '$.artifact' FROM outbox o, json_each(o.files) f
		WHERE o.files IS NOT NULL AND f.value ->> '$.artifact' IS NOT NULL AND o.state <> 'done' AND (o.ended = 0 OR o.ended > ?2)) RETURNING id`,
		outgoingSource, sqlite.Micros(tx.Now.Add(-keepUndelivered)))
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (id string, err error) { return id, rs.Scan(&id) })
}
