package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/fail"
	"hob/daemon/sqlite"
)

// Boot describes the start of this epoch. An epoch is one run of the daemon.
type Boot struct {
	Epoch        int64
	Started      time.Time
	Last         time.Time // the last sign of the previous epoch; zero: none
	Crashed      bool      // the previous epoch did not end cleanly
	CrashingTurn int64     // the turn that became a dead letter because it ran at several crashes
	Lost         int       // acknowledged commits of the previous epoch that a damaged log has cost, at least
	Safe         bool      // several crashes without a single culprit: safe mode is on
}

// begin writes the row of a new epoch and recovers from a crash: running turns become ready again, their open requests are billed, and
// repeated crashes are judged.
func (s *core) begin(ctx context.Context) error {
	return s.write(ctx, func(tx *Tx) error {
		if err := tx.Run("INSERT INTO instance (one, id, created) VALUES (1, ?, ?) ON CONFLICT DO NOTHING", s.opt.IDs.Code(20), sqlite.Micros(tx.Now)); err != nil {
			return fmt.Errorf("write instance: %w", err)
		}
		// Whether the last run ended in a crash, and in which turn, is known before this boot is added.
		crashed, inflight, err := lastEnd(tx)
		if err != nil {
			return err
		}
		// hob was last seen at the last boot or the newest event, whichever is later.
		var last int64
		if err := tx.One("SELECT max(coalesce((SELECT started FROM boots ORDER BY epoch DESC LIMIT 1), 0), coalesce((SELECT at FROM events ORDER BY seq DESC LIMIT 1), 0))", nil, &last); err != nil {
			return fmt.Errorf("read when hob was last seen: %w", err)
		}
		s.epoch, err = tx.Insert("INSERT INTO boots (started, crashed, inflight, version) VALUES (?, ?, ?, ?)", sqlite.Micros(tx.Now), sqlite.Bit(crashed), inflight, s.opt.Version)
		if err != nil {
			return fmt.Errorf("write boot: %w", err)
		}
		s.boot = Boot{Epoch: s.epoch, Started: tx.Now, Last: sqlite.Time(last), Crashed: crashed, Lost: s.db.LostCommits()}
		// The process that ran these turns is gone; they are resumed.
		if err := tx.Run("UPDATE turns SET state = 'ready' WHERE state = 'running'"); err != nil {
			return fmt.Errorf("take back open turns: %w", err)
		}
		// The calls that these turns waited for are gone too.
		if err := tx.Run("UPDATE waits SET met = ?, how = 'interrupted' WHERE kind = 'process' AND met = 0", sqlite.Micros(tx.Now)); err != nil {
			return fmt.Errorf("end the waits for calls: %w", err)
		}
		// The calls for which MCP servers asked something are gone too.
		if err := expireQuestions(tx, "subject = 'ask' AND tool = ?", aboutMCP); err != nil {
			return fmt.Errorf("close the questions of MCP servers: %w", err)
		}
		// The cost of the open requests to models is unknown, so their reservations are booked.
		if err := tx.spendRows().bookOrphans(); err != nil {
			return fmt.Errorf("book open requests: %w", err)
		}
		if err := markLate(tx, s.boot.Last); err != nil {
			return fmt.Errorf("mark what begins late: %w", err)
		}
		fail.Point("recovery")
		return judgeCrashes(tx, &s.boot)
	})
}

// lastEnd reports whether the previous epoch crashed, and which turn was running then.
func lastEnd(tx *Tx) (crashed bool, inflight int64, err error) {
	// The column clean of the newest boot is set at a regular end only. Without any boot the database is new.
	var clean bool
	err = tx.One("SELECT clean FROM boots ORDER BY epoch DESC LIMIT 1", nil, &clean)
	if errors.Is(err, sql.ErrNoRows) {
		return false, 0, nil
	}
	if err != nil || clean {
		return false, 0, err
	}
	err = tx.One("SELECT id FROM turns WHERE state = 'running' AND parent IS NULL", nil, &inflight)
	return true, inflight, ignoreNoRows(err)
}

// judgeCrashes examines the newest crashes within the window. If the same turn was running at all of them, it becomes a dead letter; otherwise
// safe mode starts.
func judgeCrashes(tx *Tx, b *Boot) error {
	// One turn that is running at every crash is the likely cause; then hob needs no safe mode, only an end of that turn.
	p := tx.core.opt.Config()
	safe, err := readSetting(tx, keySafeMode)
	if err != nil {
		return err
	}
	b.Safe = safe != ""
	// Count the crashes since the last regular end, and the turns that ran in them.
	var ends, turns int
	var culprit int64
	err = tx.One(`SELECT count(*), count(DISTINCT inflight), coalesce(min(inflight), 0) FROM
		(SELECT inflight, crashed FROM boots WHERE started > ? AND epoch > coalesce((SELECT max(epoch) FROM boots WHERE crashed = 0), 0) ORDER BY epoch DESC LIMIT ?)`,
		[]any{sqlite.Micros(tx.Now.Add(-p.SafeWindow)), max(p.SafeAfter, 1)}, &ends, &turns, &culprit)
	if err != nil || p.SafeAfter <= 0 || ends < p.SafeAfter || !b.Crashed {
		return err
	}
	// One turn was running in all of them: end it and go on.
	if turns == 1 && culprit != 0 {
		b.CrashingTurn = culprit
		return endTurn(tx, culprit, turn.Finish{State: turn.Dead, Why: fmt.Sprintf("hob ended unexpectedly %d times within %s while it ran", ends, p.SafeWindow)})
	}
	// Safe mode is on already: the owner was told when it began.
	if b.Safe {
		return nil
	}
	// The cause is unknown: run no jobs and no shell until the owner says so.
	b.Safe = true
	why := fmt.Sprintf("hob ended unexpectedly %d times within %s and the cause is not known", ends, p.SafeWindow)
	if err := putSetting(tx, keySafeMode, why); err != nil {
		return err
	}
	return addNotice(tx, fmt.Sprintf("safe:%d", b.Epoch), b.Epoch, "Safe mode is on: "+why+". No jobs, no shell and no resumed turns until you say: hob safe-mode off")
}
