package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/guard"
	"hob/daemon/llm"
	"hob/scheduler"
	"hob/tools"
)

// Begin is the commit before a model request: queued messages join the turn, and the request's cost is reserved.
// It returns how many joined; turn.ErrBudget when the cap does not allow the request.
func (s *Store) Begin(ctx context.Context, b turn.Begin) (joined int, err error) {
	t, err := s.Turn(ctx, b.Turn)
	if err != nil {
		return 0, err
	}
	waiting, err := s.joinable(ctx, t)
	if err != nil || (b.Free && len(waiting) == 0) {
		return 0, err
	}
	err = s.Write(ctx, func(tx *Tx) error {
		joined = 0
		if err := tx.own(b.Turn, b.Ran); err != nil {
			return err
		}
		for _, q := range waiting {
			n, err := tx.steer(t, q)
			if err != nil {
				return err
			}
			joined += n
		}
		if b.Free || fail.Broken("forget-reserve") {
			return nil
		}
		if err := tx.reserve(b.Step, t); err != nil {
			return err
		}
		return tx.step(b.Turn, b.Step)
	})
	if err == nil {
		fail.Point("spend.reserved")
	}
	return joined, err
}

// joinable lists the queued messages that turn.Joins lets into a turn.
func (s *Store) joinable(ctx context.Context, t turn.Turn) ([]turn.Queued, error) {
	list, err := s.queued(ctx, "kind = 'message' AND session = ?", t.Key)
	if err != nil {
		return nil, err
	}
	var in []turn.Queued
	for _, q := range list {
		if turn.Joins(t, q, s.now()) {
			in = append(in, q)
		}
	}
	return in, nil
}

// steer joins one message to a running turn; the answer goes where the last joined input came from.
func (tx *Tx) steer(t turn.Turn, q turn.Queued) (int, error) {
	id, err := tx.join(t, q)
	if err != nil || id == 0 {
		return 0, err
	}
	if err := tx.exec("UPDATE turns SET reply_to = ?, reply_ref = ? WHERE id = ?", q.In.ReplyTo, q.In.ExtID, t.ID); err != nil {
		return 0, err
	}
	return 1, tx.event(event.Event{Type: "turn.joined", Session: t.Key, Turn: t.ID, Inbox: q.Seq, Data: map[string]any{"turn": t.ID, "inbox": q.Seq}})
}

// own makes sure that a turn is still this epoch's to step, and counts its running time.
func (tx *Tx) own(id int64, ran time.Duration) error {
	n, err := tx.change("UPDATE turns SET running_us = running_us + ? WHERE id = ? AND epoch = ? AND state = 'running'", ran.Microseconds(), id, tx.store.epoch)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("turn %d: %w", id, turn.ErrStale)
	}
	return nil
}

// Commit writes everything that one step of a turn came to. It goes through also when ctx has ended: what it tells of has happened.
func (s *Store) Commit(ctx context.Context, c turn.Commit) error {
	if fail.Broken("finish-in-three") && c.End != nil {
		return s.finishInThree(ctx, c)
	}
	return s.Write(context.WithoutCancel(ctx), func(tx *Tx) error { return tx.commit(c) })
}

// finishInThree is a deliberate fault: what belongs together is committed apart.
func (s *Store) finishInThree(ctx context.Context, c turn.Commit) error {
	said := turn.Commit{Turn: c.Turn, Items: c.Items, Steps: c.Steps}
	outs := turn.Commit{Turn: c.Turn, Changes: c.Changes}
	end := turn.Commit{Turn: c.Turn, End: c.End, Events: c.Events, Ran: c.Ran}
	for _, one := range []turn.Commit{outs, said, end} {
		if err := s.Write(ctx, func(tx *Tx) error { return tx.commit(one) }); err != nil {
			return err
		}
		fail.Point("finish.between")
	}
	return nil
}

func (tx *Tx) commit(c turn.Commit) error {
	if err := tx.own(c.Turn, c.Ran); err != nil {
		return err
	}
	asked, err := tx.ask(c.Question)
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	if err := tx.consume(c.Consume); err != nil {
		return fmt.Errorf("consume approval: %w", err)
	}
	for _, it := range c.Items {
		if _, err := tx.item(it, 0); err != nil {
			return fmt.Errorf("append item: %w", err)
		}
	}
	for _, p := range c.Steps {
		if p.Question == turn.Asks {
			p.Question = asked
		}
		if err := tx.control(c.Turn, p); err != nil {
			return fmt.Errorf("write step %d: %w", p.N, err)
		}
	}
	if err := tx.changes(c.Changes); err != nil {
		return err
	}
	for _, e := range c.Events {
		if err := tx.event(e); err != nil {
			return err
		}
	}
	return tx.parkOrEnd(c, asked)
}

// control writes a step and, when a model step ends, puts its real usage in the place of its reservation.
func (tx *Tx) control(id int64, p turn.Step) error {
	if p.Kind == turn.ModelStep && (p.State == turn.Over || p.State == turn.Lost) {
		if err := tx.settle(id, p); err != nil {
			return err
		}
		p.Reserve = turn.Amount{}
	}
	return tx.step(id, p)
}

