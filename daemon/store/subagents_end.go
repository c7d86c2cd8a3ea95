package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sqlite"

	"hob/tools"
)

// subagentEnded does what follows from the end of a turn for subagents, in the same commit. If a parent was stopped or became a dead
// letter, its subagents stop too; after any other end, background ones continue. The end of a subagent wakes its waiting parent. If nobody
// waits, its result becomes an inbox row of the parent's conversation. The result reports whether the turn was a subagent's.
func subagentEnded(tx *Tx, id int64, state turn.Status, why string) (child bool, err error) {
	if state == turn.Stopped || state == turn.Dead {
		if _, err := haltSubagents(tx, "t.parent = ? AND t.ended = 0", id); err != nil {
			return false, err
		}
	}
	// No row means that the turn belongs to no subagent.
	c, err := readEndedChild(tx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read sub-agent: %w", err)
	}
	if err := addEvent(tx, event.Event{Type: "child.finished", Session: c.key, Turn: c.parent, Data: map[string]any{
		"agent": c.Child.Agent, "turn": id, "title": c.title, "state": state, "why": why,
	}}); err != nil {
		return true, err
	}
	if fail.Broken("forget-child") {
		return true, nil
	}
	// A waiting parent gets the result from the row of the wait, so it needs no report. A stopped subagent reports nothing.
	woken, err := wakeParent(tx, c)
	if err != nil || woken || !c.background || state == turn.Stopped {
		return true, err
	}
	return true, reportToParent(tx, c)
}

// endedChild is a subagent's turn that has just ended, and the recipient of its result.
type endedChild struct {
	turn.Child
	parent     int64
	key        string // session key of the parent
	title      string
	call       string
	background bool
	asker      event.Trust
	reply      event.Address
}

// readEndedChild joins the turn with its parent: the parent's session gets the report, and the parent's address gets the answer to it. It
// returns sql.ErrNoRows for a turn that is not a subagent's.
func readEndedChild(tx *Tx, id int64) (endedChild, error) {
	c := endedChild{Child: turn.Child{Turn: id}}
	err := tx.One(`SELECT c.agent, t.state, t.text, t.why, t.tainted = 1 OR s.watermark <> 'owner', t.parent, ps.key, s.title, c.call_id, c.background, t.asker, p.reply_to
		FROM children c JOIN turns t ON t.id = c.turn JOIN sessions s ON s.id = t.session JOIN turns p ON p.id = t.parent JOIN sessions ps ON ps.id = p.session
		WHERE c.turn = ?`, []any{id}, &c.Child.Agent, &c.Child.State, &c.Child.Text, &c.Child.Why, &c.Child.Tainted, &c.parent, &c.key, &c.title, &c.call, &c.background, &c.asker, &c.reply)
	return c, err
}

// wakeParent ends the waits for a subagent. A reader of a tainted result becomes tainted.
//
// Several calls may wait for one sub-agent; each of them gets the result.
func wakeParent(tx *Tx, c endedChild) (bool, error) {
	rs, err := tx.Query("UPDATE waits SET met = ?, how = ? WHERE kind = 'child' AND met = 0 AND subject = ? RETURNING turn",
		sqlite.Micros(tx.Now), strconv.FormatInt(c.Child.Turn, 10), c.Child.Agent)
	waiting, err := sqlite.Collect(rs, err, sqlite.Value[int64])
	if err != nil {
		return false, fmt.Errorf("wake: %w", err)
	}
	// The turn will read the result, so it inherits the taint in this commit.
	for _, id := range waiting {
		tx.Wake(sqlite.SignalInbox)
		if !c.Child.Tainted {
			continue
		}
		if err := lowerTrust(tx, id, "what sub-agent "+c.Child.Agent+" has read"); err != nil {
			return false, fmt.Errorf("hand on taint: %w", err)
		}
	}
	return len(waiting) > 0, nil
}

// reportToParent adds the result of a background subagent to the inbox.
func reportToParent(tx *Tx, c endedChild) error {
	name := "sub-agent " + c.Child.Agent
	if c.title != "" {
		name += " (" + c.title + ")"
	}
	// A long result is cut, with a note about it.
	text := name + " has done its task:\n" + turn.TruncateChild(c.Child.Text)
	if c.Child.State != turn.Done {
		text = name + " did not finish: " + c.Child.Why
	}
	rank := event.RankRest
	if c.asker == event.Owner {
		rank = event.RankResumed // the owner's own request continues
	}
	// The call's id makes the report unique. The parent's address gets the answer to it.
	_, err := acceptIn(tx, event.In{
		Source: "sub-agent", ExtID: c.call, Session: c.key, Kind: event.Report, Rank: rank, Trust: c.asker, ReplyTo: c.reply,
		Tainted: c.Child.Tainted, Parts: event.Say(text), Received: tx.Now,
	})
	return err
}

// haltSubagents stops the subagents that a condition selects. A running one is marked, and its goroutine ends it; the others end here.
func haltSubagents(tx *Tx, where string, args ...any) (int, error) {
	list, err := readSubagents(tx, where, args...)
	if err != nil {
		return 0, err
	}
	for _, k := range list {
		if err := haltSubagent(tx, k); err != nil {
			return 0, fmt.Errorf("stop sub-agent %s: %w", k.agent, err)
		}
	}
	return len(list), nil
}

// haltSubagent stops one subagent. A running one is only marked: its goroutine cancels the work and ends the turn.
func haltSubagent(tx *Tx, k subagent) error {
	if !k.running {
		return endTurn(tx, k.turn, turn.Finish{State: turn.Stopped, Why: "it was stopped before it ended"})
	}
	tx.Wake(sqlite.SignalInbox)
	return tx.Run("UPDATE children SET halt = 1 WHERE turn = ?", k.turn)
}

// haltNamedSubagent stops one subagent for a model.
func haltNamedSubagent(tx *Tx, h tools.Halt) error {
	k, found, err := newestSubagent(tx, h.Agent)
	switch {
	case err != nil:
		return err
	case !found || h.Session != 0 && k.parentSession != h.Session:
		return noSubagent(h.Agent)
	case k.over:
		return nil
	}
	return haltSubagent(tx, k)
}
