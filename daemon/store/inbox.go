package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/sqlite"
	"hob/daemon/text"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// Accept commits inputs together with the source's cursor, so that after a crash no message is lost or read twice. A known (source, id) is
// skipped; its receipt has the numbers of the existing row.
func (s Inbox) Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	fail.Point("inbound.received")
	if err := cursorBroken(ctx, s.core, c); err != nil {
		return nil, err
	}
	receipts := make([]event.Receipt, len(ins))
	err := s.core.write(ctx, func(tx *Tx) error {
		for i, in := range ins {
			r, err := acceptIn(tx, in)
			if err != nil {
				return fmt.Errorf("accept %s %s: %w", in.Source, in.ExtID, err)
			}
			receipts[i] = r
		}
		// The cursor of the channel is committed with the messages: after a crash the channel repeats them or continues after them.
		if c == nil {
			return nil
		}
		return putCursor(tx, *c)
	})
	fail.Point("inbound.committed")
	return receipts, err
}

// Cursor returns how far a source has been read under an identity; "" if never.
func (s Inbox) Cursor(ctx context.Context, source, identity string) (string, error) {
	var v string
	err := s.core.read().QueryRowContext(ctx, "SELECT value FROM cursors WHERE source = ? AND identity = ?", source, identity).Scan(&v)
	return v, ignoreNoRows(err)
}

// acceptIn stores one input, or finds the existing one.
func acceptIn(tx *Tx, in event.In) (event.Receipt, error) {
	return accept(tx, arrival{In: in})
}

// accept stores an arrival and starts what follows from it: a wake signal, a failure report, or the answer to a question. The receipt of a
// known input has the numbers of the existing row.
func accept(tx *Tx, a arrival) (event.Receipt, error) {
	a, err := enterInbox(tx, a)
	if err != nil || a.Seq == 0 {
		return a.Receipt, err
	}
	in := a.In
	// The remaining steps depend on what the message is.
	data := map[string]any{"inbox": a.Seq, "source": in.Source, "kind": string(in.Kind)}
	// Open terminals show what the owner writes elsewhere.
	if in.Trust == event.Owner && in.Kind == event.Message && in.Origin.Person != "" {
		data["text"] = text.Shorten(in.Text(), shownOfMessage)
	}
	ev, err := addEventSeq(tx, event.Event{Type: "event.accepted", Session: in.Session, Inbox: a.Seq, Data: data})
	if err != nil {
		return event.Receipt{}, err
	}
	r := event.Receipt{Event: ev, Inbox: a.Seq, New: true}
	switch {
	case a.State == inboxDropped:
		return r, noteNotAnswered(tx, a.Seq, inboxDropped)
	case a.State == inboxHeld:
		return r, nil
	case in.Kind == event.Command:
		tx.Wake(sqlite.SignalCommands)
	case in.Kind == event.Report && in.Source == "process":
		return r, failReported(tx, in.ExtID, in.Text())
	// A plain message of the owner may answer an open question.
	case in.Kind == event.Message && in.Trust == event.Owner && !in.Tainted && plain(in) && in.Origin.Edits == "" && in.Source != event.Endpoint:
		return r, matchAsk(tx, a.Seq, in)
	}
	return r, nil
}

// shownOfMessage is how much of a message an open terminal shows, in characters.
const shownOfMessage = 500

// plain reports whether an input is a single text.
func plain(in event.In) bool { return len(in.Parts) == 1 && in.Parts[0].Kind == event.Text }

// insertIn stores a command of the owner as an input, so that it can be the cause of messages.
func insertIn(tx *Tx, in event.In) (int64, error) {
	return insertInput(tx, arrival{In: in})
}

// TakeBack drops an input that its author has deleted, if no turn has read it.
func (s Inbox) TakeBack(ctx context.Context, w channels.Withdrawal) error {
	return s.core.write(ctx, func(tx *Tx) error { return takeBack(tx, w) })
}

