package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/llm"
	"hob/daemon/sqlite"
	"hob/scheduler"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// Take claims the runnable row with the best rank: the owner's messages, then resumed turns, schedules and the rest; the oldest first.
// boundary names the commands that the thread serves itself. Before that it expires rows. It returns false if there is nothing to do.
//
// If it opens a turn, the opener prepares the turn's first request: this commit adds its note and reserves its cost. opener may be nil.
func (s Turns) Take(ctx context.Context, boundary []string, opener turn.Opener) (turn.Claim, bool, error) {
	todo, err := s.core.hasWork(ctx)
	if err != nil || !todo {
		return turn.Claim{}, false, err
	}
	if opener != nil {
		opener.Ahead(ctx, func() (turn.Queued, error) { return s.core.nextInput(ctx) })
	}
	var c turn.Claim
	changes := s.core.transcripts.changed()
	err = s.core.write(ctx, func(tx *Tx) error {
		c = turn.Claim{}
		if err := expireAll(tx); err != nil {
			return fmt.Errorf("expire: %w", err)
		}
		// The caller is not running a turn. A turn that is still marked as running was left by an error.
		left, err := tx.Change("UPDATE turns SET state = 'ready' WHERE state = 'running' AND parent IS NULL")
		// The requests of such a turn have an unknown price: their reservations are booked as spent.
		if err == nil && left > 0 {
			err = tx.spendRows().bookOrphans()
		}
		if err != nil {
			return fmt.Errorf("take back the running turn: %w", err)
		}
		return takeNext(tx, &c, boundary, opener)
	})
	if err == nil && c.Turn != 0 {
		fail.Point("turn.claimed")
	}
	if err == nil && c.Opening != nil && c.Opening.Part == turn.AllItems { // its items are committed now
		s.core.transcripts.put(c.Opening.Snapshot.Turn.Session, c.Opening.Transcript, changes)
	}
	return c, c.Turn != 0 || c.Command.Seq != 0, err
}

