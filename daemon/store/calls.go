package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/daemon/sqlite"
	"hob/tools"
)

// Calls records tool calls outside a turn: those of the command line, of the API, and of the owner's hooks. The thread records the calls of a
// turn by Turns.Commit instead. Both ways write the audit by addAudit and the changes by applyAll.
type Calls struct{ core *core }

// UseOrAsk uses up an approval of the same call, if there is one; otherwise it asks, once per call. asked has the id and the code of the question. It is a
// fault if most questions with the CallID are open already; 0: there is no limit.
func (s Calls) UseOrAsk(ctx context.Context, q turn.Question, most int) (asked turn.Question, used bool, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		var state turn.QuestionState
		err := tx.One("SELECT id, code, state FROM questions WHERE action_hash = ? AND subject = ? AND until > ? AND (state = 'open' OR (state = 'answered' AND answer = 'once')) ORDER BY id DESC LIMIT 1",
			[]any{q.ActionHash, q.Subject, sqlite.Micros(tx.Now)}, &asked.ID, &asked.Code, &state)
		switch {
		// There is neither an open question nor an unused approval: ask, and return the code for the caller to show.
		case errors.Is(err, sql.ErrNoRows):
			if err := mayAsk(tx, q, most); err != nil {
				return err
			}
			if asked.ID, err = askOwner(tx, &q); err != nil {
				return err
			}
			return tx.One("SELECT code FROM questions WHERE id = ?", []any{asked.ID}, &asked.Code)
		// An open question is not asked again; the caller gets its code.
		case err != nil || state == turn.Open:
			return err
		}
		// The approval counts for one call. It is used up in this commit, before the call runs.
		used = true
		return useApproval(tx, asked.ID)
	})
	return asked, used, err
}

// mayAsk returns a fault if most questions with the same CallID are open.
func mayAsk(tx *Tx, q turn.Question, most int) error {
	var open int
	err := tx.One("SELECT count(*) FROM questions WHERE state = 'open' AND subject = ? AND call_id = ?", []any{q.Subject, q.CallID}, &open)
	if err == nil && most > 0 && open >= most {
		return event.NewFault(event.Unavailable, "hob's owner answers them: hob approvals list", "%d calls of this program wait for an approval already", open)
	}
	return err
}

// Settled closes the open question about a call that was approved at the terminal.
func (s Calls) Settled(ctx context.Context, hash string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		return expireQuestions(tx, "subject = '"+string(turn.AboutCall)+"' AND action_hash = ?", hash)
	})
}

// Record applies changes from outside a turn: a call's audit row and its changes.
func (s Calls) Record(ctx context.Context, list ...tools.Change) error {
	return s.core.record(ctx, list)
}

// RecordFrom is Record for changes that may send messages. The command becomes an inbox row, which is the messages' cause.
func (s Calls) RecordFrom(ctx context.Context, in event.In, list ...tools.Change) error {
	s.core.note(list)
	return s.core.write(ctx, func(tx *Tx) error {
		for i, c := range list {
			// Only a message needs a cause.
			out, ok := c.(event.Out)
			if !ok {
				continue
			}
			seq, err := insertIn(tx, in)
			if err != nil {
				return err
			}
			if err := closeIn(tx, seq, "done", "called from the command line"); err != nil {
				return err
			}
			out.Cause = event.Cause{Kind: event.ByCommand, ID: seq}
			// applyAll below queues the message with this cause.
			list[i] = out
		}
		return applyAll(tx, 0, list)
	})
}

// record commits changes that come from outside a turn, such as a tool call from the command line.
func (s *core) record(ctx context.Context, list []tools.Change) error {
	s.note(list)
	return s.write(ctx, func(tx *Tx) error { return applyAll(tx, 0, list) })
}

// note reads the files that changes mark, before the transaction: a transaction opens no files.
func (s *core) note(list []tools.Change) {
	for _, c := range list {
		if m, ok := c.(tools.Mark); ok {
			s.marks.Note(m.Path, m.Why)
		}
	}
}

// addAudit writes the audit row of a call. The call's outcome completes the same row later.
func addAudit(tx *Tx, e policy.Entry) error {
	// The first row of a call has no outcome yet, so a grant is counted once per call.
	if e.Decision.Grant != 0 && e.Outcome == "" {
		if err := tx.Run("UPDATE grants SET uses = uses + 1 WHERE id = ?", e.Decision.Grant); err != nil {
			return err
		}
	}
	verdict := e.Decision.Verdict
	if verdict == policy.NotJudged {
		verdict = policy.Deny // it did not run; the column judged distinguishes the two
	}
	return tx.Run(`INSERT INTO audit (at, turn, call_id, tool, actor, trust, args_hash, summary, decision, reason, outcome, took_us, tainted, cwd, exit_code, bytes_in, bytes_out, result_hash, judged, warnings)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (call_id) DO UPDATE SET decision = iif(excluded.reason = '', decision, excluded.decision), judged = iif(excluded.reason = '', judged, excluded.judged), reason = iif(excluded.reason = '', reason, excluded.reason), warnings = iif(excluded.warnings = '', warnings, excluded.warnings), outcome = excluded.outcome, took_us = excluded.took_us,
		cwd = excluded.cwd, exit_code = excluded.exit_code, bytes_out = excluded.bytes_out, result_hash = excluded.result_hash`,
		sqlite.Micros(tx.Now), sqlite.Ref(e.Turn), e.CallID, e.Tool, e.Actor, e.Trust, e.ArgsHash, e.Summary, verdict, e.Decision.Reason, e.Outcome, e.Took.Microseconds(),
		sqlite.Bit(e.Tainted), e.Effect.Cwd, e.Effect.Exit, e.Effect.In, e.Effect.Out, e.Effect.ResultHash, sqlite.Bit(e.Decision.Verdict != policy.NotJudged), strings.Join(e.Warnings, "; "))
}
