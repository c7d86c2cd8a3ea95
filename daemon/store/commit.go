package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/llm"
	"hob/daemon/netguard"
	"hob/daemon/sqlite"
)

// Begin is the commit before a model request: queued messages join the turn, and the request's cost is reserved. It returns turn.ErrBudget
// if a limit forbids the request.
func (s Turns) Begin(ctx context.Context, b turn.Begin) (begun turn.Begun, err error) {
	t := b.Row
	if t.ID == 0 {
		if t, err = s.Turn(ctx, b.Turn); err != nil {
			return begun, err
		}
	}
	// The readers look for messages first: without any, a free call opens no write transaction.
	var waiting []turn.Queued
	if !b.Alone {
		waiting, err = s.core.joinable(ctx, t)
	}
	if i := slices.IndexFunc(waiting, func(q turn.Queued) bool { return b.Apart != nil && b.Apart(q) }); i >= 0 {
		waiting = waiting[:i]
	}
	if err != nil || (b.Free && b.Held.N == 0 && len(waiting) == 0) {
		return begun, err
	}
	if len(waiting) == 0 && holds(b) {
		fail.Point("spend.reserved")
		return turn.Begun{Reserve: b.Held.Reserve}, nil
	}
	// One commit holds the joined messages, the returned reservation and the new one. A crash leaves all of it or nothing.
	err = s.core.write(ctx, func(tx *Tx) error {
		begun = turn.Begun{}
		var parts []event.Part
		if err := ownTurn(tx, b.Turn, b.Ran); err != nil {
			return err
		}
		for _, q := range waiting {
			q, ok, err := joinRunning(tx, t, q.Seq)
			if err != nil {
				return err
			}
			// Another commit may have taken the message since the read above.
			if ok {
				begun.Joined++
				parts = append(parts, q.In.Parts...)
			}
		}
		// The claim has reserved another amount, or for another model.
		if b.Held.N != 0 {
			unsent := b.Held
			unsent.State, unsent.Why = turn.StepUnknown, "not sent"
			if err := settleStep(tx, b.Turn, unsent); err != nil {
				return fmt.Errorf("give a reservation back: %w", err)
			}
		}
		if b.Free || fail.Broken("forget-reserve") {
			return nil
		}
		// The reservation depends on the text that has just joined.
		if b.Reserve != nil {
			b.Step.Reserve = b.Reserve(parts)
		}
		begun.Reserve = b.Step.Reserve
		b.Step.Started = tx.Now // the reservation is settled on this day, even after midnight
		if err := reserveSpend(tx, b.Step, t); err != nil {
			return err
		}
		return writeStep(tx, b.Turn, b.Step)
	})
	if err == nil {
		fail.Point("spend.reserved")
	}
	return begun, err
}

// LastEvent returns the number of the newest event; 0: none.
func (s Turns) LastEvent(ctx context.Context) (int64, error) { return Events(s).LastEvent(ctx) }

// holds reports whether the claim has already reserved what a request needs.
func holds(b turn.Begin) bool {
	// The amount is computed again: it may differ from that of the claim.
	return !b.Free && b.Held.N != 0 && b.Held.N == b.Step.N && b.Held.Model == b.Step.Model && b.Reserve != nil && b.Reserve(nil) == b.Held.Reserve
}

// joinable lists the queued messages that may join a turn.
func (s *core) joinable(ctx context.Context, t turn.Turn) ([]turn.Queued, error) {
	list, err := s.queued(ctx, joining, t.Key, t.Session, 0)
	return joins(t, list, s.now()), err
}

// joining selects the messages of a turn's conversation, while its session is live. Messages after a pending command of the owner, such as
// "/new", do not join before the command has been served. The last parameter is a row up to which commands do not count.
const joining = `kind = 'message' AND session = ? AND EXISTS (SELECT 1 FROM sessions WHERE id = ? AND archived = 0)
	AND NOT EXISTS (SELECT 1 FROM inbox c INDEXED BY inbox_commands WHERE c.state = 'queued' AND c.kind = 'command' AND c.trust = 'owner' AND c.session = inbox.session AND c.seq > ? AND c.seq < inbox.seq)`

