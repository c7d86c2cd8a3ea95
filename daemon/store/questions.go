package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sqlite"
)

// codeLength is the length of a question's code in letters. The code is short to type and not a secret: only the owner's answers count.
const codeLength = 4

// questionColumns are the columns that scanQuestion reads.
const questionColumns = `id, code, subject, ref, coalesce(turn, 0), call_id, tool, text, options, action_hash, pattern, address, asked, until, state, answer`

// scanQuestion reads a row of questionColumns.
func scanQuestion(rs *sql.Rows) (q turn.Question, err error) {
	return q, rs.Scan(&q.ID, &q.Code, &q.Subject, &q.Ref, &q.Turn, &q.CallID, &q.Tool, &q.Text, sqlite.JSON(&q.Options), &q.ActionHash, &q.Pattern, &q.To,
		sqlite.Stamp(&q.Asked), sqlite.Stamp(&q.Until), &q.State, &q.Answer)
}

// questionsOf reads the questions of a turn, by id.
func (s *core) questionsOf(ctx context.Context, id int64) (map[int64]turn.Question, error) {
	rs, err := s.read().QueryContext(ctx, "SELECT "+questionColumns+" FROM questions WHERE turn = ?", id)
	list, err := sqlite.Collect(rs, err, scanQuestion)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	byID := make(map[int64]turn.Question, len(list))
	for _, q := range list {
		byID[q.ID] = q
	}
	return byID, nil
}

// askOwner stores a question, queues its message, and returns its id.
func askOwner(tx *Tx, q *turn.Question) (int64, error) {
	if q == nil {
		return 0, nil
	}
	options, err := sqlite.Doc(q.Options)
	if err != nil {
		return 0, err
	}
	if q.Options == nil {
		options = "[]"
	}
	if q.Link != "" {
		q.Text += "\n\n" + q.Link
	}
	code, err := freshCode(tx)
	if err != nil {
		return 0, err
	}
	// A question of a tainted turn is marked, and so is a grant that its answer creates.
	to := resolveAddress(tx, q.To)
	id, err := tx.Insert(`INSERT INTO questions (code, subject, ref, turn, call_id, tool, text, options, action_hash, pattern, address, asked, until, tainted)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, EXISTS (SELECT 1 FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ? AND (t.tainted = 1 OR s.watermark <> 'owner')))`, code, q.Subject, q.Ref, sqlite.Ref(q.Turn), q.CallID, q.Tool, q.Text, options, q.ActionHash, q.Pattern, to, sqlite.Micros(tx.Now), sqlite.Micros(q.Until), q.Turn)
	if err != nil {
		return 0, err
	}
	// The question is a message as well, for channels without the live view.
	body := questionText(*q, code, tx.core.opt.Config().buttons(to))
	if err := queueOut(tx, event.Out{Key: fmt.Sprintf("question:%d", id), Cause: event.Cause{Kind: event.ByQuestion, ID: id}, To: to, Body: body, Urgency: event.Urgent}); err != nil {
		return 0, err
	}
	fail.Point("question.asked")
	return id, addEvent(tx, event.Event{Type: "question.asked", Turn: q.Turn, Data: map[string]any{
		"code": code, "subject": q.Subject, "text": q.Text, "options": q.Options, "turn": q.Turn, "question": id, "to": to, "pattern": alwaysText(*q, ""),
	}})
}

// freshCode returns a code that no question has had.
func freshCode(tx *Tx) (string, error) {
	for {
		code := strings.ToUpper(tx.core.opt.IDs.Code(codeLength))
		var n int
		if err := tx.One("SELECT count(*) FROM questions WHERE code = ?", []any{code}, &n); err != nil {
			return "", err
		}
		if n == 0 {
			return code, nil
		}
	}
}

// useApproval marks an approval as used, in the commit that writes the call's intent. Only one turn can use an approval.
func useApproval(tx *Tx, id int64) error {
	if id == 0 {
		return nil
	}
	fail.Point("question.consumed")
	if fail.Broken("forget-consume") {
		return nil
	}
	n, err := tx.Change("UPDATE questions SET state = 'consumed' WHERE id = ? AND state IN ('answered', 'consumed')", id)
	if err == nil && n == 0 {
		return fmt.Errorf("question %d: %w", id, turn.ErrStale)
	}
	return err
}

// closeQuestion closes an open question and ends the wait for it. A choice by number is stored as words.
//
// A late answer finds the question closed, and its sender is told so.
func closeQuestion(tx *Tx, id int64, text string, by int64) error {
	q, err := questionByID(tx, id)
	if err != nil {
		return err
	}
	text = chosenOption(q, text)
	n, err := tx.Change("UPDATE questions SET state = 'answered', answer = ?, answered_by = ? WHERE id = ? AND state = 'open' AND until > ?", text, by, id, sqlite.Micros(tx.Now))
	if err != nil {
		return err
	}
	if n == 0 {
		return event.NewFault(event.Clash, "hob approvals list shows what is open", "that question is no longer open")
	}
	if err := tx.Run("UPDATE waits SET met = ?, how = 'answered' WHERE question = ? AND met = 0", sqlite.Micros(tx.Now), id); err != nil {
		return err
	}
	// The thread continues the waiting turn.
	q.State, q.Answer = turn.Answered, text
	tx.Wake(sqlite.SignalInbox | sqlite.SignalQuestions)
	fail.Point("question.answered")
	// What the answer starts is committed with the answer.
	if err := followAnswer(tx, q); err != nil {
		return err
	}
	return addEvent(tx, event.Event{Type: "question.answered", Turn: q.Turn, Inbox: by, Data: map[string]any{"code": q.Code, "answer": text, "inbox": by}})
}

