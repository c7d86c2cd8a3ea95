package family

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/store/db"
	"hob/daemon/store/trust"
	"hob/tools"
)

// Ended follows the end of a turn, in its commit. With a parent that was stopped or given up its sub-agents end too; those in the
// background outlive any other end. The end of a sub-agent wakes whoever waits for it; when nobody does, its result becomes an
// inbox row of the conversation that spawned it. It reports whether the turn was a sub-agent's.
func Ended(tx Tx, id int64, state turn.Status, why string) (child bool, err error) {
	if state == turn.Stopped || state == turn.Dead {
		if _, err := haltAll(tx, "t.parent = ? AND t.ended = 0", id); err != nil {
			return false, err
		}
	}
	c, err := ending(tx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read sub-agent: %w", err)
	}
	if err := tx.Note(event.Event{Type: "child.finished", Session: c.key, Turn: c.parent, Data: map[string]any{
		"agent": c.Agent, "turn": id, "title": c.title, "state": state, "why": why,
	}}); err != nil {
		return true, err
	}
	if fail.Broken("forget-child") {
		return true, nil
	}
	woken, err := wake(tx, c)
	if err != nil || woken || !c.background || state == turn.Stopped {
		return true, err
	}
	return true, report(tx, c)
}

// over is a sub-agent's turn that has just ended, and where its result goes.
type over struct {
	turn.Child
	parent     int64
	key        string // of the parent's session
	title      string
	call       string
	background bool
	asker      event.Trust
	reply      event.Address
}

func ending(tx Tx, id int64) (over, error) {
	c := over{Child: turn.Child{Turn: id}}
	err := tx.Rows().One(`SELECT c.agent, t.state, t.text, t.why, t.tainted = 1 OR s.watermark <> 'owner', t.parent, ps.key, s.title, c.call_id, c.background, t.asker, p.reply_to
		FROM children c JOIN turns t ON t.id = c.turn JOIN sessions s ON s.id = t.session JOIN turns p ON p.id = t.parent JOIN sessions ps ON ps.id = p.session
		WHERE c.turn = ?`, []any{id}, &c.Agent, &c.State, &c.Text, &c.Why, &c.Tainted, &c.parent, &c.key, &c.title, &c.call, &c.background, &c.asker, &c.reply)
	return c, err
}

// wake meets the waits for a sub-agent. Whoever reads what it has read is tainted as it is.
func wake(tx Tx, c over) (bool, error) {
	rs, err := tx.Rows().Query("UPDATE waits SET met = ?, how = ? WHERE kind = 'child' AND met = 0 AND subject = ? RETURNING turn",
		db.Micros(tx.Rows().Now), strconv.FormatInt(c.Turn, 10), c.Agent)
	waiting, err := db.Collect(rs, err, func(rs *sql.Rows) (id int64, err error) { return id, rs.Scan(&id) })
	if err != nil {
		return false, fmt.Errorf("wake: %w", err)
	}
	for _, id := range waiting {
		tx.Rows().Ring(db.BellInbox)
		if !c.Tainted {
			continue
		}
		if err := trust.Lower(tx.Rows(), id, "what sub-agent "+c.Agent+" has read"); err != nil {
			return false, fmt.Errorf("hand on taint: %w", err)
		}
	}
	return len(waiting) > 0, nil
}

// report puts the result of a sub-agent that nobody waits for into the inbox.
func report(tx Tx, c over) error {
	name := "sub-agent " + c.Agent
	if c.title != "" {
		name += " (" + c.title + ")"
	}
	text := name + " has done its task:\n" + turn.CutChild(c.Text)
	if c.State != turn.Done {
		text = name + " did not finish: " + c.Why
	}
	rank := event.RankRest
	if c.asker == event.Owner {
		rank = event.RankResumed // what the owner asked for goes on
	}
	_, err := tx.Accept(event.In{
		Source: "sub-agent", ExtID: c.call, Session: c.key, Kind: event.Report, Rank: rank, Trust: c.asker, ReplyTo: c.reply,
		Tainted: c.Tainted, Parts: event.Say(text), Received: tx.Rows().Now,
	})
	return err
}

// haltAll stops the sub-agents that a condition names: one that runs is marked, and its lane ends it; the others end here.
func haltAll(tx Tx, where string, args ...any) (int, error) {
	list, err := kids(tx, where, args...)
	if err != nil {
		return 0, err
	}
	for _, k := range list {
		if err := halt(tx, k); err != nil {
			return 0, fmt.Errorf("stop sub-agent %s: %w", k.agent, err)
		}
	}
	return len(list), nil
}

func halt(tx Tx, k kid) error {
	if !k.running {
		return tx.End(k.turn, turn.Stopped, "it was stopped before it ended")
	}
	tx.Rows().Ring(db.BellInbox)
	return tx.Rows().Run("UPDATE children SET halt = 1 WHERE turn = ?", k.turn)
}

// haltAgent stops one sub-agent for a model.
func haltAgent(tx Tx, h tools.Halt) error {
	k, found, err := newest(tx, h.Agent)
	switch {
	case err != nil:
		return err
	case !found || h.Session != 0 && k.parentSession != h.Session:
		return noAgent(h.Agent)
	case k.over:
		return nil
	}
	return halt(tx, k)
}