// matchAsk uses a plain text of the owner as the answer to an open question, if AnsweredAsk finds one. A word that may be meant for several stays a
// message, and the owner is told how to answer each.
func matchAsk(tx *Tx, seq int64, in event.In) error {
	var ways []string
	rs, err := tx.Query(`SELECT id, code, options, subject, EXISTS (SELECT 1 FROM inbox c WHERE c.state = 'queued' AND c.kind = 'command' AND c.trust = 'owner' AND c.parts ->> '$[0].text' LIKE '/% ' || code || '%'),
			coalesce(?2 <> '' AND id IN (SELECT o.cause_id FROM outbox o JOIN deliveries d ON d.outbox = o.id WHERE o.cause_kind = 'question' AND d.remote_id = ?2 AND o.address = ?3), 0),
			?2 <> '' AND EXISTS (SELECT 1 FROM outbox o JOIN deliveries d ON d.outbox = o.id WHERE o.cause_kind = 'question' AND o.cause_id = questions.id AND d.state = 'sending' AND o.address = ?3)
				AND NOT EXISTS (SELECT 1 FROM deliveries d JOIN outbox o ON o.id = d.outbox WHERE d.remote_id = ?2 AND o.address = ?3),
			coalesce(address = ?3, 0) AND (coalesce(turn, 0) = 0 OR EXISTS (SELECT 1 FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = questions.turn AND s.key = ?4))
		FROM questions WHERE state = 'open' AND until > ?1 AND (?5 = 0 OR asked <= ?5)`, sqlite.Micros(tx.Now), in.ReplyRef, in.ReplyTo, in.Session, sqlite.Micros(in.Begun))
	open, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (q OpenAsk, err error) {
		var asked turn.Question
		var sending bool // the reply is to a message that is not recorded yet, and the question is being sent
		if err := rs.Scan(&q.ID, &asked.Code, sqlite.JSON(&asked.Options), &asked.Subject, &q.Commanded, &q.Replied, &sending, &q.Here); err != nil {
			return q, err
		}
		q.Approval, q.Chosen = asked.Subject != turn.AboutAsk, isOption(asked, in.Text())
		q.Replied = q.Replied || sending && q.Chosen
		if q.Here && !q.Commanded {
			ways = append(ways, wayToAnswer(asked))
		}
		return q, nil
	})
	// The rule is a pure function; the query above collects its facts.
	word := len(strings.Fields(in.Text())) == 1
	id := AnsweredAsk(open, in.ReplyRef != "", word)
	if err != nil {
		return err
	}
	if id == 0 && word && in.ReplyRef == "" && len(ways) > 1 {
		return tx.Tell(fmt.Sprintf("which:%d", seq), in.ReplyTo, fmt.Sprintf("%d questions are open here, and this word may be meant for several. Write: %s", len(ways), strings.Join(ways, "; ")))
	}
	if id == 0 {
		return nil
	}
	if err := closeQuestion(tx, id, strings.TrimSpace(in.Text()), seq); err != nil {
		return err
	}
	// The text was the answer, so it opens no turn of its own.
	return closeIn(tx, seq, "done", "it answered a question")
}

// wayToAnswer is the command that answers a question.
func wayToAnswer(q turn.Question) string {
	if q.Subject == turn.AboutCalls || q.Subject == turn.AboutCall {
		return "/approve " + q.Code + " or /deny " + q.Code
	}
	return "/answer " + q.Code + " TEXT"
}

// closeIn closes an inbox row that opens no turn.
func closeIn(tx *Tx, seq int64, state, reason string) error {
	return tx.Run("UPDATE inbox SET state = ?, reason = ? WHERE seq = ? AND state IN ('queued', 'held')", state, reason, seq)
}

