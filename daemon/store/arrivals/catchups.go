package arrivals

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/store/backup"
	"hob/daemon/store/db"
)

// How long the owner's question waits for more of what a channel has from before a restore.
const (
	idle    = 5 * time.Second // after the last of it
	listed  = 10              // messages that the question shows
	refused = "the owner said: drop it (sent before the restore)"
	taken   = "the owner said: take it up (sent before the restore)"
)

// hold keeps back what was sent before the database was restored: nobody knows whether it was answered since the backup. Where a platform does
// not say when something was sent, it is something that is said now.
func hold(tx Tx, a *Arrival) (over bool, err error) {
	if a.In.Origin.Sent.IsZero() {
		return false, nil
	}
	note, ok, err := backup.RestoredIn(tx.Rows())
	if err != nil || !ok || !a.In.Origin.Sent.Before(note.At) {
		return false, err
	}
	var answer string
	err = tx.Rows().One("SELECT answer FROM catchups WHERE source = ? AND restored = ?", []any{a.In.Source, db.Micros(note.At)}, &answer)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return false, fmt.Errorf("look for what is held: %w", err)
	case answer == "take":
		return false, nil
	case answer == "drop":
		a.State, a.Reason = Dropped, refused
		return false, nil
	}
	a.State, a.Reason = Held, note.Unanswered()
	return false, tx.Rows().Run(`INSERT INTO catchups (source, restored, due) VALUES (?1, ?2, ?3) ON CONFLICT (source) DO UPDATE
		SET due = excluded.due, question = iif(restored = ?2, question, NULL), answer = iif(restored = ?2, answer, ''), restored = ?2`,
		a.In.Source, db.Micros(note.At), db.Micros(tx.Rows().Now.Add(idle)))
}

// Ask asks the owner about what channels have brought from before a restore, once for each, when no more of it comes.
func Ask(tx Tx) error {
	rs, err := tx.Rows().Query("SELECT source, restored FROM catchups WHERE question IS NULL AND due <= ?", db.Micros(tx.Rows().Now))
	list, err := db.Collect(rs, err, func(rs *sql.Rows) (c catchup, err error) { return c, rs.Scan(&c.source, db.Stamp(&c.restored)) })
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

// catchup is what a channel has brought from before a restore.
type catchup struct {
	source   string
	restored time.Time
}

// ours are the rows that a restore holds, of one source.
const ours = " FROM inbox WHERE state = 'held' AND source = ? AND reason LIKE 'restored from a backup%'"

func (c catchup) ask(tx Tx) error {
	rs, err := tx.Rows().Query("SELECT sender, iif(sent > 0, sent, received), parts"+ours+" ORDER BY seq", c.source) // #nosec G202 -- constants
	held, err := db.Collect(rs, err, func(rs *sql.Rows) (in event.In, err error) {
		return in, rs.Scan(&in.Sender, db.Stamp(&in.Origin.Sent), db.JSON(&in.Parts))
	})
	if err != nil {
		return err
	}
	if len(held) == 0 { // the owner was faster
		return tx.Rows().Run("DELETE FROM catchups WHERE source = ?", c.source)
	}
	q := turn.Question{
		Subject: turn.AboutRestore, Tool: c.source, Text: asked(c.source, c.restored, held),
		Options: []string{"take them up", "drop them"}, To: event.ToOwner, Until: turn.UntilAnswered(),
	}
	id, err := tx.Ask(&q)
	if err != nil {
		return err
	}
	return tx.Rows().Run("UPDATE catchups SET question = ? WHERE source = ?", id, c.source)
}

// asked is the question: how many they are, and the beginnings of the first.
func asked(source string, restored time.Time, held []event.In) string {
	const stamp = "2006-01-02 15:04 MST"
	what, they := "1 message that was", "it"
	if len(held) > 1 {
		what, they = fmt.Sprintf("%d messages that were", len(held)), "them"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Channel %s brought %s sent before my database was restored (%s). Whether I have answered %s since the backup I cannot know, so I hold %s:",
		source, what, restored.UTC().Format(stamp), they, they)
	for _, in := range held[:min(len(held), listed)] {
		text := in.Text()
		if text == "" {
			text = "[a file]"
		}
		fmt.Fprintf(&b, "\n- %s %s: %s", in.Origin.Sent.UTC().Format("01-02 15:04"), channels.Foreign(in.Sender), channels.Foreign(text))
	}
	if n := len(held) - listed; n > 0 {
		fmt.Fprintf(&b, "\n- and %d more: hob inbox list --state held", n)
	}
	fmt.Fprintf(&b, "\n\nTake %s up now, or drop %s?", they, they)
	return b.String()
}

// settle ends the holding of what a channel brought, in order, and returns how many messages that were.
func settle(tx Tx, source string, state State, reason string) (int, error) {
	rs, err := tx.Rows().Query("SELECT seq"+ours+" ORDER BY seq", source) // #nosec G202 -- constants
	list, err := db.Collect(rs, err, func(rs *sql.Rows) (seq int64, err error) { return seq, rs.Scan(&seq) })
	if err != nil {
		return 0, err
	}
	for _, seq := range list {
		if err := tx.Rows().Run("UPDATE inbox SET state = ?, reason = ?, not_after = 0 WHERE seq = ?", state, reason, seq); err != nil {
			return 0, err
		}
		if state == Queued {
			continue
		}
		if err := gone(tx, seq, state); err != nil {
			return 0, err
		}
	}
	tx.Rows().Ring(db.BellInbox | db.BellCommands)
	return len(list), nil
}

// Answered does what the owner said about what a channel brought: it is queued, in order, or dropped. What comes later goes the same way.
func Answered(tx Tx, q turn.Question) error {
	answer, state, reason := "drop", Dropped, refused
	if q.Answer != turn.AnswerNo {
		answer, state, reason = "take", Queued, taken
	}
	if _, err := settle(tx, q.Tool, state, reason); err != nil {
		return err
	}
	return tx.Rows().Run("UPDATE catchups SET answer = ? WHERE source = ? AND question = ?", answer, q.Tool, q.ID)
}
