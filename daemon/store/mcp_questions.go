package store

import (
	"context"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// AnswerSignIn closes the open questions whose link has one of these states, and returns their number. in is the message that contained the
// answer, with the answer removed. If in has no source and there is a question, AnswerSignIn makes a row for it. That row opens no turn.
func (s Settings) AnswerSignIn(ctx context.Context, in event.In, states []string, answer string) (r event.Receipt, closed int, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		list, err := sqlite.Doc(states)
		if err != nil {
			return err
		}
		rs, err := tx.Query(`SELECT id FROM questions q WHERE state = 'open' AND subject = ? AND until > ?
			AND EXISTS (SELECT 1 FROM json_each(?) WHERE instr(q.text, 'state=' || value) > 0)`, turn.AboutAsk, sqlite.Micros(tx.Now), list)
		ids, err := sqlite.Collect(rs, err, sqlite.Value[int64])
		closed = len(ids)
		if err != nil || closed == 0 && in.Source == "" {
			return err
		}
		if in.Source == "" { // it came to the redirect address, or from the command line
			in = event.In{
				Source: "api", ExtID: "sign-in " + states[len(states)-1], Session: "main", Kind: event.Answer, Rank: event.RankOwner,
				Trust: event.Owner, ReplyTo: event.CLI, Parts: event.Say("signed in"),
			}
		}
		if r, err = closedInput(tx, in); err != nil {
			return err
		}
		for _, id := range ids {
			if err := closeQuestion(tx, id, answer, r.Inbox); err != nil {
				return err
			}
		}
		return nil
	})
	return r, closed, err
}

// closedInput stores an input that opens no turn, or finds the existing one.
func closedInput(tx *Tx, in event.In) (r event.Receipt, err error) {
	if r.Inbox, err = insertIn(tx, in); err != nil {
		return r, err
	}
	if r.Inbox == 0 {
		return findInput(tx, in)
	}
	if err := closeIn(tx, r.Inbox, "done", "it answered a question"); err != nil {
		return r, err
	}
	r.New = true
	r.Event, err = addEventSeq(tx, event.Event{Type: "event.accepted", Session: in.Session, Inbox: r.Inbox, Data: map[string]any{"inbox": r.Inbox, "source": in.Source}})
	return r, err
}

// AskForServer opens a question of an MCP server to the owner during a call.
func (s Settings) AskForServer(ctx context.Context, q api.MCPQuestion) (id int64, err error) {
	err = s.core.write(ctx, func(tx *Tx) (err error) {
		id, err = askOwner(tx, &turn.Question{Subject: turn.AboutAsk, Tool: aboutMCP, Turn: q.Turn, CallID: q.CallID, Text: q.Text, Options: q.Options, To: q.To, Until: q.Until})
		return err
	})
	return id, err
}

// ServerAnswer returns the answer to such a question. open means that there is none yet. If neither is true, there will be none.
func (s Settings) ServerAnswer(ctx context.Context, id int64) (answer string, answered, open bool, err error) {
	var state turn.QuestionState
	err = s.core.read().QueryRowContext(ctx, "SELECT answer, state, state = 'open' AND until > ? FROM questions WHERE id = ?", sqlite.Micros(s.core.opt.Clock.Wall()), id).Scan(&answer, &state, &open)
	return answer, state == turn.Answered, open, err
}

// CloseForServer closes such a question without an answer.
func (s Settings) CloseForServer(ctx context.Context, id int64) error {
	return s.core.write(ctx, func(tx *Tx) error { return expireQuestions(tx, "id = ?", id) })
}
