package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// Serve ends a command: its inbox row, its reply, and what it changes, in one commit. do may be nil.
func (s *Store) Serve(ctx context.Context, q turn.Queued, do func(*Tx) (string, error)) (string, error) {
	var reply string
	err := s.Write(ctx, func(tx *Tx) (err error) {
		reply, err = do(tx)
		if f, ok := event.AsFault(err); ok {
			reply = f.Text
			if f.Hint != "" {
				reply += " (" + f.Hint + ")"
			}
		} else if err != nil {
			return err
		}
		return tx.served(q, reply)
	})
	return reply, err
}

// served closes a command's row and sends its reply.
func (tx *Tx) served(q turn.Queued, reply string) error {
	n, err := tx.change("UPDATE inbox SET state = 'done', reason = 'served' WHERE seq = ? AND state = 'queued'", q.Seq)
	if err != nil || n == 0 {
		return err
	}
	if err := tx.event(event.Event{Type: "command.done", Session: q.In.Session, Inbox: q.Seq, Data: map[string]any{"inbox": q.Seq, "text": reply}}); err != nil {
		return err
	}
	if q.In.ReplyTo.Channel() == event.CLI.Channel() || reply == "" {
		return nil // the local API reads the event
	}
	return tx.out(event.Out{Key: fmt.Sprintf("command:%d", q.Seq), Cause: event.Cause{Kind: event.ByCommand, ID: q.Seq}, To: q.In.ReplyTo, ReplyRef: q.In.ExtID, Body: reply, Urgency: event.Urgent})
}

// Reply ends a command that only looks.
func (s *Store) Reply(ctx context.Context, q turn.Queued, text string) error {
	_, err := s.Serve(ctx, q, func(*Tx) (string, error) { return text, nil })
	return err
}

// Decide ends a command that answers a question.
func (s *Store) Decide(ctx context.Context, q turn.Queued, code, answer string) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) {
		asked, err := tx.answerCode(Verdict{Code: code, Text: answer, By: q.Seq})
		if err != nil {
			return "", err
		}
		return "Question " + asked.Code + ": " + answer + ".", nil
	})
	return err
}

// AnswerFrom answers a question from the local API: the answer is an inbox row like all input.
func (s *Store) AnswerFrom(ctx context.Context, in event.In, code, answer string) (turn.Question, error) {
	var q turn.Question
	err := s.Write(ctx, func(tx *Tx) error {
		seq, err := tx.insertIn(in)
		if err != nil {
			return err
		}
		if err := tx.closeIn(seq, "done", "it answered a question"); err != nil {
			return err
		}
		q, err = tx.answerCode(Verdict{Code: code, Text: answer, By: seq})
		return err
	})
	return q, err
}

// Fresh ends /new: the session's key gets a new, empty session; parked turns stay in the old one.
func (s *Store) Fresh(ctx context.Context, q turn.Queued) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) {
		return "A new conversation begins.", tx.archive(q.In.Session)
	})
	return err
}

func (tx *Tx) archive(key string) error {
	return tx.exec("UPDATE sessions SET archived = ? WHERE key = ? AND archived = 0", us(tx.now), key)
}

// Archive ends a session: the next message with its key opens a new one.
func (s *Store) Archive(ctx context.Context, key string) error {
	return s.Write(ctx, func(tx *Tx) error {
		n, err := tx.change("UPDATE sessions SET archived = ? WHERE archived = 0 AND (key = ? OR cast(id AS TEXT) = ?)", us(tx.now), key, key)
		return oneRow(n, err, "there is no live session %s", "hob sessions list shows them", key)
	})
}

