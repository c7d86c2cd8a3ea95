package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"hob/daemon/event"
	"hob/daemon/sqlite"
	"hob/tools"
)

// shownCalls is the number of newest calls in a subagent's progress.
const shownCalls = 5

// Sessions is the session tools' view of conversations and subagents. It only reads, and is safe for concurrent use.
type Sessions struct{ core *core }

// Agents lists the subagents that the turns of a session have started, newest first. Session 0 means all sessions.
func (r Sessions) Agents(ctx context.Context, session int64, limit int) ([]tools.Agent, error) {
	return r.agents(ctx, ofSession(session)+" AND c.turn = (SELECT max(turn) FROM children o WHERE o.agent = c.agent) ORDER BY c.turn DESC LIMIT ?2", session, limit)
}

// Agent returns one subagent; false if the session has none with this id.
func (r Sessions) Agent(ctx context.Context, session int64, id string) (tools.Agent, bool, error) {
	list, err := r.agents(ctx, ofSession(session)+" AND c.agent = ?2 ORDER BY c.turn DESC LIMIT 1", session, id)
	if err != nil || len(list) == 0 {
		return tools.Agent{}, false, err
	}
	return list[0], true, nil
}

// ofSession selects the subagents of the session ?1; 0: of all.
func ofSession(session int64) string {
	if session == 0 {
		return "?1 = 0"
	}
	return "p.session = ?1"
}

// OpenAgents lists the open subagents of all sessions, oldest first, for the status.
func (r Sessions) OpenAgents(ctx context.Context) ([]tools.Agent, error) {
	return r.agents(ctx, "t.state IN ('ready', 'running', 'waiting') ORDER BY c.turn")
}

// agents reads sub-agents with their newest calls.
func (r Sessions) agents(ctx context.Context, where string, args ...any) ([]tools.Agent, error) {
	rs, err := r.core.read().QueryContext(ctx, `SELECT c.agent, s.title, t.state, t.id, t.session, t.parent, c.background, t.tainted = 1 OR s.watermark <> 'owner', c.model, t.started, t.ended, t.running_us * 1000,
		c.timeout_us * 1000, (SELECT count(*) FROM steps k WHERE k.turn = t.id AND k.kind = 'model'), t.tokens,
		(SELECT json_group_array(line) FROM (SELECT tool || ' ' || substr(coalesce(args, ''), 1, 120) AS line FROM (SELECT seq, tool, args FROM items i WHERE i.turn = t.id AND i.kind = 'call' ORDER BY seq DESC LIMIT `+fmt.Sprint(shownCalls)+`) ORDER BY seq)),
		t.text, t.why
		FROM children c JOIN turns t ON t.id = c.turn JOIN sessions s ON s.id = t.session JOIN turns p ON p.id = t.parent WHERE `+where, args...) // #nosec G202 -- constants
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (a tools.Agent, err error) {
		return a, rs.Scan(&a.ID, &a.Title, &a.State, &a.Turn, &a.Session, &a.Parent, &a.Background, &a.Tainted, &a.Model, sqlite.Stamp(&a.Spawned), sqlite.Stamp(&a.Ended), &a.Running,
			&a.Timeout, &a.Requests, &a.Tokens, sqlite.JSON(&a.Calls), &a.Text, &a.Why)
	})
	if err != nil {
		return nil, fmt.Errorf("read sub-agents: %w", err)
	}
	return list, nil
}

// Talks lists conversations, newest first, without those that nothing is left of. An empty kind means all.
func (r Sessions) Talks(ctx context.Context, kind string, limit, offset int) ([]tools.Talk, error) {
	return r.talks(ctx, whereFilter(event.Filter{State: kind}, "s.kind = ?1", "")+" AND NOT "+nothingLeft+" ORDER BY s.id DESC LIMIT ?2 OFFSET ?3", kind, limit, offset)
}

