package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"hob/daemon/agent/turn"
	"hob/daemon/api"
	"hob/daemon/policy"
	"hob/daemon/sqlite"
	"hob/tools"
)

// aboutMCP is the Tool of a question about a server. Other questions have the name of a channel there. No channel has this name, because it contains a space.
const aboutMCP = "hob mcp"

// MCPLists lists all rows, oldest first. A row whose question was closed without a yes counts as refused.
func (s Settings) MCPLists(ctx context.Context) ([]api.MCPRow, error) {
	rs, err := s.core.read().QueryContext(ctx, `SELECT l.server, l.hash, l.list, iif(l.state = 'asked' AND coalesce(q.state, '') <> 'open', ?, l.state), l.at
		FROM mcp_lists l LEFT JOIN questions q ON q.id = l.question ORDER BY l.at, l.server, l.hash`, api.MCPRefused)
	return sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.MCPRow, err error) {
		return r, rs.Scan(&r.Server, &r.Hash, &r.List, &r.State, sqlite.Stamp(&r.At))
	})
}

// AskMCP opens a question about a server's tool list. It replaces earlier questions about lists of that server that the owner has not
// accepted. If the state is refused, the text is sent as a message without a question, and the row counts as refused.
func (s Settings) AskMCP(ctx context.Context, text string, row api.MCPRow) error {
	return s.core.write(ctx, func(tx *Tx) error {
		known := false
		if err := tx.One("SELECT EXISTS (SELECT 1 FROM mcp_lists WHERE server = ? AND hash = ?)", []any{row.Server, row.Hash}, &known); err != nil || known {
			return err
		}
		if _, err := dropDecisions(tx, "mcp_lists", "server = ? AND state = 'asked'", row.Server); err != nil {
			return err
		}
		id, err := int64(0), error(nil)
		if row.State == api.MCPRefused {
			err = addNotice(tx, fmt.Sprintf("mcp:%s:%s:%d", row.Server, row.Hash, sqlite.Micros(tx.Now)), s.core.epoch, text)
		} else {
			id, err = askToAccept(tx, aboutMCP, text, "accept it", "no")
		}
		if err != nil {
			return err
		}
		return tx.Run("INSERT INTO mcp_lists (server, hash, list, state, question, at) VALUES (?, ?, ?, ?, ?, ?)", row.Server, row.Hash, row.List, api.MCPAsked, sqlite.Ref(id), sqlite.Micros(tx.Now))
	})
}

// AcceptMCP puts a list into use in place of all others of the server, and closes their questions. If the server can now be reached in
// another way, its permanent permissions end; see endMCPRights.
func (s Settings) AcceptMCP(ctx context.Context, row api.MCPRow) error {
	return s.core.write(ctx, func(tx *Tx) error {
		if err := endRightsElsewhere(tx, row.Server, row.List); err != nil {
			return err
		}
		if _, err := dropDecisions(tx, "mcp_lists", "server = ?", row.Server); err != nil {
			return err
		}
		return tx.Run("INSERT INTO mcp_lists (server, hash, list, state, at) VALUES (?, ?, ?, ?, ?)", row.Server, row.Hash, row.List, api.MCPAccepted, sqlite.Micros(tx.Now))
	})
}

// ForgetMCP removes the decisions about a server, and the permissions to call it without asking.
func (s Settings) ForgetMCP(ctx context.Context, server string) error {
	return s.core.write(ctx, func(tx *Tx) error {
		if err := endMCPRights(tx, server); err != nil {
			return err
		}
		_, err := dropDecisions(tx, "mcp_lists", "server = ?", server)
		return err
	})
}

// mcpAnswered puts a list into use after a yes. A no needs no change, because a row whose question is closed counts as refused.
func mcpAnswered(tx *Tx, q turn.Question) error {
	if q.Answer == turn.AnswerNo {
		return nil
	}
	rs, err := tx.Query("SELECT server, list FROM mcp_lists WHERE question = ?", q.ID)
	rows, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (r api.MCPRow, err error) { return r, rs.Scan(&r.Server, &r.List) })
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := endRightsElsewhere(tx, r.Server, r.List); err != nil {
			return err
		}
	}
	if err := tx.Run("DELETE FROM mcp_lists WHERE state = 'accepted' AND server IN (SELECT server FROM mcp_lists WHERE question = ?)", q.ID); err != nil {
		return err
	}
	return tx.Run("UPDATE mcp_lists SET state = ?, at = ? WHERE question = ?", api.MCPAccepted, sqlite.Micros(tx.Now), q.ID)
}

// endRightsElsewhere ends the permanent permissions for a server, unless the owner has already accepted it with the same reach as in list.
func endRightsElsewhere(tx *Tx, server, list string) error {
	same := false
	err := tx.One("SELECT EXISTS (SELECT 1 FROM mcp_lists WHERE server = ? AND state = 'accepted' AND list -> '$.reach' IS (? -> '$.reach'))", []any{server, list}, &same)
	if err != nil || same {
		return err
	}
	return endMCPRights(tx, server)
}

// endMCPRights ends what the owner has permanently allowed for a server: the answers "always", also of questions that are still open, and
// the rights of jobs. They identify the server only by its name, and another server may get that name. The owner is told. Rights in the
// config stay, because the config says what the owner wants now.
func endMCPRights(tx *Tx, server string) error {
	pattern := policy.Pattern(tools.Intent{Server: server})
	grants, err := tx.Change("UPDATE grants SET revoked = ? WHERE revoked = 0 AND pattern = ?", sqlite.Micros(tx.Now), pattern)
	if err != nil {
		return fmt.Errorf("end the grants: %w", err)
	}
	if err := tx.Run("UPDATE questions SET pattern = '' WHERE state = 'open' AND pattern = ?", pattern); err != nil {
		return fmt.Errorf("end what could still be granted: %w", err)
	}
	version, err := nextTriggerVersion(tx)
	if err != nil {
		return err
	}
	rs, err := tx.Query(`UPDATE triggers SET version = ?2, body = json_set(body, '$.allow', json((SELECT json_group_array(value) FROM json_each(body, '$.allow') WHERE value <> ?1)))
		WHERE kind = 'job' AND removed = 0 AND coalesce(body ->> '$.origin', '') <> 'config' AND EXISTS (SELECT 1 FROM json_each(body, '$.allow') WHERE value = ?1) RETURNING name`,
		policy.Right{Kind: "mcp", To: server}.String(), version)
	jobs, err := sqlite.Collect(rs, err, sqlite.Value[string])
	if err != nil {
		return fmt.Errorf("end the rights of jobs: %w", err)
	}
	if grants == 0 && len(jobs) == 0 {
		return nil
	}
	said := "You removed the MCP server " + server + ", or accepted it with another section."
	if grants > 0 {
		said += fmt.Sprintf(" What you permanently allowed about it has ended (%d).", grants)
	}
	if len(jobs) > 0 {
		tx.Wake(sqlite.SignalJobs)
		said += fmt.Sprintf(" These jobs may not use it without asking any more: %s. hob cron update JOB --allow mcp:%s allows it again.", strings.Join(jobs, ", "), server)
	}
	return addNotice(tx, fmt.Sprintf("mcp:%s:ended:%d", server, tx.Now.UnixMicro()), 0, said)
}