// Again ends /retry: the newest input of the session that did not end well is queued once more.
func (s *Store) Again(ctx context.Context, q turn.Queued) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) {
		var seq int64
		err := tx.one(`SELECT coalesce(max(i.seq), 0) FROM inbox i JOIN turns t ON t.id = i.turn WHERE i.session = ? AND i.state IN ('done', 'dead') AND t.state IN ('failed', 'stopped', 'dead')`,
			[]any{q.In.Session}, &seq)
		if err != nil || seq == 0 {
			return "There is nothing to try again.", err
		}
		tx.ring(bellInbox)
		return "Trying again.", tx.exec("UPDATE inbox SET state = 'queued', turn = NULL, reason = 'tried again' WHERE seq = ?", seq)
	})
	return err
}

// Hush ends /quiet.
func (s *Store) Hush(ctx context.Context, q turn.Queued, until time.Time, text string) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) { return text, tx.quiet(until) })
	return err
}

// StopParked ends all parked turns, children with their parents, and returns how many.
func (s *Store) StopParked(ctx context.Context) (int, error) {
	n := 0
	err := s.Write(ctx, func(tx *Tx) error {
		rs, err := tx.QueryContext(tx.ctx, "SELECT id FROM turns WHERE state IN ('waiting', 'ready')")
		ids, err := collect(rs, err, func(rs *sql.Rows) (int64, error) {
			var id int64
			return id, rs.Scan(&id)
		})
		if err != nil {
			return err
		}
		n = len(ids)
		for _, id := range ids {
			if err := tx.endTurn(id, turn.Stopped, "stopped by the owner"); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// StopTurn ends one parked turn. False: it is not parked (the thread stops a running one).
func (s *Store) StopTurn(ctx context.Context, id int64) (bool, error) {
	stopped := false
	err := s.Write(ctx, func(tx *Tx) error {
		var n int
		if err := tx.one("SELECT count(*) FROM turns WHERE id = ? AND state IN ('waiting', 'ready')", []any{id}, &n); err != nil || n == 0 {
			return err
		}
		stopped = true
		return tx.endTurn(id, turn.Stopped, "stopped by the owner")
	})
	return stopped, err
}

// Ahead tells whoever has waited since before a given instant how many are in front of him, once each.
func (s *Store) Ahead(ctx context.Context, waitingSince time.Time) error {
	rows, err := s.queued(ctx, "kind = 'message' AND received <= ? AND not_before <= ?", us(waitingSince), us(s.now()))
	if err != nil || len(rows) == 0 {
		return err
	}
	return s.Write(ctx, func(tx *Tx) error {
		for i, q := range rows {
			if err := tx.tellAhead(q, i+1); err != nil {
				return err
			}
		}
		return nil
	})
}

func (tx *Tx) tellAhead(q turn.Queued, ahead int) error {
	var told bool
	err := tx.one("SELECT EXISTS (SELECT 1 FROM events WHERE inbox = ? AND type = 'queue.ahead')", []any{q.Seq}, &told)
	if err != nil || told {
		return err
	}
	if err := tx.event(event.Event{Type: "queue.ahead", Session: q.In.Session, Inbox: q.Seq, Data: map[string]any{"inbox": q.Seq, "ahead": ahead}}); err != nil {
		return err
	}
	if q.In.ReplyTo.Channel() == event.CLI.Channel() || q.In.Trust != event.Owner {
		return nil
	}
	return tx.out(event.Out{
		Key: fmt.Sprintf("ahead:%d", q.Seq), Cause: event.Cause{Kind: event.ByCommand, ID: q.Seq}, To: q.In.ReplyTo, ReplyRef: q.In.ExtID,
		Body: fmt.Sprintf("%d ahead of you.", ahead), Urgency: event.Urgent,
	})
}

// Drain puts the running turn back without counting an attempt: the next start goes on with it.
func (s *Store) Drain(ctx context.Context) error {
	fail.Point("drain")
	return s.Write(ctx, func(tx *Tx) error {
		return tx.exec("UPDATE turns SET state = 'ready', attempts = max(attempts - 1, 0) WHERE state = 'running' AND epoch = ?", s.epoch)
	})
}
