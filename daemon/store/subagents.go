package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sqlite"

	"hob/tools"
)

// maxOpenSubagents limits the open subagents of one conversation.
const maxOpenSubagents = 16

// parentTurn is the turn that starts a subagent.
type parentTurn struct {
	session   int64
	key       string
	watermark event.Trust
	epoch     int64
	turn      turn.Turn
}

// readParent reads the turn that starts a sub-agent. Sub-agents cannot start sub-agents.
func readParent(tx *Tx, id int64) (p parentTurn, err error) {
	rs, err := tx.Query(`SELECT t.session, s.key, s.watermark, t.epoch, coalesce(t.parent, 0), t.asker, t.tainted = 1 OR s.watermark <> 'owner',
		iif(t.foreign_from <> '', t.foreign_from, s.foreign_from) FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?`, id)
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (p parentTurn, err error) {
		return p, rs.Scan(&p.session, &p.key, &p.watermark, &p.epoch, &p.turn.Parent, &p.turn.Asker, &p.turn.Tainted, &p.turn.Foreign)
	})
	if err != nil {
		return p, fmt.Errorf("read parent: %w", err)
	}
	switch {
	case len(list) == 0:
		return p, event.NewFault(event.Clash, "ask hob in chat instead", "only a turn can start a sub-agent")
	case list[0].turn.Parent != 0:
		return p, event.NewFault(event.Refused, "", "a sub-agent starts no sub-agents")
	}
	return list[0], nil
}

// spawnSubagent creates a subagent, or another turn of one that has ended. The turn is a row like any other; agent.SubagentPool takes it.
func spawnSubagent(tx *Tx, s tools.Spawn) error {
	p, err := readParent(tx, s.Call.Turn)
	if err != nil {
		return err
	}
	// The limit counts all turns of the conversation, so a model cannot pass it with a new turn.
	var open int
	if err := tx.One("SELECT count(*) FROM turns t JOIN turns p ON p.id = t.parent WHERE p.session = ? AND t.ended = 0", []any{p.session}, &open); err != nil {
		return fmt.Errorf("count sub-agents: %w", err)
	}
	if open >= maxOpenSubagents {
		return event.NewFault(event.Clash, "wait for one of them, or stop one", "%d sub-agents are open already", open)
	}
	session, err := subagentSession(tx, p, s)
	if err != nil {
		return err
	}
	// The subagent answers to nobody: its parent gets the result from subagentEnded.
	id, err := tx.Insert("INSERT INTO turns (session, parent, state, epoch, asker, reply_to, started) VALUES (?, ?, 'ready', ?, ?, ?, ?)",
		session, s.Call.Turn, p.epoch, p.turn.Asker, event.ToNone, sqlite.Micros(tx.Now))
	if err != nil {
		return fmt.Errorf("make turn: %w", err)
	}
	// A resumed one keeps its preset.
	if err := tx.Run(`INSERT INTO children (turn, agent, call_id, background, preset, model, timeout_us)
		VALUES (?1, ?2, ?3, ?4, coalesce((SELECT preset FROM children WHERE agent = ?2 ORDER BY turn DESC LIMIT 1), ?5), ?6, ?7)`,
		id, s.Agent(), s.Call.ID, sqlite.Bit(s.Background), s.Preset, s.Model, s.Timeout.Microseconds()); err != nil {
		return fmt.Errorf("make child: %w", err)
	}
	// The task text comes from the parent. If the parent has read foreign text, the task may contain it.
	if p.turn.Tainted || s.Call.Tainted {
		if err := lowerTrust(tx, id, "what its parent has read"); err != nil {
			return fmt.Errorf("inherit taint: %w", err)
		}
		p.turn.Tainted = true
	}
	tx.Wake(sqlite.SignalInbox)
	if err := sayTask(tx, p, s, session, id); err != nil {
		return fmt.Errorf("say the task: %w", err)
	}
	return addEvent(tx, event.Event{Type: "child.spawned", Session: p.key, Turn: s.Call.Turn, Data: map[string]any{
		"agent": s.Agent(), "turn": id, "title": s.Title, "background": s.Background,
	}})
}

// subagentSession returns the subagent's session: a new one, or that of the resumed subagent.
func subagentSession(tx *Tx, p parentTurn, s tools.Spawn) (session int64, err error) {
	// A new session inherits the trust of its parent's session, so it is never more trusted than its parent.
	if s.Resume == "" {
		session, err = tx.Insert("INSERT INTO sessions (key, title, kind, watermark, foreign_from, created) VALUES (?, ?, 'child', ?, ?, ?)",
			"child:"+s.Call.ID, s.Title, p.watermark, p.turn.Foreign, sqlite.Micros(tx.Now))
		return session, err
	}
	// A resumed subagent keeps its transcript. Only its own conversation may resume it.
	k, found, err := newestSubagent(tx, s.Resume)
	switch {
	case err != nil:
		return 0, err
	case !found || k.parentSession != p.session:
		return 0, noSubagent(s.Resume)
	case !k.over:
		return 0, event.NewFault(event.Clash, "wait for it, or stop it", "sub-agent %s has not ended yet", s.Resume)
	}
	return k.session, nil
}

