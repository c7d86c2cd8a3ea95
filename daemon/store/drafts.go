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

// reopenedState is, in SQL, what a row of the outbox becomes that is taken back: an answer that is still being made a draft again.
const reopenedState = "iif(EXISTS (SELECT 1 FROM deliveries d JOIN turns t ON t.id = outbox.cause_id AND t.ended = 0 WHERE d.outbox = outbox.id AND d.draft = 1), 'draft', 'ready')"

// answeredElsewhere is what a draft says when the text has another chat.
const answeredElsewhere = "I have answered in the chat from which you wrote last."

// finalKey is that of a turn's last word; a draft that is given up leaves it to the text itself.
func finalKey(turn int64) string { return fmt.Sprintf("turn:%d:final", turn) }

// draftKey is what a draft that has been given up, or closed without the text, is called.
func draftKey(turn int64) string { return fmt.Sprintf("turn:%d:draft", turn) }

// growingColumns are the columns of Growing: what a running turn does, and the message that shows it.
const growingColumns = `SELECT t.id, t.state = 'waiting', coalesce((SELECT w.kind FROM waits w WHERE w.turn = t.id AND w.call_id = t.parked_on), ''),
	coalesce((SELECT iif(e.type = 'tool.started', json_extract(e.data, '$.summary'), '') FROM events e INDEXED BY events_tools WHERE e.turn = t.id AND e.type IN ('tool.started', 'tool.finished') ORDER BY e.seq DESC LIMIT 1), ''),
	coalesce(o.id, 0), coalesce(o.address, t.reply_to), coalesce(o.reply_ref, ''), coalesce(d.body, ''), coalesce(d.nonce, ''), coalesce(d.unsure, 0), coalesce(iif(d.state = 'sent', d.remote_id, ''), ''), coalesce(o.standing, '')`

// readGrowing lists the turn that runs, when somebody sits and waits for its answer and none has been given up, and all turns that have a draft.
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

// openDraft begins the draft of a turn's answer, unless the turn has ended, answers elsewhere by now, or has had a draft. Where the reader has been
// told how many are ahead of him, that message becomes the draft.
func openDraft(tx *Tx, epoch int64, o channels.NewDraft, standing channels.Right) error {
	var ref string
	err := tx.One(`SELECT reply_ref FROM turns WHERE id = ?1 AND ended = 0 AND reply_to = ?2 AND NOT EXISTS (SELECT 1 FROM outbox WHERE key IN (?3, ?4))`,
		[]any{o.Turn, o.To, finalKey(o.Turn), draftKey(o.Turn)}, &ref)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	out := draftMessage{event.Out{Key: finalKey(o.Turn), Cause: event.Cause{Kind: event.ByTurn, ID: o.Turn}, To: o.To, ReplyRef: ref, Body: o.Text, Urgency: event.Urgent}, standing}
	if taken, err := takeOverDraft(tx, epoch, out, "draft"); err != nil || taken || !o.NewMessage {
		return err
	}
	id, err := insertDraft(tx, out, "draft")
	if err != nil {
		return err
	}
	return tx.Run("INSERT INTO deliveries (outbox, part, body, nonce, epoch, state, draft) VALUES (?, 0, ?, ?, ?, 'ready', 1)", id, o.Text, o.Nonce, epoch)
}

// draftMessage is what a draft becomes, with the right by which it goes to its address.
type draftMessage struct {
	event.Out
	standing channels.Right
}