// Command returns the oldest command that is not in skip and has not been served.
func (s Commands) Command(ctx context.Context, skip []string) (turn.Queued, bool, error) {
	list, err := s.core.queued(ctx, "kind = 'command'")
	for _, q := range list {
		if !slices.Contains(skip, q.In.CommandName()) {
			return q, true, nil
		}
	}
	return turn.Queued{}, false, err
}

// queued reads rows that no turn has taken, in the order in which turns take them.
func (s *core) queued(ctx context.Context, where string, args ...any) ([]turn.Queued, error) {
	rs, err := s.read().QueryContext(ctx, queued(where), args...)
	return sqlite.Collect(rs, err, scanInput)
}

// queued is a query for rows that no turn has taken.
func queued(where string) string {
	return "SELECT " + inboxColumns + " FROM inbox WHERE state = 'queued' AND " + where + " ORDER BY rank, seq LIMIT 100" // #nosec G202 -- constants
}

// Retry queues an input again after its turn failed.
func (s Inbox) Retry(ctx context.Context, seq int64) error {
	return s.core.write(ctx, func(tx *Tx) error {
		tx.Wake(sqlite.SignalInbox | sqlite.SignalCommands)
		if err := liftSilenceOf(tx, seq); err != nil {
			return err
		}
		n, err := tx.Change(`UPDATE inbox SET state = 'queued', turn = NULL, reason = 'retried by the owner', not_after = 0 WHERE seq = ? AND (source <> 'task' OR reason <> 'the task was changed'
			AND EXISTS (SELECT 1 FROM tasks t WHERE t.id || '/' || t.attempt = ext_id)) AND (state IN ('dead', 'expired', 'dropped', 'held') OR (state = 'done' AND turn IN (SELECT id FROM turns WHERE state IN ('failed', 'stopped', 'dead'))))`, seq)
		return changedRow(tx, n, err, "inbox", seq, "cannot be retried", "only rows that failed, died, expired or were dropped can: hob inbox list")
	})
}

// Drop removes a waiting input from the queue.
func (s Inbox) Drop(ctx context.Context, seq int64) error {
	return s.core.write(ctx, func(tx *Tx) error {
		n, err := tx.Change("UPDATE inbox SET state = 'dropped', reason = 'dropped by the owner' WHERE seq = ? AND state IN ('queued', 'held')", seq)
		if err := changedRow(tx, n, err, "inbox", seq, "is not waiting", "only queued rows can be dropped: hob inbox list --state queued"); err != nil {
			return err
		}
		if err := noteNotAnswered(tx, seq, inboxDropped); err != nil {
			return err
		}
		tx.Wake(sqlite.SignalJobs)  // the gate of a next slot may have waited for it
		tx.Wake(sqlite.SignalInbox) // a later command of the conversation may have waited for it
		return tx.Run("UPDATE fires SET state = 'done', outcome = 'skipped', reason = 'dropped by the owner', ended = ? WHERE id = (SELECT fire FROM inbox WHERE seq = ?) AND state <> 'done'", sqlite.Micros(tx.Now), seq)
	})
}

// changedRow turns a change that affected no row of the inbox or the outbox into a fault: the row does not exist, or its state does not allow the change.
func changedRow(tx *Tx, n int64, err error, table string, id int64, why, hint string) error {
	if err != nil || n > 0 {
		return err
	}
	exists, what := false, map[string]string{"inbox": "inbox row", "outbox": "message"}[table]
	if err := tx.One("SELECT EXISTS (SELECT 1 FROM "+table+" WHERE rowid = ?)", []any{id}, &exists); err != nil {
		return err
	}
	if !exists {
		return event.NewFault(event.Clash, "see: hob "+table+" list", "there is no %s %d", what, id)
	}
	return event.NewFault(event.Clash, hint, "%s %d %s", what, id, why)
}

// oneRow turns a change that affected no row into a fault.
func oneRow(n int64, err error, format, hint string, args ...any) error {
	if err != nil {
		return err
	}
	if n == 0 {
		return event.NewFault(event.Clash, hint, format, args...)
	}
	return nil
}