// questionByID reads an existing question.
func questionByID(tx *Tx, id int64) (turn.Question, error) {
	rs, err := tx.Query("SELECT "+questionColumns+" FROM questions WHERE id = ?", id)
	list, err := sqlite.Collect(rs, err, scanQuestion)
	return first(list, err, fmt.Errorf("question %d: %w", id, sql.ErrNoRows))
}

// followAnswer carries out an answer beyond the waiting turn: a permanent grant, a resend, a job that continues.
func followAnswer(tx *Tx, q turn.Question) error {
	switch {
	case q.Subject == turn.AboutOutbox:
		return resolveUnknown(tx, q.Ref, q.Answer != turn.AnswerNo)
	case q.Subject == turn.AboutJob:
		return jobAnswered(tx, q)
	case q.Subject == turn.AboutConfig && q.Tool == aboutSkills:
		return skillsAnswered(tx, q)
	case q.Subject == turn.AboutConfig && q.Tool == aboutMCP:
		return mcpAnswered(tx, q)
	case q.Subject == turn.AboutConfig:
		return restoredAnswered(tx, q)
	case q.Subject == turn.AboutAsk && q.Tool == planTool:
		return planAnswered(tx, q.Turn, q.Answer)
	case q.Answer == turn.AnswerAlways && q.Pattern != "":
		_, err := tx.Insert(`INSERT INTO grants (tool, pattern, question, created, tainted) SELECT ?, ?, id, ?, tainted FROM questions WHERE id = ?`, q.Tool, q.Pattern, sqlite.Micros(tx.Now), q.ID)
		return err
	}
	return nil
}

// Answer is an answer to a question. It comes from a command in chat, a button, or the command line.
type Answer struct {
	Code     string // the question's code, in any case
	Text     string // "once", "turn", "always" or "no" for an approval; free text for an ask
	By       int64  // the inbox row with the answer
	Approves bool   // the command was /approve
}

// approves reports whether the input is an approve command.
func approves(in event.In) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(in.Text()), " ")
	return strings.EqualFold(strings.TrimPrefix(word, "/"), "approve")
}

// answerCode closes the question with a code. It rejects an approval of an ask, and free text for an approval.
func answerCode(tx *Tx, v Answer) (turn.Question, error) {
	rs, err := tx.Query("SELECT "+questionColumns+" FROM questions WHERE code = ?", strings.ToUpper(strings.TrimSpace(v.Code)))
	list, err := sqlite.Collect(rs, err, scanQuestion)
	if err != nil {
		return turn.Question{}, err
	}
	if len(list) == 0 {
		return turn.Question{}, event.NewFault(event.Missing, "hob approvals list shows what is open", "there is no question %s", v.Code)
	}
	q := list[0]
	if yes, ok := planApproval(q.Tool); ok && q.Subject == turn.AboutAsk && v.Approves { // a plan is approved like a call
		v.Text, v.Approves = yes, false
	}
	// Each kind of question accepts its own answers; the hint names the command that fits.
	text, ok := acceptedAnswer(q, chosenOption(q, v.Text))
	switch {
	case v.Text == turn.AnswerAlways && q.Pattern == "" && q.Subject != turn.AboutAsk:
		return q, event.NewFault(event.Invalid, "/approve "+q.Code+" allows it this once", "what question %s asks cannot be allowed for good", q.Code)
	case q.Subject == turn.AboutAsk && v.Approves:
		return q, event.NewFault(event.Invalid, "/answer "+q.Code+" TEXT", "question %s wants an answer in words", q.Code)
	case !ok:
		return q, event.NewFault(event.Invalid, "/approve "+q.Code+" or /deny "+q.Code, "question %s wants yes or no", q.Code)
	}
	// The caller shows the answer in words.
	q.Answer = chosenOption(q, v.Text)
	return q, closeQuestion(tx, q.ID, text, v.By)
}

// withdrawn is stored as the answer to a question that was closed before its time was up. People are shown it as the state; for hob both are the same.
const withdrawn = "withdrawn"

// expireQuestions closes the open questions that a condition selects. No answer means no: the waiting action is dropped.
//
// The caller is either the clock (until has passed), the end of the turn that asked, or what else has made the question pointless.
func expireQuestions(tx *Tx, where string, arg any) error {
	rs, err := tx.Query("UPDATE questions SET state = 'expired', answer = iif(until > ?, ?, '') WHERE state = 'open' AND "+where+" RETURNING id, code, subject, ref, coalesce(turn, 0), tool", sqlite.Micros(tx.Now), withdrawn, arg) // #nosec G202 -- constants
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (q turn.Question, err error) {
		return q, rs.Scan(&q.ID, &q.Code, &q.Subject, &q.Ref, &q.Turn, &q.Tool)
	})
	if err != nil || len(list) == 0 {
		return err
	}
	tx.Wake(sqlite.SignalQuestions)
	// A delivery with an unknown outcome is dropped when nobody answers; other subjects need no action.
	for _, q := range list {
		if err := addEvent(tx, event.Event{Type: "question.expired", Turn: q.Turn, Data: map[string]any{"code": q.Code}}); err != nil {
			return err
		}
		if q.Subject != turn.AboutOutbox {
			continue
		}
		if err := resolveUnknown(tx, q.Ref, false); err != nil {
			return err
		}
		if err := addNotice(tx, fmt.Sprintf("question:%d:expired", q.ID), q.ID, fmt.Sprintf("Nobody said whether message %d should be sent again: I dropped it. hob outbox retry %d sends it after all.", q.Ref, q.Ref)); err != nil {
			return err
		}
	}
	return nil
}