func insertDraft(tx *Tx, o draftMessage, state string) (int64, error) {
	tx.Wake(sqlite.SignalOutbox)
	return tx.Insert(`INSERT INTO outbox (key, cause_kind, cause_id, cause_step, address, standing, body, reply_ref, urgency, created, not_after, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		o.Out.Key, o.Out.Cause.Kind, o.Out.Cause.ID, o.Out.Cause.Step, o.Out.To, o.standing, o.Out.Body, o.Out.ReplyRef, o.Out.Urgency, sqlite.Micros(tx.Now), sqlite.Micros(o.Out.NotAfter), state)
}

// takeOverDraft makes the message that has told somebody how many are ahead of him the one that shows the answer to him.
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

// fillDraft gives the draft of a turn's answer its text, which the pump then puts in the draft's place. edits tells whether the channel of an
// address can change what it has sent. False: there is no draft at this address, the text is a message of its own.
func fillDraft(tx *Tx, epoch int64, o event.Out, standing channels.Right, edits func(event.Address) bool) (bool, error) {
	if o.Cause.Kind != event.ByTurn || o.Key != finalKey(o.Cause.ID) {
		return false, nil
	}
	var id int64
	var at event.Address
	var draft bool
	err := tx.One("SELECT id, address, EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = outbox.id AND d.draft = 1) FROM outbox WHERE key = ? AND state IN ('draft', 'cancelled')", []any{o.Key}, &id, &at, &draft)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil || !draft:
		return false, err
	case at == o.To && fail.Broken("draft-inserted"):
		return false, endDraftRow(tx, id, answeredElsewhere)
	case at == o.To:
		return true, fillDraftRow(tx, id, o.Body)
	default:
		if err := endDraftRow(tx, id, answeredElsewhere); err != nil {
			return false, err
		}
	}
	if !edits(o.To) {
		return false, nil
	}
	return takeOverDraft(tx, epoch, draftMessage{o, standing}, "ready")
}

// fillDraftRow makes a draft a message. One that the owner has dropped stays so, but has the text if he takes it back. What has not been tried, or has surely not
// arrived, is forgotten; what may have arrived is brought to an end first, and then edited.
func fillDraftRow(tx *Tx, id int64, body string) error {
	tx.Wake(sqlite.SignalOutbox)
	if err := tx.Run("UPDATE outbox SET body = ?, created = ?, state = iif(state = 'draft', 'ready', state) WHERE id = ?", body, sqlite.Micros(tx.Now), id); err != nil {
		return err
	}
	return tx.Run("DELETE FROM deliveries WHERE outbox = ? AND draft = 1 AND state = 'ready' AND unsure = 0", id)
}

// endDraftRow closes a draft with a line of hob's own, under another key. One that nobody has seen is taken back.
func endDraftRow(tx *Tx, id int64, line string) error {
	if err := tx.Run("UPDATE outbox SET key = replace(key, ':final', ':draft') WHERE id = ?", id); err != nil {
		return err
	}
	n, err := tx.Change(`UPDATE outbox SET state = 'cancelled', ended = ?, reason = 'the answer did not need it' WHERE id = ? AND state = 'draft'
		AND EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = outbox.id AND d.state = 'ready' AND d.unsure = 0)`, sqlite.Micros(tx.Now), id)
	if err != nil || n > 0 {
		return err
	}
	return fillDraftRow(tx, id, line)
}

// draftClosing is what a draft says when its turn ends without a text for this chat.
func draftClosing(state turn.Status) string {
	switch state {
	case turn.Failed:
		return "I could not finish this."
	case turn.Stopped:
		return "Stopped."
	case turn.Dead:
		return "I had to give this up."
	default:
		return "I have nothing to add."
	}
}

// endDraft closes the draft of a turn that has ended without filling it.
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

// draftRefused forgets a draft that was being sent when its turn ended with a text, and has surely not arrived or never will: the text is a message of its
// own then, with tries of its own. False: the delivery is no such draft.
func draftRefused(tx *Tx, d channels.Delivery, v channels.Verdict) (bool, error) {
	if v.State == channels.Retry && v.Unsure > 0 {
		return false, nil // it may be there, and is found or sent before it is edited
	}
	n, err := tx.Change("DELETE FROM deliveries WHERE outbox = ? AND part = ? AND draft = 1 AND state = 'sending'", d.Outbox, d.Part)
	if n > 0 {
		tx.Wake(sqlite.SignalOutbox)
	}
	return n > 0, err
}

// reopenDraft makes a part that showed a draft one that has not been sent: its message stays, and cannot be edited.
func reopenDraft(tx *Tx, d channels.Delivery, v channels.Verdict) error {
	return tx.Run("UPDATE deliveries SET state = 'ready', draft = 0, remote_id = '', nonce = ?, attempts = 0, unsure = 0, tried = 0, next_at = ?, error = ? WHERE outbox = ? AND part = ?",
		d.Nonce, sqlite.Micros(v.At), v.Reason, d.Outbox, d.Part)
}