func (tx *Tx) parkOrEnd(c turn.Commit, asked int64) error {
	if c.Wait != nil {
		w := *c.Wait
		if w.Question == turn.Asks {
			w.Question = asked
		}
		if err := tx.wait(c.Turn, w); err != nil {
			return fmt.Errorf("wait: %w", err)
		}
	}
	if c.Park != "" {
		return tx.park(c.Turn, c.Park)
	}
	if c.End == nil {
		return nil
	}
	if err := tx.exec("UPDATE turns SET text = ? WHERE id = ?", c.End.Text, c.Turn); err != nil {
		return err
	}
	return tx.endTurn(c.Turn, c.End.State, c.End.Why)
}

func (tx *Tx) park(id int64, why string) error {
	if err := tx.exec("UPDATE turns SET state = 'waiting', why = ? WHERE id = ?", why, id); err != nil {
		return err
	}
	if err := tx.exec("UPDATE fires SET state = 'waiting' WHERE id = (SELECT fire FROM turns WHERE id = ?)", id); err != nil {
		return err
	}
	tx.ring(bellInbox)
	return tx.event(event.Event{Type: "turn.waiting", Turn: id, Data: map[string]any{"turn": id, "why": why}})
}

// changes applies the rows of hob's own that tools and the agent hand over.
func (tx *Tx) changes(list []tools.Change) error {
	for _, c := range list {
		if err := tx.apply(c); err != nil {
			return fmt.Errorf("apply %T: %w", c, err)
		}
	}
	return nil
}

func (tx *Tx) apply(c tools.Change) error {
	switch c := c.(type) {
	case event.Out:
		return tx.out(c)
	case guard.Entry:
		return tx.audit(c)
	case scheduler.Put:
		return tx.putJob(c.Job)
	case scheduler.Remove:
		return tx.removeJob(c.ID)
	case scheduler.Pause:
		return tx.pauseJob(c)
	case scheduler.RunNow:
		return tx.runNow(c)
	default:
		return errors.New("unknown kind of change")
	}
}

// endTurn is the one way out of a turn: its rows, its inputs, its fire and its open questions end with it, and every call has a result.
func (tx *Tx) endTurn(id int64, state turn.Status, why string) error {
	n, err := tx.change("UPDATE turns SET state = ?, why = ?, ended = ? WHERE id = ? AND ended = 0", state, why, us(tx.now), id)
	if err != nil || n == 0 {
		return err
	}
	if err := tx.closeCalls(id, why); err != nil {
		return fmt.Errorf("close calls: %w", err)
	}
	row := "done"
	if state == turn.Dead {
		row = "dead"
	}
	now := us(tx.now)
	for _, q := range []struct {
		sql  string
		args []any
	}{
		{"UPDATE inbox SET state = ?, reason = ? WHERE turn = ? AND state = 'joined'", []any{row, why, id}},
		{"UPDATE questions SET state = 'expired' WHERE turn = ? AND state = 'open'", []any{id}},
		{"DELETE FROM waits WHERE turn = ?", []any{id}},
	} {
		if err := tx.exec(q.sql, q.args...); err != nil {
			return err
		}
	}
	if err := tx.endFire(id, state, why, now); err != nil {
		return fmt.Errorf("end fire: %w", err)
	}
	if err := tx.finished(id, state, why); err != nil {
		return err
	}
	if state == turn.Dead {
		return tx.notice(fmt.Sprintf("turn:%d:dead", id), id, tx.deadText(id, why))
	}
	return nil
}

func (tx *Tx) finished(id int64, state turn.Status, why string) error {
	var key, text string
	if err := tx.one("SELECT s.key, t.text FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", []any{id}, &key, &text); err != nil {
		return err
	}
	tx.ring(bellInbox)
	return tx.event(event.Event{Type: "turn.finished", Session: key, Turn: id, Data: map[string]any{"turn": id, "state": state, "text": text, "why": why}})
}

func (tx *Tx) deadText(id int64, why string) string {
	var said string
	var seq int64
	if err := tx.one("SELECT seq, substr(coalesce(json_extract(parts, '$[0].text'), ''), 1, 200) FROM inbox WHERE turn = ? ORDER BY seq LIMIT 1", []any{id}, &seq, &said); err != nil {
		return fmt.Sprintf("I gave up on turn %d: %s.", id, why)
	}
	return fmt.Sprintf("I gave up on %q: %s. To try it once more: hob inbox retry %d", said, why, seq)
}

// closeCalls gives every call without a result one, so that the session's next request is valid.
func (tx *Tx) closeCalls(id int64, why string) error {
	if why == "" {
		why = "the turn had ended"
	}
	notRun, err := doc(event.Say("not run: " + why))
	if err != nil {
		return err
	}
	unknown, err := doc(event.Say("interrupted: whether it took effect is unknown; check first"))
	if err != nil {
		return err
	}
	if err := tx.exec(`INSERT INTO items (session, turn, step, role, kind, parts, call_id, is_error, trust, source)
		SELECT c.session, c.turn, c.step, ?, ?, CASE WHEN EXISTS (SELECT 1 FROM steps p WHERE p.turn = c.turn AND p.call_id = c.call_id AND p.state = 'intent') THEN ? ELSE ? END,
			c.call_id, 1, 'owner', 'hob'
		FROM items c WHERE c.turn = ? AND c.kind = 'call' AND NOT EXISTS (SELECT 1 FROM items r WHERE r.call_id = c.call_id AND r.kind = 'result')`,
		llm.ToolRole, llm.ResultOf, unknown, notRun, id); err != nil {
		return err
	}
	return tx.exec("UPDATE steps SET state = CASE state WHEN 'intent' THEN 'unknown' ELSE 'done' END WHERE turn = ? AND kind = 'tool' AND state NOT IN ('done', 'unknown')", id)
}
