package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sqlite"
)

// reopenedState is, in SQL, the state of an outbox row that is sent again: a draft if its answer is still being written, otherwise ready.
const reopenedState = "iif(EXISTS (SELECT 1 FROM deliveries d JOIN turns t ON t.id = outbox.cause_id AND t.ended = 0 WHERE d.outbox = outbox.id AND d.draft = 1), 'draft', 'ready')"

// answeredElsewhere replaces a draft when the answer goes to another chat.
const answeredElsewhere = "I have answered in the chat from which you wrote last."

// finalKey is the key of a turn's final message. A draft has this key, and gives it up when it is abandoned.
func finalKey(turn int64) string { return fmt.Sprintf("turn:%d:final", turn) }

// draftKey is the key of a draft that was abandoned or closed without the final text.
func draftKey(turn int64) string { return fmt.Sprintf("turn:%d:draft", turn) }

// growingColumns are the columns of channels.LiveAnswer: the activity of a running turn, and the message that shows it.
const growingColumns = `SELECT t.id, t.state = 'waiting', coalesce((SELECT w.kind FROM waits w WHERE w.turn = t.id AND w.call_id = t.parked_on), ''),
	coalesce((SELECT iif(e.type = 'tool.started', json_extract(e.data, '$.summary'), '') FROM events e INDEXED BY events_tools WHERE e.turn = t.id AND e.type IN ('tool.started', 'tool.finished') ORDER BY e.seq DESC LIMIT 1), ''),
	coalesce(o.id, 0), coalesce(o.address, t.reply_to), coalesce(o.reply_ref, ''), coalesce(d.body, ''), coalesce(d.nonce, ''), coalesce(d.unsure, 0), coalesce(iif(d.state = 'sent', d.remote_id, ''), ''), coalesce(o.standing, '')`

// readGrowing lists the running turn, if a person waits for its answer and no draft was abandoned, and all turns with a draft.
func readGrowing(ctx context.Context, read *sqlite.Readers) ([]channels.LiveAnswer, error) {
	rs, err := read.QueryContext(ctx, growingColumns+` FROM turns t JOIN sessions s ON s.id = t.session LEFT JOIN outbox o ON o.key = 'turn:' || t.id || ':final' LEFT JOIN deliveries d ON d.outbox = o.id AND d.part = 0
		WHERE o.id IS NULL AND t.state = 'running' AND t.parent IS NULL AND t.fire IS NULL AND t.reply_to <> '' AND s.key NOT LIKE 'task:%'
			AND NOT EXISTS (SELECT 1 FROM outbox x WHERE x.key = 'turn:' || t.id || ':draft')
		UNION ALL `+growingColumns+` FROM outbox o JOIN turns t ON t.id = o.cause_id JOIN deliveries d ON d.outbox = o.id AND d.part = 0 WHERE o.state = 'draft'`)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (g channels.LiveAnswer, err error) {
		g.Parts = 1
		return g, rs.Scan(&g.Turn, &g.Parked, &g.For, &g.Tool, &g.Outbox, &g.To, &g.ReplyRef, &g.Body, &g.Nonce, &g.Unsure, &g.Shown, &g.Right)
	})
}

// openDraft creates the draft of a turn's answer, unless the turn has ended, now answers elsewhere, or has had a draft. If the reader was
// told the number of messages ahead, that message becomes the draft.
func openDraft(tx *Tx, epoch int64, o channels.NewDraft, right channels.Right) error {
	var ref string
	err := tx.One(`SELECT reply_ref FROM turns WHERE id = ?1 AND ended = 0 AND reply_to = ?2 AND NOT EXISTS (SELECT 1 FROM outbox WHERE key IN (?3, ?4))`,
		[]any{o.Turn, o.To, finalKey(o.Turn), draftKey(o.Turn)}, &ref)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	out := draftMessage{event.Out{Key: finalKey(o.Turn), Cause: event.Cause{Kind: event.ByTurn, ID: o.Turn}, To: o.To, ReplyRef: ref, Body: o.Text, Urgency: event.Urgent}, right}
	// NewMessage allows a message of its own. Otherwise only an existing message can become the draft.
	if taken, err := takeOverDraft(tx, epoch, out, "draft"); err != nil || taken || !o.NewMessage {
		return err
	}
	id, err := insertDraft(tx, out, "draft")
	if err != nil {
		return err
	}
	return tx.Run("INSERT INTO deliveries (outbox, part, body, nonce, epoch, state, draft) VALUES (?, 0, ?, ?, ?, 'ready', 1)", id, o.Text, o.Nonce, epoch)
}