// joins keeps the messages that may join the turn. Package turn owns the rule.
func joins(t turn.Turn, list []turn.Queued, now time.Time) []turn.Queued {
	return slices.DeleteFunc(list, func(q turn.Queued) bool { return !turn.Joins(t, q, now) })
}

// joinRunning adds a message to a running turn. The answer goes to the address of the last message that joined.
func joinRunning(tx *Tx, t turn.Turn, seq int64) (turn.Queued, bool, error) {
	q, ok, err := joinTurn(tx, t, seq)
	if err != nil || !ok {
		return q, false, err
	}
	if err := tx.Run("UPDATE turns SET reply_to = ?, reply_ref = ? WHERE id = ?", q.In.ReplyTo, q.In.ExtID, t.ID); err != nil {
		return q, false, err
	}
	return q, true, addEvent(tx, event.Event{Type: "turn.joined", Session: t.Key, Turn: t.ID, Inbox: q.Seq, Data: map[string]any{"turn": t.ID, "inbox": q.Seq}})
}

// ownTurn checks that this epoch still runs the turn, and adds its running time. A stale thread gets turn.ErrStale and changes nothing.
func ownTurn(tx *Tx, id int64, ran time.Duration) error {
	n, err := tx.Change("UPDATE turns SET running_us = running_us + ? WHERE id = ? AND epoch = ? AND state = 'running'", ran.Microseconds(), id, tx.core.epoch)
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("turn %d: %w", id, turn.ErrStale)
	}
	return nil
}

// Commit writes all results of one step of a turn in one transaction. It does so even if ctx has ended, because the effects have already
// happened.
func (s Turns) Commit(ctx context.Context, c turn.Commit) error {
	s.core.note(c.Changes)
	if broken, err := commitBroken(ctx, s.core, c); broken {
		return err
	}
	// A compaction changes items, so the transcripts in memory are dropped before and after the commit.
	if c.Compact != nil {
		s.core.transcripts.forget()
		defer s.core.transcripts.forget()
	}
	return s.core.write(context.WithoutCancel(ctx), func(tx *Tx) error { return applyCommit(tx, c) })
}

// applyCommit writes a commit in a fixed order. The question comes before the steps that wait for it, and the end comes last.
func applyCommit(tx *Tx, c turn.Commit) error {
	// A turn that another process has taken over must not write.
	if err := ownTurn(tx, c.Turn, c.Ran); err != nil {
		return err
	}
	// Trust falls before anything of the result is stored.
	if err := lowerTrust(tx, c.Turn, c.Taint); err != nil {
		return fmt.Errorf("note foreign text: %w", err)
	}
	// The question comes before the steps, which refer to it.
	asked, err := askOwner(tx, c.Question)
	if err != nil {
		return fmt.Errorf("ask: %w", err)
	}
	// The approval is used up together with the intent, so that a crash cannot use it twice.
	if err := useApproval(tx, c.UsedApproval); err != nil {
		return fmt.Errorf("consume approval: %w", err)
	}
	for _, it := range c.Items {
		if _, err := addItem(tx, it, 0); err != nil {
			return fmt.Errorf("append item: %w", err)
		}
	}
	if err := compact(tx, c.Turn, c.Compact); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	for _, p := range c.Steps {
		// The step waits for the question of this commit.
		if p.Question == turn.Asks {
			p.Question = asked
		}
		if err := settleStep(tx, c.Turn, p); err != nil {
			return fmt.Errorf("write step %d: %w", p.N, err)
		}
	}
	if err := applyAll(tx, c.Turn, c.Changes); err != nil {
		return err
	}
	for _, e := range c.Events {
		if err := addEvent(tx, e); err != nil {
			return err
		}
	}
	return parkOrEnd(tx, c, asked)
}

