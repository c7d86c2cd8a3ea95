package store

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/daemon/text"
)

// Timing and texts of the question about messages from before a restore.
const (
	restoredWait    = 5 * time.Second // after the last such message
	restoredListed  = 10              // messages shown in the question
	restoredDropped = "the owner said: drop it (sent before the restore)"
	restoredTaken   = "the owner said: take it up (sent before the restore)"
)

// holdRestored holds a message that was sent before the database was restored. It may have been answered between the backup and the
// restore, and no row can tell. If the platform does not report the time of sending, the message counts as new.
func holdRestored(tx *Tx, a *arrival) (over bool, err error) {
	if a.In.Origin.Sent.IsZero() {
		return false, nil
	}
	note, ok, err := restoredIn(tx)
	if err != nil || !ok || !a.In.Origin.Sent.Before(note.At) {
		return false, err
	}
	var answer string
	err = tx.One("SELECT answer FROM catchups WHERE source = ? AND restored = ?", []any{a.In.Source, sqlite.Micros(note.At)}, &answer)
	// The owner's answer for this channel also decides about messages that arrive later.
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return false, fmt.Errorf("look for what is held: %w", err)
	case answer == "take":
		return false, nil
	case answer == "drop":
		a.State, a.Reason = inboxDropped, restoredDropped
		return false, nil
	}
	a.State, a.Reason = inboxHeld, note.Unanswered()
	return false, tx.Run(`INSERT INTO catchups (source, restored, due) VALUES (?1, ?2, ?3) ON CONFLICT (source) DO UPDATE
		SET due = excluded.due, question = iif(restored = ?2, question, NULL), answer = iif(restored = ?2, answer, ''), restored = ?2`,
		a.In.Source, sqlite.Micros(note.At), sqlite.Micros(tx.Now.Add(restoredWait)))
}

// askAboutRestored asks the owner about the held messages of each channel, once no more arrive.
func askAboutRestored(tx *Tx) error {
	rs, err := tx.Query("SELECT source, restored FROM catchups WHERE question IS NULL AND due <= ?", sqlite.Micros(tx.Now))
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (c heldSource, err error) { return c, rs.Scan(&c.source, sqlite.Stamp(&c.restored)) })
	if err != nil {
		return err
	}
	for _, c := range list {
		if err := c.ask(tx); err != nil {
			return fmt.Errorf("ask about what %s brought: %w", c.source, err)
		}
	}
	return nil
}

// heldSource is the set of held messages of one channel.
type heldSource struct {
	source   string
	restored time.Time
}

// heldByRestore selects the rows of one source that a restore holds.
const heldByRestore = " FROM inbox WHERE state = 'held' AND source = ? AND reason LIKE 'restored from a backup%'"

// ask asks the owner about the held messages of the channel.
func (c heldSource) ask(tx *Tx) error {
	rs, err := tx.Query("SELECT sender, iif(sent > 0, sent, received), parts"+heldByRestore+" ORDER BY seq", c.source) // #nosec G202 -- constants
	held, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (in event.In, err error) {
		return in, rs.Scan(&in.Sender, sqlite.Stamp(&in.Origin.Sent), sqlite.JSON(&in.Parts))
	})
	if err != nil {
		return err
	}
	if len(held) == 0 { // the owner has decided about all of them already
		return tx.Run("DELETE FROM catchups WHERE source = ?", c.source)
	}
	q := turn.Question{
		Subject: turn.AboutConfig, Tool: c.source, Text: restoredText(c.source, c.restored.In(tx.core.zone()), held),
		Options: []string{"take them up", "drop them"}, To: event.ToOwner, Until: turn.UntilAnswered(),
	}
	id, err := askOwner(tx, &q)
	if err != nil {
		return err
	}
	return tx.Run("UPDATE catchups SET question = ? WHERE source = ?", id, c.source)
}

// restoredText is the question, with the beginnings of the first messages.
func restoredText(source string, restored time.Time, held []event.In) string {
	zone := restored.Location()
	what, they := "1 message that was", "it"
	if len(held) > 1 {
		what, they = fmt.Sprintf("%d messages that were", len(held)), "them"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Channel %s brought %s sent before my database was restored (%s). Whether I have answered %s since the backup I cannot know, so I hold %s:",
		source, what, text.InZone(restored, zone, false), they, they)
	for _, in := range held[:min(len(held), restoredListed)] {
		said := cmp.Or(in.Text(), "[a file]")
		fmt.Fprintf(&b, "\n- %s %s: %s", in.Origin.Sent.In(zone).Format("Mon 2 Jan 15:04"), channels.ForeignExcerpt(in.Sender), channels.ForeignExcerpt(said))
	}
	if n := len(held) - restoredListed; n > 0 {
		fmt.Fprintf(&b, "\n- and %d more: hob inbox list --state held", n)
	}
	fmt.Fprintf(&b, "\n\nTake %s up now, or drop %s?", they, they)
	return b.String()
}

// settleRestored releases or drops the held messages of a channel, in order, and returns their number.
func settleRestored(tx *Tx, source string, state InboxState, reason string) (int, error) {
	rs, err := tx.Query("SELECT seq"+heldByRestore+" ORDER BY seq", source) // #nosec G202 -- constants
	list, err := sqlite.Collect(rs, err, sqlite.Value[int64])
	if err != nil {
		return 0, err
	}
	// The expiry is removed: the message waited for the owner's decision, and that time must not count.
	for _, seq := range list {
		if err := tx.Run("UPDATE inbox SET state = ?, reason = ?, not_after = 0 WHERE seq = ?", state, reason, seq); err != nil {
			return 0, err
		}
		if state == inboxQueued {
			continue
		}
		if err := noteNotAnswered(tx, seq, state); err != nil {
			return 0, err
		}
	}
	tx.Wake(sqlite.SignalInbox | sqlite.SignalCommands)
	return len(list), nil
}

// restoredAnswered carries out the owner's answer: the held messages are queued in order or dropped. The answer is stored for messages that
// arrive later.
func restoredAnswered(tx *Tx, q turn.Question) error {
	answer, state, reason := "drop", inboxDropped, restoredDropped
	if q.Answer != turn.AnswerNo {
		answer, state, reason = "take", inboxQueued, restoredTaken
	}
	if _, err := settleRestored(tx, q.Tool, state, reason); err != nil {
		return err
	}
	return tx.Run("UPDATE catchups SET answer = ? WHERE source = ? AND question = ?", answer, q.Tool, q.ID)
}