// Talk returns a conversation by its id or its key; false if there is none.
func (r Sessions) Talk(ctx context.Context, name string) (tools.Talk, bool, error) {
	list, err := r.talks(ctx, sessionCalled(), name)
	if err != nil || len(list) == 0 {
		return tools.Talk{}, false, err
	}
	return list[0], true, nil
}

// talks reads conversations with their sizes and costs. The cost is unknown (NULL) if only requests without a price were made.
func (r Sessions) talks(ctx context.Context, where string, args ...any) ([]tools.Talk, error) {
	rs, err := r.core.read().QueryContext(ctx, `SELECT s.id, s.key, `+sessionTitle+`, s.kind, s.watermark, s.archived = 0, s.created, (SELECT count(*) FROM items i WHERE i.session = s.id),
		(SELECT count(*) FROM turns t WHERE t.session = s.id), (SELECT coalesce(sum(t.tokens), 0) FROM turns t WHERE t.session = s.id), (SELECT iif(coalesce(sum(t.cost), 0) = 0 AND max(EXISTS (SELECT 1 FROM steps p WHERE p.turn = t.id AND `+unpriced+`)), NULL, coalesce(sum(t.cost), 0)) FROM turns t WHERE t.session = s.id),
		coalesce((SELECT json_extract(k.usage, '$.input') + json_extract(k.usage, '$.output') FROM steps k JOIN turns t ON t.id = k.turn
			WHERE t.session = s.id AND k.kind = 'model' AND k.state = 'done' ORDER BY k.turn DESC, k.n DESC LIMIT 1), 0),
		coalesce((SELECT b.reply_to FROM sessions o JOIN turns t ON t.session = o.id JOIN inbox b ON b.turn = t.id WHERE o.key = s.key AND b.reply_to NOT IN ('', 'none')
			ORDER BY o.id DESC, t.id DESC, b.seq DESC LIMIT 1), '')
		FROM sessions s WHERE `+where, args...) // #nosec G202 -- constants
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (t tools.Talk, err error) {
		var named titleSource
		err = rs.Scan(&t.ID, &t.Key, sqlite.JSON(&named), &t.Kind, &t.Trust, &t.Live, sqlite.Stamp(&t.Created), &t.Messages, &t.Turns, &t.Tokens, &t.Cost, &t.Context, &t.Reply)
		t.Title, t.TitleTrust = named.title(t.Trust)
		t.Reply = cmp.Or(t.Reply, event.ToOwner)
		return t, err
	})
	if err != nil {
		return nil, fmt.Errorf("read conversations: %w", err)
	}
	return list, nil
}

// Lines returns the entries of a conversation that contain a text ("" selects all), and their number. offset counts back from the newest
// entry. The result has the order of the conversation.
func (r Sessions) Lines(ctx context.Context, session int64, search string, limit, offset int) (list []tools.Line, total int, err error) {
	const from = ` FROM (SELECT seq, role, kind, tool, iif(kind = 'call', coalesce(args, ''), coalesce((SELECT group_concat(json_extract(p.value, '$.text'), char(10))
		FROM json_each(parts) p WHERE json_extract(p.value, '$.kind') = 'text'), '')) AS text FROM items WHERE session = ?1 AND kind <> 'reasoning') WHERE ?2 = '' OR instr(lower(text), lower(?2)) > 0`
	if err := r.core.read().QueryRowContext(ctx, "SELECT count(*)"+from, session, search).Scan(&total); err != nil {
		return nil, 0, fmt.Errorf("count entries: %w", err)
	}
	rs, err := r.core.read().QueryContext(ctx, "SELECT * FROM (SELECT seq, role, kind, tool, text"+from+" ORDER BY seq DESC LIMIT ?3 OFFSET ?4) ORDER BY seq", session, search, limit, offset)
	list, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (l tools.Line, err error) {
		return l, rs.Scan(&l.Seq, &l.Role, &l.Kind, &l.Tool, &l.Text)
	})
	if err != nil {
		return nil, 0, fmt.Errorf("read entries: %w", err)
	}
	return list, total, nil
}
