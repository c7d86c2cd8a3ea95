package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// Serve ends a command in one commit: its inbox row, its reply, and its changes. A fault of do becomes the reply.
func (s Commands) Serve(ctx context.Context, q turn.Queued, do func(*Tx) (string, error)) (string, error) {
	var reply string
	err := s.core.write(ctx, func(tx *Tx) (err error) {
		reply, err = do(tx)
		if f, ok := event.AsFault(err); ok {
			reply = f.Text
			if f.Hint != "" {
				reply += " (" + f.Hint + ")"
			}
		} else if err != nil {
			return err
		}
		return closeCommand(tx, q, reply)
	})
	return reply, err
}

// closeCommand closes a command's row and sends its reply.
//
// The reply is queued in the same commit, so a crash can neither repeat the command nor lose its reply.
func closeCommand(tx *Tx, q turn.Queued, reply string) error {
	n, err := tx.Change("UPDATE inbox SET state = 'done', reason = 'served' WHERE seq = ? AND state = 'queued'", q.Seq)
	// If the row is closed already, an earlier commit has sent the reply.
	if err != nil || n == 0 {
		return err
	}
	tx.Wake(sqlite.SignalInbox) // the thread may wait for this answer before it serves a later command
	if err := addEvent(tx, event.Event{Type: "command.done", Session: q.In.Session, Inbox: q.Seq, Data: map[string]any{"inbox": q.Seq, "text": reply}}); err != nil {
		return err
	}
	if q.In.ReplyTo.Channel() == event.CLI.Channel() || reply == "" {
		return nil // a client of the local API reads the reply from the event
	}
	return queueOut(tx, event.Out{Key: fmt.Sprintf("command:%d", q.Seq), Cause: event.Cause{Kind: event.ByCommand, ID: q.Seq}, To: q.In.ReplyTo, ReplyRef: q.In.ExtID, Body: reply, Urgency: event.Urgent})
}

// Reply ends a command that changes nothing.
func (s Commands) Reply(ctx context.Context, q turn.Queued, text string) error {
	_, err := s.Serve(ctx, q, func(*Tx) (string, error) { return text, nil })
	return err
}

// Decide ends a command that answers a question.
func (s Commands) Decide(ctx context.Context, q turn.Queued, code, answer string) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) {
		asked, err := answerCode(tx, Answer{Code: code, Text: answer, By: q.Seq, Approves: approves(q.In)})
		if err != nil {
			return "", err
		}
		return decided(asked), nil
	})
	return err
}

// decided is the confirmation of an answer.
func decided(q turn.Question) string {
	said := map[string]string{
		turn.AnswerOnce: "Approved, this once", turn.AnswerTurn: "Approved for this turn", turn.AnswerAlways: "Approved, and always from now on", turn.AnswerNo: "Denied",
	}[q.Answer]
	if said == "" || q.Subject == turn.AboutAsk {
		said = "Answered: " + q.Answer
	}
	return said + " (" + q.Code + ")."
}

// AnswerFrom answers a question from the local API. The answer becomes an inbox row, like all input.
func (s Commands) AnswerFrom(ctx context.Context, in event.In, code, answer string) (turn.Question, error) {
	var q turn.Question
	err := s.core.write(ctx, func(tx *Tx) error {
		// The question's row names the input that answered it, so the input comes first.
		seq, err := insertIn(tx, in)
		if err != nil {
			return err
		}
		if err := closeIn(tx, seq, "done", "it answered a question"); err != nil {
			return err
		}
		q, err = answerCode(tx, Answer{Code: code, Text: answer, By: seq, Approves: approves(in)})
		return err
	})
	return q, err
}

// StartNew ends /new. The session's key gets a new, empty session; waiting turns stay in the old one.
func (s Commands) StartNew(ctx context.Context, q turn.Queued) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) {
		return "A new conversation begins.", archiveSession(tx, q.In.Session)
	})
	return err
}

// Clean ends /clean. The conversation starts again with handles in place of foreign text.
func (s Commands) Clean(ctx context.Context, q turn.Queued) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) { return cleanSession(tx, q.In.Session) })
	return err
}

// Compact ends /compact. The session is summarised before its next request to a model.
func (s Commands) Compact(ctx context.Context, q turn.Queued, matters string) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) {
		err := askCompaction(ctx, tx, q.In.Session, matters)
		if errors.Is(err, errNoSession) {
			err = nothingToCover("the conversation is empty", "")
		}
		return "The conversation is summarised before the next request to a model.", err
	})
	return err
}

// RunSkill turns a command into a message with the instructions of a skill. Its row stays the same, so that a crash cannot run it twice.
func (s Commands) RunSkill(ctx context.Context, q turn.Queued, part event.Part) error {
	parts, err := sqlite.Doc(append(slices.Clone(q.In.Parts), part))
	if err != nil {
		return err
	}
	return s.core.write(ctx, func(tx *Tx) error {
		tx.Wake(sqlite.SignalInbox)
		return tx.Run("UPDATE inbox SET kind = 'message', parts = ? WHERE seq = ? AND state = 'queued' AND kind = 'command'", parts, q.Seq)
	})
}

// Retry ends /retry. The session's newest input that failed is queued again.
func (s Commands) Retry(ctx context.Context, q turn.Queued) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) {
		var seq int64
		var text string
		err := tx.One(`SELECT i.seq, substr(coalesce(json_extract(i.parts, '$[0].text'), ''), 1, 100) FROM inbox i JOIN turns t ON t.id = i.turn
			WHERE i.session = ? AND i.kind = 'message' AND i.state IN ('done', 'dead') AND t.state IN ('failed', 'dead') ORDER BY i.seq DESC LIMIT 1`,
			[]any{q.In.Session}, &seq, &text)
		if errors.Is(err, sql.ErrNoRows) {
			return "Nothing has failed here: there is nothing to try again.", nil
		}
		if err != nil {
			return "", err
		}
		// The input opens a new turn. The failed one stays as it is.
		tx.Wake(sqlite.SignalInbox)
		return fmt.Sprintf("Trying again: %s", text), tx.Run("UPDATE inbox SET state = 'queued', turn = NULL, reason = 'tried again' WHERE seq = ?", seq)
	})
	return err
}

// SetQuiet ends /quiet.
func (s Commands) SetQuiet(ctx context.Context, q turn.Queued, until time.Time, text string) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) { return text, setQuiet(tx, until) })
	return err
}

// Cancel ends /cancel: it drops an unsent message.
func (s Commands) Cancel(ctx context.Context, q turn.Queued, id int64) error {
	_, err := s.Serve(ctx, q, func(tx *Tx) (string, error) { return fmt.Sprintf("Message %d is stopped.", id), dropOut(tx, id) })
	return err
}