// hasWork asks the readers first, so that an idle thread writes nothing. Each line matches one kind of row that Take handles.
func (s *core) hasWork(ctx context.Context) (bool, error) {
	var n bool
	now := sqlite.Micros(s.now())
	err := s.read().QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'queued' AND (not_before <= ?1 OR (not_after > 0 AND not_after <= ?1)))
		OR EXISTS (SELECT 1 FROM turns WHERE state IN ('ready', 'running') AND parent IS NULL)
		OR EXISTS (SELECT 1 FROM turns t JOIN waits w ON w.turn = t.id AND w.call_id = t.parked_on WHERE t.state = 'waiting' AND (w.met > 0 OR (w.until > 0 AND w.until <= ?1)))
		OR EXISTS (SELECT 1 FROM questions WHERE state = 'open' AND until <= ?1)
		OR EXISTS (SELECT 1 FROM catchups WHERE question IS NULL AND due <= ?1)`, now).Scan(&n)
	return n, err
}

// OldestWaiting returns the oldest input that a turn could have taken, and its waiting time. seq is 0 if there is none, or if a turn began or
// ended meanwhile. Times before boot do not count.
func (s Turns) OldestWaiting(ctx context.Context, boot time.Time) (seq int64, waits time.Duration, err error) {
	var since int64
	err = s.core.read().QueryRowContext(ctx, `SELECT seq, max(received, not_before, ?2, coalesce((SELECT max(started, ended) FROM turns WHERE parent IS NULL ORDER BY id DESC LIMIT 1), 0))
		FROM inbox INDEXED BY inbox_queued WHERE state = 'queued' AND not_before <= ?1 AND kind NOT IN ('answer', 'command') ORDER BY rank, seq LIMIT 1`, sqlite.Micros(s.core.now()), sqlite.Micros(boot)).Scan(&seq, &since)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return seq, s.core.now().Sub(sqlite.Time(since)), err
}

// waitingLook is the time between two looks while something is queued that does not run, whatever holds it back.
const waitingLook = 30 * time.Second

// NextWake returns the next instant at which a row becomes runnable by time alone, or at which rows that wait are looked at again; zero: none.
//
// looked is an instant before the last Take. A row that became runnable after it may have been missed by that Take, so the result may be in the
// past. A row that was runnable already and was not taken is held back by something else, and is no reason to look again at once.
func (s Turns) NextWake(ctx context.Context, looked time.Time) (time.Time, error) {
	var next sql.NullInt64
	err := s.core.read().QueryRowContext(ctx, `SELECT min(t) FROM (
		SELECT min(not_before) AS t FROM inbox WHERE state = 'queued' AND not_before > ?3
		UNION ALL SELECT min(not_after) FROM inbox WHERE state = 'queued' AND not_after > 0
		UNION ALL SELECT min(until) FROM waits WHERE met = 0 AND until > 0
		UNION ALL SELECT min(until) FROM questions WHERE state = 'open'
		UNION ALL SELECT min(due) FROM catchups WHERE question IS NULL
		UNION ALL SELECT ?1 + ?2 WHERE EXISTS (SELECT 1 FROM inbox WHERE state = 'queued') OR EXISTS (SELECT 1 FROM turns WHERE state = 'ready'))`, sqlite.Micros(s.core.now()), waitingLook.Microseconds(), sqlite.Micros(looked)).Scan(&next)
	return sqlite.Time(next.Int64), err
}

// expireAll expires inputs, waits and questions. Each becomes an event. It also asks the owner about messages from before a restore.
func expireAll(tx *Tx) error {
	// One query first: most calls find nothing that has expired.
	now := sqlite.Micros(tx.Now)
	var due bool
	if err := tx.One(`SELECT EXISTS (SELECT 1 FROM inbox INDEXED BY inbox_expiring WHERE state = 'queued' AND not_after > 0 AND not_after <= ?1)
		OR EXISTS (SELECT 1 FROM catchups WHERE question IS NULL AND due <= ?1) OR EXISTS (SELECT 1 FROM questions WHERE state = 'open' AND until <= ?1)
		OR EXISTS (SELECT 1 FROM waits WHERE met = 0 AND until > 0 AND until <= ?1)`, []any{now}, &due); err != nil || !due {
		return err
	}
	if err := expireInputs(tx, now); err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	if err := askAboutRestored(tx); err != nil {
		return err
	}
	// The waits for a question end before the question does, while its row still shows that it is open.
	if err := tx.Run(`UPDATE waits SET met = ?1, how = 'expired' WHERE met = 0 AND question IN (SELECT id FROM questions WHERE state = 'open' AND until <= ?1)`, now); err != nil {
		return err
	}
	if err := expireQuestions(tx, "until <= ?", now); err != nil {
		return fmt.Errorf("questions: %w", err)
	}
	return tx.Run("UPDATE waits SET met = ?1, how = 'timer' WHERE met = 0 AND until > 0 AND until <= ?1", now)
}

// expireInputs expires inputs that were not taken in time, and the fires that they belong to.
func expireInputs(tx *Tx, now int64) error {
	rs, err := tx.Query("UPDATE inbox INDEXED BY inbox_expiring SET state = 'expired', reason = 'not taken in time' WHERE state = 'queued' AND not_after > 0 AND not_after <= ? RETURNING seq", now)
	gone, err := sqlite.Collect(rs, err, sqlite.Value[int64])
	if err != nil {
		return err
	}
	// An event records that the input gets no answer. The fire of a trigger counts as missed.
	for _, seq := range gone {
		if err := noteNotAnswered(tx, seq, inboxExpired); err != nil {
			return err
		}
		if err := tx.Run("UPDATE fires SET state = 'done', outcome = 'missed', reason = 'not taken in time', ended = ? WHERE state <> 'done' AND id = (SELECT fire FROM inbox WHERE seq = ?)", now, seq); err != nil {
			return err
		}
	}
	return nil
}

// takeNext claims the row that Waiting.Next chooses. A resumed turn may turn out to be dead; then it chooses again.
func takeNext(tx *Tx, c *turn.Claim, boundary []string, opener turn.Opener) error {
	for {
		safe, err := readSetting(tx, keySafeMode)
		if err != nil {
			return err
		}
		// The rules of the queue decide which of the waiting items is next.
		waiting, err := readWaiting(tx, safe != "")
		if err != nil {
			return err
		}
		command, input, resumed := waiting.Next(boundary)
		switch {
		case input.Seq != 0:
			if c.Turn, err = openTurn(tx, input); err != nil || opener == nil {
				return err
			}
			return prepareFirst(tx, c, input.Seq, opener)
		case resumed == 0:
			c.Command = command
			return nil
		}
		// A turn that has used up its attempts ends here; take the next item.
		alive, err := resumeTurn(tx, resumed)
		if err != nil || alive {
			c.Turn = resumed
			return err
		}
	}
}

// firstInput reads the queued input that is first in line. Its parameters are those of firstTask.
const firstInput = "SELECT " + inboxColumns + " FROM inbox WHERE seq = (" + firstTask + "(SELECT seq, source FROM inbox INDEXED BY inbox_queued WHERE state = 'queued' AND not_before <= ?1 AND rank <= ?2 AND kind NOT IN ('answer', 'command') ORDER BY rank, seq LIMIT 1))"

// nextInput returns the input that Take will probably open a turn for; Seq 0: none.
func (s *core) nextInput(ctx context.Context) (turn.Queued, error) {
	rs, err := s.read().QueryContext(ctx, firstInput, sqlite.Micros(s.now()), event.RankRest)
	list, err := sqlite.Collect(rs, err, scanInput)
	return first(list, err, nil)
}

// readWaiting reads the candidates. In safe mode only inputs and commands of the owner count.
func readWaiting(tx *Tx, safe bool) (w Waiting, err error) {
	// The smallest rank number is the most important.
	worst := event.RankRest
	if safe {
		worst = event.RankOwner
	}
	rs, err := tx.Query(firstInput, sqlite.Micros(tx.Now), worst)
	rows, err := sqlite.Collect(rs, err, scanInput)
	if err != nil {
		return w, err
	}
	if len(rows) > 0 {
		w.Input = rows[0]
	}
	// All commands are read, because Next passes over those that the thread does not serve.
	rs, err = tx.Query("SELECT " + inboxColumns + " FROM inbox INDEXED BY inbox_commands WHERE state = 'queued' AND kind = 'command' ORDER BY seq")
	if w.Commands, err = sqlite.Collect(rs, err, scanInput); err != nil {
		return w, err
	}
	w.Turn, err = firstTurn(tx, safe)
	return w, err
}

// firstTurn returns the oldest turn that can continue; 0: none.
func firstTurn(tx *Tx, safe bool) (int64, error) {
	if safe {
		return 0, nil
	}
	var id int64
	err := tx.One(`SELECT coalesce(min(id), 0) FROM turns WHERE parent IS NULL AND (state = 'ready'
		OR (state = 'waiting' AND EXISTS (SELECT 1 FROM waits w WHERE w.turn = turns.id AND w.call_id = turns.parked_on AND w.met > 0)))`, nil, &id)
	return id, err
}

// openTurn creates a turn for an inbox row: its session, its first item, its fire and its event.
//
// From here on the input belongs to the turn: its state is joined, and only endTurn closes it.
func openTurn(tx *Tx, q turn.Queued) (int64, error) {
	moved, err := leaveTainted(tx, &q)
	if err != nil {
		return 0, fmt.Errorf("choose the session of fire %d: %w", q.In.Fire, err)
	}
	if err := beginAnew(tx, q.In); err != nil {
		return 0, fmt.Errorf("begin session %s anew: %w", q.In.Session, err)
	}
	// A session is made with its first turn.
	session, err := liveSession(tx, q.In.Session, q.In.Trust)
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", q.In.Session, err)
	}
	t := turn.Turn{Session: session, Key: q.In.Session, Asker: q.In.Trust, ReplyTo: q.In.ReplyTo, Fire: q.In.Fire}
	t.ID, err = tx.Insert(`INSERT INTO turns (session, state, attempts, epoch, asker, reply_to, reply_ref, fire, started) VALUES (?, 'running', 1, ?, ?, ?, iif(? IN ('report', 'fire'), '', ?), ?, ?)`,
		session, tx.core.epoch, t.Asker, t.ReplyTo, q.In.Kind, q.In.ExtID, sqlite.Ref(t.Fire), sqlite.Micros(tx.Now))
	if err != nil {
		return 0, fmt.Errorf("open turn: %w", err)
	}
	if _, _, err := joinTurn(tx, t, q.Seq); err != nil {
		return 0, err
	}
	// A gate or an outcome may have set these columns; a started fire begins anew.
	if t.Fire == 0 {
		return t.ID, openedTurn(tx, t, q)
	}
	if err := tx.Run("UPDATE fires SET state = 'running', reason = trim(iif(state = 'done', '', reason) || ?4, '; '), outcome = '', ended = 0, started = ?1, late_us = max(late_us, ?1 - due), turn = ?2 WHERE id = ?3", sqlite.Micros(tx.Now), t.ID, sqlite.Ref(t.Fire), moved); err != nil {
		return 0, fmt.Errorf("start fire: %w", err)
	}
	return t.ID, openedTurn(tx, t, q)
}

// leaveTainted moves the run of a job without a chosen session out of main while main holds foreign text, so that it does not wait for an
// approval because of that. A reminder stays: it is sent as it is. The run gets a conversation of its own, and a new one if that holds
// foreign text, too. why is added to the record of the run.
func leaveTainted(tx *Tx, q *turn.Queued) (why string, err error) {
	if q.In.Fire == 0 || q.In.Session != "main" {
		return "", nil
	}
	var name, from string
	err = tx.One(`SELECT g.name, s.foreign_from FROM fires f JOIN triggers g ON g.id = f.trigger JOIN sessions s ON s.key = 'main' AND s.archived = 0
		WHERE f.id = ? AND g.kind = 'job' AND json_extract(g.body, '$.session') = ? AND s.watermark <> 'owner' AND json_extract(g.body, '$.prompt') NOT LIKE 'say:%'`,
		[]any{q.In.Fire, scheduler.SessionAuto}, &name, &from)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	q.In.Session = "job:" + name
	if err := tx.Run("UPDATE inbox SET session = ? WHERE seq = ?", q.In.Session, q.Seq); err != nil {
		return "", err
	}
	var foreign bool
	if err := tx.One("SELECT EXISTS (SELECT 1 FROM sessions WHERE key = ? AND archived = 0 AND watermark <> 'owner')", []any{q.In.Session}, &foreign); err != nil {
		return "", err
	}
	if foreign {
		err = archiveSession(tx, q.In.Session)
	}
	return "; in a conversation of its own, because main holds foreign text (" + cmp.Or(from, "its source is unknown") + ")", err
}

// openedTurn adds the event of a new turn, and the messages that join it at once.
func openedTurn(tx *Tx, t turn.Turn, q turn.Queued) error {
	if err := addEvent(tx, event.Event{Type: "turn.started", Session: t.Key, Turn: t.ID, Inbox: q.Seq, Data: map[string]any{"turn": t.ID, "inbox": []int64{q.Seq}}}); err != nil {
		return err
	}
	// Messages of the same debounce window join the turn.
	return joinDebounced(tx, t, q)
}

// joinDebounced joins the messages that the same sender wrote in the same chat directly after the input. This happens in the commit that opens
// the turn. If it were left to the turn's first request, a crash in between would make them a separate turn, because queued messages rank
// before a resumed turn.
func joinDebounced(tx *Tx, t turn.Turn, opening turn.Queued) error {
	first := opening.In
	if first.Origin.Person == "" || fail.Broken("debounce-in-two") {
		return nil
	}
	rs, err := tx.Query(queued(joining), t.Key, t.Session, opening.Seq) // commands before the opening message were already served
	list, err := sqlite.Collect(rs, err, scanInput)
	if err != nil {
		return err
	}
	for _, q := range joins(t, list, tx.Now) {
		if q.In.Origin.Person != first.Origin.Person || q.In.Source != first.Source || q.In.ReplyTo != first.ReplyTo {
			return nil // a message of somebody else comes first and must not be overtaken
		}
		if _, _, err := joinRunning(tx, t, q.Seq); err != nil {
			return fmt.Errorf("join what was said with it: %w", err)
		}
	}
	return nil
}

// beginAnew archives a trigger's conversation if its run must start a new one.
func beginAnew(tx *Tx, in event.In) error {
	if in.Fire == 0 {
		return nil
	}
	var heartbeat bool
	var allow []string
	err := tx.One("SELECT g.kind = 'heartbeat', coalesce(json_extract(g.body, '$.allow'), '[]') FROM fires f JOIN triggers g ON g.id = f.trigger WHERE f.id = ?", []any{in.Fire}, &heartbeat, sqlite.JSON(&allow))
	if err != nil || !BeginsAnew(in.Session, heartbeat, allow) {
		return err
	}
	return archiveSession(tx, in.Session)
}

// joinTurn adds an inbox row to a turn's transcript, in its present form: an edit may have changed it. It returns false if the row is no
// longer queued.
//
// The UPDATE is the claim: of two transactions that want the row, only the first finds it queued.
func joinTurn(tx *Tx, t turn.Turn, seq int64) (turn.Queued, bool, error) {
	rs, err := tx.Query("UPDATE inbox SET state = 'joined', turn = ? WHERE seq = ? AND state = 'queued' RETURNING "+inboxColumns, t.ID, seq)
	list, err := sqlite.Collect(rs, err, scanInput)
	if err != nil || len(list) == 0 {
		return turn.Queued{}, false, err
	}
	q := list[0]
	if err := lowerTrustBy(tx, t.ID, q.In); err != nil {
		return q, false, fmt.Errorf("note foreign text: %w", err)
	}
	_, err = addItem(tx, turn.Item(t, q, tx.core.opt.Zone(), tx.core.opt.Owner()), q.Seq)
	return q, err == nil, err
}

// resumeTurn claims a turn that is ready or whose wait is over. It returns false if the turn has used all attempts and is dead now.
func resumeTurn(tx *Tx, id int64) (bool, error) {
	var state turn.Status
	var attempts int
	if err := tx.One("SELECT state, attempts FROM turns WHERE id = ?", []any{id}, &state, &attempts); err != nil {
		return false, err
	}
	// A turn that was stopped by a crash counts an attempt; a parked one that continues does not.
	if state == turn.Ready {
		attempts++
	}
	if limit := tx.core.opt.Config().MaxAttempts; limit > 0 && attempts > limit {
		return false, endTurn(tx, id, turn.Finish{State: turn.Dead, Why: fmt.Sprintf("it did not come to an end in any of its %d attempts (hob stopped, or met an error that the log tells)", limit)})
	}
	// The new epoch shuts out a thread of an earlier process: ownTurn refuses its commits.
	err := tx.Run("UPDATE turns SET state = 'running', attempts = ?, epoch = ? WHERE id = ?", attempts, tx.core.epoch, id)
	if err != nil {
		return false, err
	}
	if err := tx.Run("UPDATE fires SET state = 'running' WHERE id = (SELECT fire FROM turns WHERE id = ?) AND state = 'waiting'", id); err != nil {
		return false, err
	}
	// Other turns may have written to the conversation since. A reminder then names the message of this turn.
	if state == turn.Ready {
		if err := remindTurn(tx, id); err != nil {
			return false, fmt.Errorf("remind turn: %w", err)
		}
	}
	return true, addEvent(tx, event.Event{Type: "turn.resumed", Turn: id, Data: map[string]any{"turn": id, "attempt": attempts}})
}

// remindTurn repeats the input of an interrupted turn if another turn has spoken in its session meanwhile. Without this the request would
// end with the other turn's answer. A turn with an open call needs no reminder, because the call's late result follows.
func remindTurn(tx *Tx, id int64) error {
	var session int64
	var asker event.Trust
	var overtaken, open bool
	var text string
	err := tx.One(`SELECT t.session, iif(t.tainted = 1 AND t.asker = 'owner', 'public', t.asker),
		EXISTS (SELECT 1 FROM items o WHERE o.session = t.session AND o.turn <> t.id AND o.seq > (SELECT max(seq) FROM items WHERE turn = t.id)),
		EXISTS (SELECT 1 FROM items c WHERE c.turn = t.id AND c.kind = 'call' AND NOT EXISTS (SELECT 1 FROM items r WHERE r.call_id = c.call_id AND r.kind = 'result')),
		coalesce((SELECT json_extract(i.parts, '$[0].text') FROM items i WHERE i.turn = t.id AND i.kind = 'input' ORDER BY i.seq DESC LIMIT 1), '')
		FROM turns t WHERE t.id = ?`, []any{id}, &session, &asker, &overtaken, &open, &text)
	if err != nil || !overtaken || open || text == "" || strings.HasPrefix(text, "say:") {
		return err
	}
	// A quotation is enough: the whole text is in the transcript.
	if r := []rune(text); len(r) > 500 {
		text = string(r[:500]) + "…"
	}
	_, err = addItem(tx, llm.Item{
		Session: session, Turn: id, Role: llm.User, Kind: llm.Note, Trust: asker, Source: "hob",
		Parts: event.Say("[hob] You were interrupted before you had finished with this message; go on with it now: " + llm.Quoted(text)),
	}, 0)
	return err
}

// liveSession returns the live session of a key. Without one it brings back the session that the owner has archived, or creates a new one. Archived
// sessions keep the key, so a key can have many sessions but only one live one.
func liveSession(tx *Tx, key string, trust event.Trust) (int64, error) {
	var id int64
	err := tx.One("SELECT id FROM sessions WHERE key = ? AND archived = 0", []any{key}, &id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	err = tx.One("SELECT id FROM sessions WHERE key = ? AND revive = 1", []any{key}, &id)
	if err == nil {
		return id, revive(tx, key, id)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	return tx.Insert("INSERT INTO sessions (key, kind, watermark, created) VALUES (?, ?, ?, ?)", key, sessionKind(key, trust), trust, sqlite.Micros(tx.Now))
}

// sessionKind returns the kind of a new session, from its key and the trust of its first message.
func sessionKind(key string, trust event.Trust) string {
	switch {
	case key == "main":
		return "main"
	case strings.HasPrefix(key, "job:"), strings.HasPrefix(key, "task:"), key == "heartbeat":
		return "job"
	case strings.HasPrefix(key, "watch:"), strings.HasPrefix(key, "hook:"):
		kind, _, _ := strings.Cut(key, ":")
		return kind
	case trust == event.Owner:
		return "chat"
	}
	return "thread"
}
