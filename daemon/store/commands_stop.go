package store

import (
	"context"
	"fmt"

	"hob/daemon/agent/turn"
	"hob/daemon/sqlite"
)

// StopChildren stops all subagents, and the turns that wait for one or for a call. It returns the numbers of subagents and of these calls.
func (s Commands) StopChildren(ctx context.Context) (children, calls int, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		if err := tx.One(`SELECT (SELECT count(*) FROM turns WHERE parent IS NOT NULL AND ended = 0), (SELECT count(*) FROM waits w JOIN turns t ON t.id = w.turn
			WHERE t.state = 'waiting' AND w.kind = 'process' AND w.met = 0)`, nil, &children, &calls); err != nil || children+calls == 0 {
			return err
		}
		// The parents end first: if a subagent ended first, it would wake its parent.
		rs, err := tx.Query("SELECT t.id FROM turns t JOIN waits w ON w.turn = t.id AND w.call_id = t.parked_on WHERE t.state = 'waiting' AND w.kind IN ('child', 'process') AND w.met = 0")
		parked, err := sqlite.Collect(rs, err, sqlite.Value[int64])
		if err != nil {
			return fmt.Errorf("look for parked turns: %w", err)
		}
		if err := stopTurns(tx, parked); err != nil {
			return err
		}
		_, err = haltSubagents(tx, "t.ended = 0")
		return err
	})
	return children, calls, err
}

// StopParked ends all turns that are not running, including subagents, and returns their number.
func (s Commands) StopParked(ctx context.Context) (n int, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		rs, err := tx.Query("SELECT id FROM turns WHERE state IN ('waiting', 'ready')")
		ids, err := sqlite.Collect(rs, err, sqlite.Value[int64])
		if err != nil {
			return err
		}
		n = len(ids)
		return stopTurns(tx, ids)
	})
	return n, err
}

// StopTurn ends one turn that the thread is not running. A running subagent ends when its goroutine notices. It returns false if the turn has
// already ended.
func (s Commands) StopTurn(ctx context.Context, id int64) (stopped bool, err error) {
	err = s.core.write(ctx, func(tx *Tx) error {
		var n int
		if err := tx.One("SELECT count(*) FROM turns WHERE id = ? AND ended = 0", []any{id}, &n); err != nil || n == 0 {
			return err
		}
		stopped = true
		// A running subagent is only marked here. Every other turn ends in this commit.
		if n, err := haltSubagents(tx, "t.id = ? AND t.state = 'running'", id); err != nil || n > 0 {
			return err
		}
		return endTurn(tx, id, turn.Finish{State: turn.Stopped, Why: "stopped by the owner"})
	})
	return stopped, err
}

// stopTurns ends turns in the name of the owner. Each ends like any other turn, with its inputs, waits and questions.
func stopTurns(tx *Tx, ids []int64) error {
	for _, id := range ids {
		if err := endTurn(tx, id, turn.Finish{State: turn.Stopped, Why: "stopped by the owner"}); err != nil {
			return err
		}
	}
	return nil
}
