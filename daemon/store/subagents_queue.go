package store

import (
	"context"
	"encoding/json"
	"fmt"

	"hob/daemon/agent/turn"
	"hob/daemon/sqlite"
)

// Subagents is the queue of subagents' turns. It is safe for concurrent use; each method is one transaction.
type Subagents struct{ core *core }

// TakeChild claims the oldest subagent's turn that can continue. held are the turns that the pool is running; another one that is marked as
// running was left by an error. It returns false if there is nothing to do, and always in safe mode.
func (k Subagents) TakeChild(ctx context.Context, held []int64) (id int64, ok bool, err error) {
	// The readers are asked first, so that an idle pool writes nothing.
	var work bool
	err = k.core.read().QueryRowContext(ctx, `SELECT (EXISTS (SELECT 1 FROM turns WHERE parent IS NOT NULL AND state = 'ready') AND NOT EXISTS (SELECT 1 FROM settings WHERE key = 'safe_mode'))
		OR (SELECT count(*) FROM turns WHERE parent IS NOT NULL AND state = 'running') > ?`, len(held)).Scan(&work)
	if err != nil || !work {
		return 0, false, err
	}
	// A JSON array passes a list of any length as one SQL parameter.
	list, err := json.Marshal(append([]int64{}, held...)) // never null
	if err != nil {
		return 0, false, fmt.Errorf("encode held turns: %w", err)
	}
	// Turns that the pool does not run go back to the queue, and their open reservations are booked.
	err = k.core.write(ctx, func(tx *Tx) error {
		id = 0
		left, err := tx.Change("UPDATE turns SET state = 'ready' WHERE state = 'running' AND parent IS NOT NULL AND id NOT IN (SELECT value FROM json_each(?))", string(list))
		if err == nil && left > 0 {
			err = tx.spendRows().bookOrphans()
		}
		if err != nil {
			return fmt.Errorf("take back sub-agents: %w", err)
		}
		id, err = claimSubagent(tx)
		return err
	})
	return id, id != 0, err
}

// claimSubagent claims the first ready subagent that is not to stop and has attempts left; 0: none.
func claimSubagent(tx *Tx) (int64, error) {
	for {
		var id int64
		var halt bool
		err := tx.One(`SELECT coalesce(min(t.id), 0), coalesce(max(c.halt), 0) FROM turns t JOIN children c ON c.turn = t.id
			WHERE t.id = (SELECT min(id) FROM turns WHERE parent IS NOT NULL AND state = 'ready') AND NOT EXISTS (SELECT 1 FROM settings WHERE key = 'safe_mode')`, nil, &id, &halt)
		if err != nil || id == 0 {
			return 0, err
		}
		// It was stopped while it was queued.
		if halt {
			if err := endTurn(tx, id, turn.Finish{State: turn.Stopped, Why: "it was stopped before it ended"}); err != nil {
				return 0, err
			}
			continue
		}
		if alive, err := resumeTurn(tx, id); err != nil || alive {
			return id, err
		}
	}
}

// Halted lists the running subagents that must stop.
func (k Subagents) Halted(ctx context.Context) ([]int64, error) {
	rs, err := k.core.read().QueryContext(ctx, "SELECT c.turn FROM turns t JOIN children c ON c.turn = t.id WHERE t.state = 'running' AND t.parent IS NOT NULL AND c.halt = 1")
	return sqlite.Collect(rs, err, sqlite.Value[int64])
}

// DrainChildren returns the running subagents to the queue without counting an attempt. The next start continues them.
func (k Subagents) DrainChildren(ctx context.Context) error {
	return k.core.run(ctx, "UPDATE turns SET state = 'ready', attempts = max(attempts - 1, 0) WHERE state = 'running' AND parent IS NOT NULL")
}