// settleStep writes a step. At the end of a model request, the real usage replaces the reservation.
func settleStep(tx *Tx, id int64, p turn.Step) error {
	if p.Kind == turn.ModelStep && (p.State == turn.StepDone || p.State == turn.StepUnknown) {
		if err := tx.spendRows().settle(id, p); err != nil {
			return err
		}
		// The reservation is settled, so the row of the step keeps none.
		p.Reserve = turn.Amount{}
	}
	if p.Kind == turn.ToolStep && p.State != turn.StepAsked && p.State != turn.StepAllowed {
		if err := tx.Run("DELETE FROM waits WHERE turn = ? AND call_id = ?", id, p.CallID); err != nil {
			return err // the wait has been met or is obsolete
		}
	}
	return writeStep(tx, id, p)
}

// parkOrEnd writes the state in which a step leaves the turn: running, waiting for a call, or ended.
func parkOrEnd(tx *Tx, c turn.Commit, asked int64) error {
	if c.Wait != nil {
		w := *c.Wait
		if w.Question == turn.Asks {
			w.Question = asked
		}
		if err := addWait(tx, c.Turn, w); err != nil {
			return fmt.Errorf("wait: %w", err)
		}
	}
	if c.Park != nil {
		return parkTurn(tx, c.Turn, *c.Park)
	}
	if c.End == nil {
		return nil
	}
	return endTurn(tx, c.Turn, *c.End)
}

// parkTurn leaves a turn until the wait of one of its calls is met.
func parkTurn(tx *Tx, id int64, p turn.Park) error {
	if err := tx.Run("UPDATE turns SET state = 'waiting', why = ?, parked_on = ? WHERE id = ?", p.Why, p.On, id); err != nil {
		return err
	}
	if err := tx.Run("UPDATE fires SET state = 'waiting' WHERE id = (SELECT fire FROM turns WHERE id = ?)", id); err != nil {
		return err
	}
	// The thread is free for the next turn.
	tx.Wake(sqlite.SignalInbox)
	return addEvent(tx, event.Event{Type: "turn.waiting", Turn: id, Data: map[string]any{"turn": id, "why": p.Why}})
}

// endTurn is the only way to end a turn. Its inputs, waits, fire, task and open questions end with it, and every open call gets a result.
func endTurn(tx *Tx, id int64, f turn.Finish) error {
	n, err := tx.Change("UPDATE turns SET state = ?, why = ?, text = ?, ended = ? WHERE id = ? AND ended = 0", f.State, f.Why, f.Text, sqlite.Micros(tx.Now), id)
	if err != nil || n == 0 {
		return err
	}
	// One query first: most turns have none of this.
	var key string
	var calls, waits, asks, draft, fire, task, child bool
	if err := tx.One(`SELECT s.key, EXISTS (SELECT 1 FROM steps WHERE turn = t.id AND kind = 'tool') OR EXISTS (SELECT 1 FROM items WHERE turn = t.id AND kind = 'call'),
		EXISTS (SELECT 1 FROM waits WHERE turn = t.id), EXISTS (SELECT 1 FROM questions WHERE turn = t.id AND state = 'open'), EXISTS (SELECT 1 FROM outbox WHERE key = ?2 AND state = 'draft'),
		t.fire IS NOT NULL, EXISTS (SELECT 1 FROM inbox WHERE turn = t.id AND source = 'task'), EXISTS (SELECT 1 FROM children WHERE turn = t.id)
		FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?1`, []any{id, finalKey(id)}, &key, &calls, &waits, &asks, &draft, &fire, &task, &child); err != nil {
		return fmt.Errorf("read what ends: %w", err)
	}
	row := "done"
	if f.State == turn.Dead {
		row = "dead"
	}
	for _, part := range []struct {
		has  bool
		what string
		end  func() error
	}{
		// Every call in the conversation needs a result, or providers refuse the next request.
		{calls, "close calls", func() error { return closeCalls(tx, id, f.Why) }},
		// The messages that the turn served end with it.
		{true, "end inputs", func() error {
			return tx.Run("UPDATE inbox SET state = ?, reason = ? WHERE turn = ? AND state = 'joined'", row, f.Why, id)
		}},
		// Nothing may wake the turn any more.
		{waits, "end waits", func() error { return tx.Run("DELETE FROM waits WHERE turn = ?", id) }},
		{asks, "end questions", func() error { return expireQuestions(tx, "turn = ?", id) }},
		// A draft without a final text is closed.
		{draft, "close draft", func() error { return endDraft(tx, id, f.State) }},
		// The fire gets its outcome from the turn, and the task its state.
		{fire, "end fire", func() error { return endFire(tx, id, f) }},
		{task, "end task", func() error { return endTask(tx, id, f) }},
	} {
		if !part.has {
			continue
		}
		if err := part.end(); err != nil {
			return fmt.Errorf("%s: %w", part.what, err)
		}
	}
	// The event carries the turn's text and reason to the clients of the API.
	tx.Wake(sqlite.SignalInbox)
	if err := addEvent(tx, event.Event{Type: "turn.finished", Session: key, Turn: id, Data: map[string]any{"turn": id, "state": f.State, "text": f.Text, "why": f.Why}}); err != nil {
		return err
	}
	if !child && f.State != turn.Stopped && f.State != turn.Dead {
		return nil
	}
	// The parent of a sub-agent reports its end; only other dead turns need a notice.
	child, err = subagentEnded(tx, id, f.State, f.Why)
	if err != nil || child || f.State != turn.Dead {
		return err
	}
	return addNotice(tx, fmt.Sprintf("turn:%d:dead", id), id, deadText(tx, id, f.Why))
}