// draftMessage is the message that a draft becomes, with the recipient's right.
type draftMessage struct {
	event.Out
	right channels.Right
}

// insertDraft queues the message of a draft with the right that the recipient has now. It wakes the pump.
func insertDraft(tx *Tx, o draftMessage, state string) (int64, error) {
	tx.Wake(sqlite.SignalOutbox)
	return tx.Insert(`INSERT INTO outbox (key, cause_kind, cause_id, cause_step, address, standing, body, reply_ref, urgency, created, not_after, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		o.Out.Key, o.Out.Cause.Kind, o.Out.Cause.ID, o.Out.Cause.Step, o.Out.To, o.right, o.Out.Body, o.Out.ReplyRef, o.Out.Urgency, sqlite.Micros(tx.Now), sqlite.Micros(o.Out.NotAfter), state)
}

// takeOverDraft reuses the message that told somebody the number of messages ahead: it will be edited to show the answer.
//
// The reader then sees one message that changes, instead of the number of messages ahead and a second one with the answer.
func takeOverDraft(tx *Tx, epoch int64, o draftMessage, state string) (bool, error) {
	var remote, nonce, body string
	err := tx.One(`SELECT d.remote_id, d.nonce, d.body FROM inbox i JOIN outbox a ON a.key = 'ahead:' || i.seq AND a.state = 'done' JOIN deliveries d ON d.outbox = a.id
		WHERE i.turn = ?1 AND a.address = ?2 AND d.part = 0 AND d.state = 'sent' AND d.remote_id <> ''
			AND NOT EXISTS (SELECT 1 FROM deliveries x JOIN outbox y ON y.id = x.outbox WHERE x.remote_id = d.remote_id AND x.outbox <> d.outbox AND y.address = a.address)
		ORDER BY i.seq DESC LIMIT 1`, []any{o.Out.Cause.ID, o.Out.To}, &remote, &nonce, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	id, err := insertDraft(tx, o, state)
	if err != nil {
		return false, err
	}
	return true, tx.Run("INSERT INTO deliveries (outbox, part, body, nonce, remote_id, attempts, tried, epoch, state, draft) VALUES (?, 0, ?, ?, ?, 1, ?, ?, 'sent', 1)",
		id, body, nonce, remote, sqlite.Micros(tx.Now), epoch)
}

// fillDraft gives a draft its final text; the pump then edits the message. edits reports whether the channel of an address can edit sent
// messages. The result is false if there is no draft at this address; the text is then a message of its own.
func fillDraft(tx *Tx, epoch int64, o event.Out, right channels.Right, edits func(event.Address) bool) (bool, error) {
	// Only the final text of a turn has a draft.
	if o.Cause.Kind != event.ByTurn || o.Key != finalKey(o.Cause.ID) {
		return false, nil
	}
	var id int64
	d := DraftFacts{To: o.To, Edits: edits(o.To)}
	err := tx.One("SELECT id, address, EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = outbox.id AND d.draft = 1) FROM outbox WHERE key = ? AND state IN ('draft', 'cancelled')", []any{o.Key}, &id, &d.At, &d.Shown)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	d.Found = err == nil
	// The decision is a pure function of these facts.
	do := d.Decide()
	if do.Fill && fail.Broken("draft-inserted") {
		return false, endDraftRow(tx, id, answeredElsewhere)
	}
	if do.Fill {
		return true, fillDraftRow(tx, id, o.Body)
	}
	if do.Close {
		if err := endDraftRow(tx, id, answeredElsewhere); err != nil {
			return false, err
		}
	}
	if !do.TakeOver {
		return false, nil
	}
	return takeOverDraft(tx, epoch, draftMessage{o, right}, "ready")
}

// DraftFacts decide what becomes of a turn's draft when its final text is queued.
type DraftFacts struct {
	Found bool          // the turn has a row that is or was a draft
	Shown bool          // that row has a draft's delivery
	At    event.Address // of that row
	To    event.Address // of the final text
	Edits bool          // the channel of To can edit sent messages
}

// DraftSteps are what to do with the draft: give it the final text, close it because the answer goes elsewhere, or look for an earlier message of
// hob at To that can be edited into the answer. Without any of them the final text is a message of its own.
type DraftSteps struct{ Fill, Close, TakeOver bool }

// Decide returns the steps.
func (d DraftFacts) Decide() DraftSteps {
	switch {
	case !d.Found:
		return DraftSteps{TakeOver: d.Edits}
	case !d.Shown:
		return DraftSteps{} // an ordinary message has the key already
	case d.At == d.To:
		return DraftSteps{Fill: true}
	}
	return DraftSteps{Close: true, TakeOver: d.Edits}
}

// fillDraftRow turns a draft into a message. A draft that the owner has dropped stays dropped, but keeps the text in case of a retry. A
// part that surely was not delivered is deleted; a part that may have arrived is settled first and edited afterwards.
func fillDraftRow(tx *Tx, id int64, body string) error {
	tx.Wake(sqlite.SignalOutbox)
	if err := tx.Run("UPDATE outbox SET body = ?, created = ?, state = iif(state = 'draft', 'ready', state) WHERE id = ?", body, sqlite.Micros(tx.Now), id); err != nil {
		return err
	}
	return tx.Run("DELETE FROM deliveries WHERE outbox = ? AND draft = 1 AND state = 'ready' AND unsure = 0", id)
}

// endDraftRow closes a draft with a line of hob's own, under another key. A draft that nobody has seen is cancelled.
func endDraftRow(tx *Tx, id int64, line string) error {
	if err := tx.Run("UPDATE outbox SET key = replace(key, ':final', ':draft') WHERE id = ?", id); err != nil {
		return err
	}
	n, err := tx.Change(`UPDATE outbox SET state = 'cancelled', ended = ?, reason = 'the answer did not need it' WHERE id = ? AND state = 'draft'
		AND EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = outbox.id AND d.state = 'ready' AND d.unsure = 0)`, sqlite.Micros(tx.Now), id)
	if err != nil || n > 0 {
		return err
	}
	// Somebody may have seen it: the pump edits it to the line.
	return fillDraftRow(tx, id, line)
}

// draftClosing is the last text of a draft whose turn ends without a message for this chat.
func draftClosing(state turn.Status) string {
	switch state {
	case turn.Failed:
		return "I could not finish this."
	case turn.Stopped:
		return "Stopped."
	case turn.Dead:
		return "I had to give this up."
	}
	return "I have nothing to add."
}

// endDraft closes the draft of a turn that ended without a final text.
func endDraft(tx *Tx, id int64, state turn.Status) error {
	var draft int64
	err := tx.One("SELECT id FROM outbox WHERE key = ? AND state = 'draft'", []any{finalKey(id)}, &draft)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return endDraftRow(tx, draft, draftClosing(state))
}

// draftRefused deletes a draft that was being sent when its turn ended, and did not arrive. The final text becomes a message of its own,
// with its own attempts. The result is false if the delivery is not such a draft.
func draftRefused(tx *Tx, d channels.Delivery, v channels.Verdict) (bool, error) {
	if v.State == channels.Retry && v.Unsure > 0 {
		return false, nil // it may have arrived; it is looked up or sent again before it is edited
	}
	n, err := tx.Change("DELETE FROM deliveries WHERE outbox = ? AND part = ? AND draft = 1 AND state = 'sending'", d.Outbox, d.Part)
	if n > 0 {
		tx.Wake(sqlite.SignalOutbox)
	}
	return n > 0, err
}

// reopenDraft makes the part of a draft unsent, because its message cannot be edited. That message stays in the chat.
//
// The next attempt sends a new message with a new nonce, because the platform would refuse every edit of the old one.
func reopenDraft(tx *Tx, d channels.Delivery, v channels.Verdict) error {
	return tx.Run("UPDATE deliveries SET state = 'ready', draft = 0, remote_id = '', nonce = ?, attempts = 0, unsure = 0, tried = 0, next_at = ?, error = ? WHERE outbox = ? AND part = ?",
		d.Nonce, sqlite.Micros(v.At), v.Reason, d.Outbox, d.Part)
}
