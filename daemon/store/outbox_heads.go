package store

import (
	"context"
	"database/sql"
	"math"
	"time"

	"hob/channels"
	"hob/daemon/sqlite"
)

// openPart selects the parts of a message that still need work: undelivered ones, and drafts that must be edited to the final text.
// outboxHeads selects the oldest unfinished row of each address; a draft blocks its address only until it is shown.
const (
	openPart    = "(d.state <> 'sent' OR d.draft = 1 AND o.state = 'ready')"
	outboxHeads = `SELECT min(id) FROM outbox WHERE state = 'ready' AND not_before <= ?1
		OR state = 'draft' AND EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = outbox.id AND d.state IN ('ready', 'sending')) GROUP BY address`
)

// overtaken selects the text of the message that a turn's answer o refers to, if that message waited while something else was said in its chat:
// hob sent a message there before the turn began, or somebody wrote one that belongs to another turn. Otherwise it selects "".
const overtaken = `coalesce((SELECT coalesce(json_extract(i.parts, '$[0].text'), 'a file') FROM inbox i JOIN turns t ON t.id = o.cause_id
	WHERE o.cause_kind = 'step' AND o.reply_ref <> '' AND i.source = substr(o.address, 1, instr(o.address, ':') - 1) AND i.ext_id = o.reply_ref AND i.reply_to = o.address
		AND (i.received < (SELECT b.created FROM outbox b WHERE b.address = o.address AND b.id < o.id AND b.created <= t.started AND b.key <> 'ahead:' || i.seq
				AND b.state IN ('ready', 'done') ORDER BY b.id DESC LIMIT 1)
			OR EXISTS (SELECT 1 FROM inbox j WHERE j.seq > i.seq AND j.received <= t.started AND j.reply_to = o.address AND j.kind = 'message' AND j.turn IS NOT t.id))), '')`

// readHeads returns, for each address, the oldest unfinished row that is due, with its open parts and the messages that can be joined to
// it. A part that an earlier epoch was sending counts as interrupted.
//
// Order is kept for each address alone: a platform that is down holds up its own messages and no others.
func readHeads(tx *Tx, now time.Time, epoch int64, limit int) ([]channels.Row, error) {
	rs, err := tx.Query(`SELECT o.id, o.address, o.standing, o.body, o.reply_ref, `+overtaken+`, o.urgency = 'urgent', o.cause_kind, max(o.created, o.not_before), o.not_after, o.files,
			(SELECT count(*) FROM deliveries d WHERE d.outbox = o.id), coalesce(p.state = 'sending', 0), coalesce(p.state = 'sent', 0), coalesce(p.remote_id, ''), coalesce(p.final, 0)
		FROM outbox o LEFT JOIN deliveries p ON p.outbox = o.id AND p.part = (SELECT min(part) FROM deliveries d WHERE d.outbox = o.id AND `+openPart+`)
		WHERE o.id IN (`+outboxHeads+`)
			AND (p.outbox IS NULL OR (p.state IN ('ready', 'sent') AND p.next_at <= ?1) OR (p.state = 'sending' AND p.epoch < ?2))
		ORDER BY o.id LIMIT ?3`, sqlite.Micros(now), epoch, limit)
	rows, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (r channels.Row, err error) {
		var answered string
		err = rs.Scan(&r.ID, &r.To, &r.Right, &r.Body, &r.ReplyRef, &answered, &r.Urgent, &r.Cause, sqlite.Stamp(&r.Queued), sqlite.Stamp(&r.NotAfter), sqlite.JSON(&r.Files), &r.Parts, &r.Interrupted, &r.Drafted, &r.Shown, &r.Split)
		if answered != "" {
			r.Overtaken = channels.ForeignExcerpt(answered)
		}
		return r, err
	})
	// After the first error nothing more is read; the error is returned at the end.
	for i := range rows {
		if err == nil {
			rows[i].Todo, err = openDeliveries(tx, rows[i].ID)
		}
		if err == nil {
			rows[i].Quiet, err = quietWaiters(tx, rows[i], now)
		}
	}
	return rows, err
}

// openDeliveries reads the parts of a message that are not sent, in order. A draft counts: its text can still be edited.
func openDeliveries(tx *Tx, id int64) ([]channels.Delivery, error) {
	rs, err := tx.Query("SELECT part, body, file, nonce, attempts, unsure, tried FROM deliveries WHERE outbox = ? AND (state <> 'sent' OR draft = 1) ORDER BY part", id)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (channels.Delivery, error) {
		d := channels.Delivery{Outbox: id}
		err := rs.Scan(&d.Part, &d.Body, sqlite.JSON(&d.File), &d.Nonce, &d.Attempts, &d.Unsure, sqlite.Stamp(&d.Tried))
		return d, err
	})
}

// quietWaiters lists the messages that follow a row directly and waited through the same quiet hours, oldest first. They can be sent as one
// message.
func quietWaiters(tx *Tx, r channels.Row, now time.Time) ([]channels.HeldBack, error) {
	// A row that was split already, or is urgent, is sent alone.
	if r.Parts > 0 || r.Urgent {
		return nil, nil
	}
	const line = " FROM outbox o WHERE address = ?1 AND id >= ?2 AND state = 'ready' AND not_before <= ?3 AND "
	rs, err := tx.Query(`SELECT id, body, created`+line+`id < coalesce((SELECT id`+line+`NOT (waits = 'quiet' AND standing = ?5 AND reply_ref = '' AND cause_kind <> 'question'
			AND files IS NULL AND choices IS NULL AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.outbox = o.id)) ORDER BY id LIMIT 1), ?4) ORDER BY id`,
		r.To, r.ID, sqlite.Micros(now), int64(math.MaxInt64), r.Right) // #nosec G202 -- constants
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (w channels.HeldBack, err error) {
		return w, rs.Scan(&w.ID, &w.Body, sqlite.Stamp(&w.At))
	})
}

// outboxDue returns when a row can next become ready by time alone: when a delay ends, or at the next attempt of a head; zero: never.
func outboxDue(ctx context.Context, read *sqlite.Readers, now time.Time) (time.Time, error) {
	var next sql.NullInt64
	err := read.QueryRowContext(ctx, `SELECT min(t) FROM (
		SELECT min(not_before) AS t FROM outbox WHERE state = 'ready' AND not_before > ?1
		UNION ALL SELECT min(p.next_at) FROM outbox o JOIN deliveries p ON p.outbox = o.id AND p.part = (SELECT min(part) FROM deliveries d WHERE d.outbox = o.id AND `+openPart+`)
			WHERE o.id IN (`+outboxHeads+`) AND p.state IN ('ready', 'sent') AND p.next_at > ?1)`, sqlite.Micros(now)).Scan(&next)
	return sqlite.Time(next.Int64), err
}