// noSubagent is the error for an id that this conversation does not know. A subagent of another conversation gives the same error.
func noSubagent(id string) error {
	return event.NewFault(event.Missing, `subagents {"action": "list"} shows what there is`, "this conversation has no sub-agent %s", id)
}

// sayTask writes the task as the subagent's first item.
func sayTask(tx *Tx, p parentTurn, s tools.Spawn, session, id int64) error {
	it := llm.Item{
		Session: session, Turn: id, Role: llm.User, Kind: llm.Input, Parts: event.Say(s.Prompt), Trust: p.turn.Trust(), Source: "sessions_spawn",
		Envelope: &llm.Envelope{Source: fmt.Sprintf("turn %d", s.Call.Turn), At: tx.Now, Zone: s.Call.Zone, Trust: p.turn.Asker, Kind: event.Message},
	}
	_, err := addItem(tx, it, 0)
	return err
}

// subagent is the newest turn of a subagent.
type subagent struct {
	agent         string
	turn          int64
	parent        int64
	session       int64
	parentSession int64
	background    bool
	running, over bool
}

// subagentColumns joins a subagent's turn with the turn of its parent, which names the conversation.
const subagentColumns = "c.agent, t.id, t.parent, t.session, p.session, c.background, t.state = 'running', t.ended > 0 FROM children c JOIN turns t ON t.id = c.turn JOIN turns p ON p.id = t.parent"

// readSubagents reads sub-agents with the state of their turns.
func readSubagents(tx *Tx, where string, args ...any) ([]subagent, error) {
	rs, err := tx.Query("SELECT "+subagentColumns+" WHERE "+where, args...) // #nosec G202 -- constants
	list, err := sqlite.Collect(rs, err, func(rs *sql.Rows) (k subagent, err error) {
		return k, rs.Scan(&k.agent, &k.turn, &k.parent, &k.session, &k.parentSession, &k.background, &k.running, &k.over)
	})
	if err != nil {
		return nil, fmt.Errorf("read sub-agents: %w", err)
	}
	return list, nil
}

// newestSubagent reads the latest turn of a subagent. A resumed subagent has several turns with the same agent id.
func newestSubagent(tx *Tx, agent string) (subagent, bool, error) {
	list, err := readSubagents(tx, "c.agent = ? ORDER BY c.turn DESC LIMIT 1", agent)
	if err != nil || len(list) == 0 {
		return subagent{}, false, err
	}
	return list[0], true, nil
}

// checkAwait refuses to wait for a subagent that has ended: nothing would wake the turn.
func checkAwait(tx *Tx, a tools.Await) error {
	k, found, err := newestSubagent(tx, a.Agent)
	if err == nil && (!found || k.over) {
		err = event.NewFault(event.Clash, `subagents {"action": "history"} shows what it said`, "sub-agent %s has ended meanwhile", a.Agent)
	}
	return err
}

// readRelations reads the parent and the subagents of a turn.
func readRelations(ctx context.Context, read *sqlite.Readers, t turn.Turn) (turn.Relations, error) {
	var k turn.Relations
	// Requests are counted over the parent turn and all its subagents.
	root := t.ID
	if t.Parent != 0 {
		root = t.Parent
		k.Spec = &turn.ChildSpec{}
		var micros int64
		if err := read.QueryRowContext(ctx, "SELECT agent, preset, model, timeout_us FROM children WHERE turn = ?", t.ID).Scan(&k.Spec.Agent, &k.Spec.Preset, &k.Spec.Model, &micros); err != nil {
			return k, fmt.Errorf("read what the sub-agent is for: %w", err)
		}
		k.Spec.Timeout = time.Duration(micros) * time.Microsecond
	}
	err := read.QueryRowContext(ctx, `SELECT count(*) FROM steps WHERE kind = 'model' AND state <> 'unknown' AND turn <> ?1
		AND turn IN (SELECT ?2 UNION ALL SELECT id FROM turns WHERE parent = ?2)`, t.ID, root).Scan(&k.Requests)
	if err != nil {
		return k, fmt.Errorf("count the family's requests: %w", err)
	}
	k.Children, err = endedSubagents(ctx, read, t.ID)
	return k, err
}

// endedSubagents reads the results that have ended the waits of a turn, by the id of the waiting call. wakeParent has stored the id of the
// subagent's turn in the column how.
func endedSubagents(ctx context.Context, read *sqlite.Readers, id int64) (map[string]turn.Child, error) {
	children := map[string]turn.Child{}
	rs, err := read.QueryContext(ctx, `SELECT w.call_id, c.agent, t.id, t.state, t.text, t.why, t.tainted = 1 OR s.watermark <> 'owner', t.running_us * 1000, c.timeout_us * 1000
		FROM waits w JOIN turns t ON t.id = CAST(w.how AS INTEGER) JOIN children c ON c.turn = t.id JOIN sessions s ON s.id = t.session
		WHERE w.turn = ? AND w.kind = 'child' AND w.met > 0`, id)
	_, err = sqlite.Collect(rs, err, func(rs *sql.Rows) (call string, err error) {
		var c turn.Child
		err = rs.Scan(&call, &c.Agent, &c.Turn, &c.State, &c.Text, &c.Why, &c.Tainted, &c.Running, &c.Timeout)
		children[call] = c
		return call, err
	})
	if err != nil {
		return nil, fmt.Errorf("read ended sub-agents: %w", err)
	}
	return children, nil
}