// deadText is the notice about a dead letter. It quotes the first input and names the command that retries it.
func deadText(tx *Tx, id int64, why string) string {
	var said string
	var seq int64
	if err := tx.One("SELECT seq, substr(coalesce(json_extract(parts, '$[0].text'), ''), 1, 200) FROM inbox WHERE turn = ? ORDER BY seq LIMIT 1", []any{id}, &seq, &said); err != nil {
		return fmt.Sprintf("I gave up on turn %d: %s.", id, why)
	}
	return fmt.Sprintf("I gave up on %q: %s. To try it once more: hob inbox retry %d", netguard.Defang(said), why, seq) // the text may be foreign, so its links are disarmed
}

// closeCalls adds a result for every call without one. A provider rejects a request with an open call.
func closeCalls(tx *Tx, id int64, why string) error {
	// The model reads this text as the result of a call that did not run.
	why = cmp.Or(why, "the turn had ended")
	notRun, err := sqlite.Doc(event.Say("not run: " + why))
	if err != nil {
		return err
	}
	unknown, err := sqlite.Doc(event.Say("interrupted: whether it took effect is unknown; check first"))
	if err != nil {
		return err
	}
	// A call with a written intent may have taken effect, also while its turn waited for its answer. A call without an intent has not run.
	if err := tx.Run(`INSERT INTO items (session, turn, step, role, kind, parts, call_id, is_error, trust, source)
		SELECT c.session, c.turn, c.step, ?, ?, CASE WHEN EXISTS (SELECT 1 FROM steps p WHERE p.turn = c.turn AND p.call_id = c.call_id AND (p.state = 'intent' OR p.state = 'parked' AND p.effect <> 'read'
			AND EXISTS (SELECT 1 FROM waits w WHERE w.turn = c.turn AND w.call_id = c.call_id AND w.kind = 'process'))) THEN ? ELSE ? END,
			c.call_id, 1, c.trust, 'hob'
		FROM items c WHERE c.turn = ? AND c.kind = 'call' AND NOT EXISTS (SELECT 1 FROM items r WHERE r.call_id = c.call_id AND r.kind = 'result')`,
		llm.ToolRole, llm.ResultItem, unknown, notRun, id); err != nil {
		return err
	}
	return tx.Run("UPDATE steps SET state = CASE state WHEN 'intent' THEN 'unknown' ELSE 'done' END WHERE turn = ? AND kind = 'tool' AND state NOT IN ('done', 'unknown')", id)
}
