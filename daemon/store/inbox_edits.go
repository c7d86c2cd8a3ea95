package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// editedMessage is the target of an edit: a message that was accepted, after its earlier edits.
type editedMessage struct { // of the original message
	seq    int64 // of the message as it came first
	kind   event.Kind
	person string
	chat   event.Address

	row   int64        // row with the present text
	state string       // its state
	parts []event.Part // its content
	text  string       // the text as last edited
}

// applyEdit replaces the text of a message that no turn has read yet. If the message has been read, the edit becomes an input of its own
// that quotes the earlier text. An edit never becomes a command. It counts as typed only if it replaces a typed text.
func applyEdit(tx *Tx, a *arrival) (over bool, err error) {
	if a.In.Origin.Edits == "" {
		return false, nil
	}
	m, err := readEdited(tx, a.In)
	if errors.Is(err, sql.ErrNoRows) {
		a.In.Typed = false
		return false, nil // the original was not accepted; this version is
	}
	if err != nil {
		return false, fmt.Errorf("look for what was edited: %w", err)
	}
	same, err := m.same(tx, a)
	if err != nil {
		return false, err
	}
	waits := m.state == string(inboxQueued) || m.state == string(inboxHeld)
	switch {
	case same || !m.by(a.In) || m.kind != event.Message && channels.KindOf(a.In.Text()) == event.Command:
		a.Receipt.Inbox = m.row
		return true, nil
	case m.kind != event.Message: // the original was a command, the edit is not
		a.In.Typed = false
		return false, nil
	case waits:
		a.Receipt = event.Receipt{Inbox: m.row, New: true}
		return true, m.replace(tx, *a)
	}
	// A turn has read the old text. The edit becomes a new input that quotes it.
	a.edits = &m
	a.In.Typed = false
	a.In.Parts = append(event.Say(textBefore(m.text)), a.In.Parts...)
	return false, nil
}

// textBefore tells the model that the message is an edit.
func textBefore(text string) string {
	return "[edited message, before: " + channels.Excerpt(text) + "]"
}

// readEdited finds the target of an edit; sql.ErrNoRows if the original was never accepted.
//
// An edit may itself have been edited, so the row with the present text is looked up through the newest edit.
func readEdited(tx *Tx, in event.In) (m editedMessage, err error) {
	err = tx.One("SELECT seq, kind, person, reply_to FROM inbox WHERE source = ? AND ext_id = ?", []any{in.Source, in.Origin.Edits}, &m.seq, &m.kind, &m.person, &m.chat)
	if err != nil {
		return m, err
	}
	var text sql.NullString
	err = tx.One(`SELECT i.seq, i.state, i.parts, e.text FROM inbox i LEFT JOIN edits e ON e.id = (SELECT max(id) FROM edits WHERE message = ?1)
		WHERE i.seq = coalesce((SELECT inbox FROM edits WHERE id = (SELECT max(id) FROM edits WHERE message = ?1)), ?1)`, []any{m.seq}, &m.row, &m.state, sqlite.JSON(&m.parts), &text)
	if m.text = text.String; !text.Valid {
		m.text = event.TextOf(m.parts)
	}
	return m, err
}

// by reports whether the same person wrote the input, in the same chat. Older rows do not name the person.
func (m editedMessage) by(in event.In) bool {
	return (m.person == in.Origin.Person || m.person == "") && chatOf(m.chat) == chatOf(in.ReplyTo)
}

// chatOf returns an address without its thread.
func chatOf(a event.Address) string {
	name, _, _ := strings.Cut(string(a), "/")
	return name
}

// same reports whether an edit changes nothing, for example because a platform added a link preview, or is a duplicate.
func (m editedMessage) same(tx *Tx, a *arrival) (bool, error) {
	var seen bool
	if err := tx.One("SELECT EXISTS (SELECT 1 FROM edits WHERE source = ? AND ext_id = ?)", []any{a.In.Source, a.In.ExtID}, &seen); err != nil || seen {
		return seen, err
	}
	if strings.TrimSpace(a.In.Text()) != strings.TrimSpace(m.text) {
		return false, nil
	}
	// The text is the same; compare the files by content.
	had := map[string]bool{}
	for _, p := range m.parts {
		if p.Artifact == "" {
			continue
		}
		var sum string
		if err := tx.One("SELECT sha256 FROM artifacts WHERE id = ?", []any{p.Artifact}, &sum); err != nil {
			return false, fmt.Errorf("look for a file of the message: %w", err)
		}
		had[sum] = true
	}
	// A file with another hash is new, so the edit changes something.
	for _, f := range a.Files {
		if !had[f.SHA256] {
			return false, nil
		}
	}
	return true, nil
}

// replace puts the edit in place of a queued text. An edit without files keeps the existing files.
func (m editedMessage) replace(tx *Tx, a arrival) error {
	parts := slices.Clone(a.In.Parts)
	if len(a.Files) == 0 {
		for _, p := range m.parts {
			if p.Kind != event.Text {
				parts = append(parts, p)
			}
		}
	}
	if m.row != m.seq { // the queued text is itself an edit of a message that was read
		var read string
		if err := tx.One(`SELECT coalesce((SELECT text FROM edits WHERE message = ?1 AND inbox <> ?2 ORDER BY id DESC LIMIT 1),
			(SELECT json_extract(parts, '$[0].text') FROM inbox WHERE seq = ?1), '')`, []any{m.seq, m.row}, &read); err != nil {
			return err
		}
		parts = append(event.Say(textBefore(read)), parts...)
	}
	doc, err := sqlite.Doc(parts)
	if err != nil {
		return err
	}
	if err := tx.Run("UPDATE inbox SET parts = ?, typed = min(typed, ?), tainted = max(tainted, ?) WHERE seq = ?", doc, sqlite.Bit(a.In.Typed), sqlite.Bit(a.In.Tainted), m.row); err != nil {
		return err
	}
	return m.record(tx, a, m.row)
}

// record stores an edit and the row that has its text.
func (m editedMessage) record(tx *Tx, a arrival, row int64) error {
	number, text := int64(0), a.In.Text()
	if a.Seq == 0 {
		number = a.Number
	} else {
		text = event.TextOf(a.In.Parts[1:]) // without the quote of the earlier text
	}
	return tx.Run("INSERT INTO edits (source, ext_id, message, inbox, number, text) VALUES (?, ?, ?, ?, ?, ?)", a.In.Source, a.In.ExtID, m.seq, row, number, text)
}

// takeBack drops a message and its edits after its author has deleted it, if no turn has read it.
func takeBack(tx *Tx, w channels.Withdrawal) error {
	m, err := readEdited(tx, event.In{Source: w.Source, Origin: event.Origin{Edits: w.ExtID}})
	if errors.Is(err, sql.ErrNoRows) || err == nil && (w.Person == "" || !m.by(event.In{ReplyTo: w.Chat, Origin: event.Origin{Person: w.Person}})) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for what was deleted: %w", err)
	}
	n, err := tx.Change("UPDATE inbox SET state = 'dropped', reason = 'whoever wrote it has deleted it' WHERE seq = ? AND state IN ('queued', 'held')", m.row)
	if err != nil || n == 0 {
		return err
	}
	tx.Wake(sqlite.SignalInbox) // a later command of the conversation may have waited for it
	return noteNotAnswered(tx, m.row, inboxDropped)
}
