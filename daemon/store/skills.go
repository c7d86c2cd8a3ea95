package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/sqlite"
)

// aboutSkills is the Tool of the question about skills. No channel has this name, because it contains a space.
const aboutSkills = "hob skills"

// acceptOpen is how long a question about skills or tools of MCP servers stays open.
const acceptOpen = 7 * 24 * time.Hour

// askToAccept asks the owner whether to accept something from others. about is the Tool of the question.
func askToAccept(tx *Tx, about, text string, options ...string) (int64, error) {
	id, err := askOwner(tx, &turn.Question{Subject: turn.AboutConfig, Tool: about, Text: text, Options: options, To: event.ToOwner, Until: tx.Now.Add(acceptOpen)})
	if err != nil {
		return 0, fmt.Errorf("ask about %s: %w", about, err)
	}
	return id, nil
}

// dropDecisions deletes rows about things that others offer, and returns their number. It closes their questions, unless another row waits
// for the same answer.
func dropDecisions(tx *Tx, table, where string, args ...any) (int, error) {
	rs, err := tx.Query("DELETE FROM "+table+" WHERE "+where+" RETURNING coalesce(question, 0)", args...) // #nosec G202 -- constants
	questions, err := sqlite.Collect(rs, err, sqlite.Value[int64])
	for _, id := range questions {
		if err == nil {
			err = expireQuestions(tx, "id = ? AND NOT EXISTS (SELECT 1 FROM "+table+" d WHERE d.question = questions.id AND d.state = 'asked')", id)
		}
	}
	return len(questions), err
}

// Skills lists all rows. A row whose question was closed without a yes counts as refused.
func (s Settings) Skills(ctx context.Context) ([]api.SkillRow, error) {
	rs, err := s.core.read().QueryContext(ctx, `SELECT s.name, s.hash, iif(s.state = 'asked' AND coalesce(q.state, '') <> 'open', ?, s.state)
		FROM skills s LEFT JOIN questions q ON q.id = s.question ORDER BY s.name, s.hash`, api.SkillRefused)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.SkillRow, err error) { return r, rs.Scan(&r.Name, &r.Hash, &r.State) })
}

// AskSkills opens one question about rows, unless one about skills is open.
func (s Settings) AskSkills(ctx context.Context, text string, rows []api.SkillRow) error {
	return s.core.write(ctx, func(tx *Tx) error {
		open := false
		if err := tx.One("SELECT EXISTS (SELECT 1 FROM questions WHERE state = 'open' AND subject = ? AND tool = ?)", []any{turn.AboutConfig, aboutSkills}, &open); err != nil || open {
			return err
		}
		options := []string{"trust it", "no"}
		if len(rows) > 1 {
			options[0] = "trust them"
		}
		id, err := askToAccept(tx, aboutSkills, text, options...)
		if err != nil {
			return err
		}
		for _, r := range rows {
			if err := tx.Run("INSERT INTO skills (name, hash, state, question, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", r.Name, r.Hash, api.SkillAsked, id, sqlite.Micros(tx.Now)); err != nil {
				return err
			}
		}
		return nil
	})
}

// skillsAnswered notes a yes. The folders are copied after the commit; a no needs no change, because a row whose question is closed counts
// as refused.
func skillsAnswered(tx *Tx, q turn.Question) error {
	if q.Answer == turn.AnswerNo {
		return nil
	}
	return tx.Run("UPDATE skills SET state = ?, at = ? WHERE question = ? AND state = ?", api.SkillAccepted, sqlite.Micros(tx.Now), q.ID, api.SkillAsked)
}

// TrustSkill puts a copy into use. Every session gets a new prefix with its next request, because the prefix lists the skills.
func (s Settings) TrustSkill(ctx context.Context, name, hash string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		var question sql.NullInt64
		err := tx.One("SELECT max(question) FROM skills WHERE name = ? AND hash = ?", []any{name, hash}, &question)
		if err != nil {
			return err
		}
		// Rows that the owner has refused stay. Copies that are no longer used are deleted.
		if err := tx.Run("DELETE FROM skills WHERE name = ? AND (state = ? OR hash = ?)", name, api.SkillTrusted, hash); err != nil {
			return err
		}
		if err := tx.Run("INSERT INTO skills (name, hash, state, question, at) VALUES (?, ?, ?, ?, ?)", name, hash, api.SkillTrusted, question, sqlite.Micros(tx.Now)); err != nil {
			return err
		}
		if err := expireQuestions(tx, "id = ? AND NOT EXISTS (SELECT 1 FROM skills s WHERE s.question = questions.id AND s.state = 'asked')", question.Int64); err != nil {
			return err
		}
		return forgetPrompts(tx)
	})
}

// ForgetSkill removes the rows of a name. With a hash it removes only the accepted row with that hash, whose folder could not be copied.
func (s Settings) ForgetSkill(ctx context.Context, name, hash string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		if hash != "" {
			return tx.Run("DELETE FROM skills WHERE name = ? AND hash = ? AND state = ?", name, hash, api.SkillAccepted)
		}
		if n, err := dropDecisions(tx, "skills", "name = ?", name); err != nil || n == 0 {
			return err
		}
		return forgetPrompts(tx)
	})
}
