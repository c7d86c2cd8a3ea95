package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// Claimed is what the thread has taken: a turn to step, or a command that had to wait for the turn's boundary.
type Claimed = turn.Claim

// Take claims the highest-ranked runnable row: the owner's messages, resumed turns, schedules, the rest; oldest first.
// boundary names the commands that the thread itself serves. It first lets expire what has expired. False: nothing to do.
func (s *Store) Take(ctx context.Context, boundary []string) (Claimed, bool, error) {
	todo, err := s.hasWork(ctx)
	if err != nil || !todo {
		return Claimed{}, false, err
	}
	var c Claimed
	err = s.Write(ctx, func(tx *Tx) error {
		c = Claimed{}
		if err := tx.expire(); err != nil {
			return fmt.Errorf("expire: %w", err)
		}
		// Whoever asks for work steps no turn: one that is still marked so was left by an error.
		if err := tx.exec("UPDATE turns SET state = 'ready' WHERE state = 'running' AND parent IS NULL"); err != nil {
			return fmt.Errorf("take back the running turn: %w", err)
		}
		return tx.take(&c, boundary)
	})
	if err == nil && c.Turn != 0 {
		fail.Point("turn.claimed")
	}
	return c, c.Turn != 0 || c.Command.Seq != 0, err
}

// hasWork asks the readers first, so that an idle thread writes nothing.
func (s *Store) hasWork(ctx context.Context) (bool, error) {
	var n bool
	now := us(s.now())
	err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM inbox WHERE state = 'queued' AND (not_before <= ?1 OR (not_after > 0 AND not_after <= ?1)))
		OR EXISTS (SELECT 1 FROM turns WHERE state IN ('ready', 'running') AND parent IS NULL)
		OR EXISTS (SELECT 1 FROM turns t JOIN waits w ON w.turn = t.id WHERE t.state = 'waiting' AND (w.met > 0 OR (w.until > 0 AND w.until <= ?1)))
		OR EXISTS (SELECT 1 FROM questions WHERE state = 'open' AND until <= ?1)`, now).Scan(&n)
	return n, err
}

// NextWake is the next instant at which something becomes runnable by itself; zero when there is none.
func (s *Store) NextWake(ctx context.Context) (time.Time, error) {
	var next sql.NullInt64
	now := us(s.now())
	err := s.read.QueryRowContext(ctx, `SELECT min(t) FROM (
		SELECT min(not_before) AS t FROM inbox WHERE state = 'queued' AND not_before > ?1
		UNION ALL SELECT min(not_after) FROM inbox WHERE state = 'queued' AND not_after > 0
		UNION ALL SELECT min(until) FROM waits WHERE met = 0 AND until > 0
		UNION ALL SELECT min(until) FROM questions WHERE state = 'open')`, now).Scan(&next)
	return at(next.Int64), err
}

// expire ends what has waited too long: inputs, waits, questions.
func (tx *Tx) expire() error {
	now := us(tx.now)
	if err := tx.exec("UPDATE inbox SET state = 'expired', reason = 'not taken in time' WHERE state = 'queued' AND not_after > 0 AND not_after <= ?", now); err != nil {
		return err
	}
	if err := tx.exec(`UPDATE waits SET met = ?1, how = 'expired' WHERE met = 0 AND question IN (SELECT id FROM questions WHERE state = 'open' AND until <= ?1)`, now); err != nil {
		return err
	}
	if err := tx.exec("UPDATE questions SET state = 'expired' WHERE state = 'open' AND until <= ?", now); err != nil {
		return err
	}
	return tx.exec("UPDATE waits SET met = ?1, how = 'timer' WHERE met = 0 AND until > 0 AND until <= ?1", now)
}

func (tx *Tx) take(c *Claimed, boundary []string) error {
	for {
		safe, err := tx.setting(keySafeMode)
		if err != nil {
			return err
		}
		row, err := tx.firstRow(boundary, safe != "")
		if err != nil {
			return err
		}
		resumed, err := tx.firstTurn(safe != "")
		if err != nil {
			return err
		}
		switch {
		case row.Seq != 0 && (row.In.Rank == event.RankOwner || resumed == 0):
			if row.In.Kind == event.Command {
				c.Command = row
				return nil
			}
			c.Turn, err = tx.open(row)
			return err
		case resumed != 0:
			alive, err := tx.resume(resumed)
			if err != nil || alive {
				c.Turn = resumed
				return err
			}
		default:
			return nil
		}
	}
}

// firstRow is the best queued inbox row that opens a turn or is a boundary command.
func (tx *Tx) firstRow(boundary []string, safe bool) (turn.Queued, error) {
	worst := event.RankRest
	if safe {
		worst = event.RankOwner
	}
	rs, err := tx.QueryContext(tx.ctx, "SELECT "+inColumns+` FROM inbox WHERE state = 'queued' AND not_before <= ? AND rank <= ? AND kind <> 'answer'
		AND (kind <> 'command' OR instr(?, ' ' || lower(substr(json_extract(parts, '$[0].text') || ' ', 1, instr(json_extract(parts, '$[0].text') || ' ', ' '))) ) > 0)
		ORDER BY rank, seq LIMIT 1`, us(tx.now), worst, " "+strings.Join(boundary, " ")+" ")
	list, err := collect(rs, err, scanIn)
	if err != nil || len(list) == 0 {
		return turn.Queued{}, err
	}
	return list[0], nil
}

// firstTurn is the oldest turn that can go on.
func (tx *Tx) firstTurn(safe bool) (int64, error) {
	if safe {
		return 0, nil
	}
	var id int64
	err := tx.one(`SELECT coalesce(min(id), 0) FROM turns WHERE parent IS NULL AND (state = 'ready'
		OR (state = 'waiting' AND EXISTS (SELECT 1 FROM waits w WHERE w.turn = turns.id AND w.met > 0)))`, nil, &id)
	return id, err
}

// open makes a turn for an inbox row that starts one.
func (tx *Tx) open(q turn.Queued) (int64, error) {
	session, err := tx.session(q.In.Session, q.In.Trust)
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", q.In.Session, err)
	}
	t := turn.Turn{Session: session, Key: q.In.Session, Asker: q.In.Trust, ReplyTo: q.In.ReplyTo, Fire: q.In.Fire}
	t.ID, err = tx.insert(`INSERT INTO turns (session, state, attempts, epoch, asker, reply_to, reply_ref, fire, started) VALUES (?, 'running', 1, ?, ?, ?, ?, ?, ?)`,
		session, tx.store.epoch, t.Asker, t.ReplyTo, q.In.ExtID, ref(t.Fire), us(tx.now))
	if err != nil {
		return 0, fmt.Errorf("open turn: %w", err)
	}
	if _, err := tx.join(t, q); err != nil {
		return 0, err
	}
	if err := tx.exec("UPDATE fires SET state = 'running', started = ?, turn = ? WHERE id = ?", us(tx.now), t.ID, ref(t.Fire)); err != nil {
		return 0, fmt.Errorf("start fire: %w", err)
	}
	return t.ID, tx.event(event.Event{Type: "turn.started", Session: t.Key, Turn: t.ID, Inbox: q.Seq, Data: map[string]any{"turn": t.ID, "inbox": []int64{q.Seq}}})
}

// join makes an inbox row part of a turn's transcript.
func (tx *Tx) join(t turn.Turn, q turn.Queued) (int64, error) {
	n, err := tx.change("UPDATE inbox SET state = 'joined', turn = ? WHERE seq = ? AND state = 'queued'", t.ID, q.Seq)
	if err != nil || n == 0 {
		return 0, err
	}
	it := turn.Item(t, q, tx.store.opt.Zone())
	return tx.item(it, q.Seq)
}

// resume claims a turn that is ready or whose wait is met. False: it has had its attempts and is dead now.
func (tx *Tx) resume(id int64) (bool, error) {
	var state turn.Status
	var attempts int
	if err := tx.one("SELECT state, attempts FROM turns WHERE id = ?", []any{id}, &state, &attempts); err != nil {
		return false, err
	}
	if state == turn.Ready {
		attempts++
	}
	if limit := tx.store.opt.Policy().MaxAttempts; limit > 0 && attempts > limit {
		return false, tx.endTurn(id, turn.Dead, fmt.Sprintf("hob ended unexpectedly in each of its %d attempts", limit))
	}
	err := tx.exec("UPDATE turns SET state = 'running', attempts = ?, epoch = ? WHERE id = ?", attempts, tx.store.epoch, id)
	if err != nil {
		return false, err
	}
	if err := tx.exec("UPDATE fires SET state = 'running' WHERE id = (SELECT fire FROM turns WHERE id = ?) AND state = 'waiting'", id); err != nil {
		return false, err
	}
	return true, tx.event(event.Event{Type: "turn.resumed", Turn: id, Data: map[string]any{"turn": id, "attempt": attempts}})
}

// session finds or makes the live session of a key.
func (tx *Tx) session(key string, trust event.Trust) (int64, error) {
	var id int64
	err := tx.one("SELECT id FROM sessions WHERE key = ? AND archived = 0", []any{key}, &id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	return tx.insert("INSERT INTO sessions (key, kind, watermark, created) VALUES (?, ?, ?, ?)", key, sessionKind(key, trust), trust, us(tx.now))
}

func sessionKind(key string, trust event.Trust) string {
	switch {
	case key == "main":
		return "main"
	case strings.HasPrefix(key, "job:"):
		return "job"
	case trust == event.Owner:
		return "chat"
	default:
		return "thread"
	}
}
