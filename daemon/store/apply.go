package store

import (
	"fmt"
	"time"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/policy"
	"hob/scheduler"
	"hob/scheduler/filewatch"
	"hob/tools"
	"hob/tools/tasks"
)

// applyAll applies the changes that tools, commands and the agent return. A tool never writes rows itself: it returns changes, and the
// transaction that commits its result applies them here.
func applyAll(tx *Tx, id int64, list []tools.Change) error {
	for _, c := range list {
		if err := applyChange(tx, id, c); err != nil {
			return fmt.Errorf("apply %T: %w", c, err)
		}
	}
	return nil
}

// applyChange writes one change of a tool's result, by its type. It runs in the transaction that stores the result, so that a crash leaves
// both or neither.
func applyChange(tx *Tx, id int64, c tools.Change) error {
	switch c := c.(type) {
	case event.Out:
		return queueOut(tx, c)
	case event.In:
		return mustAccept(tx, c)
	case event.Event:
		return addEvent(tx, c)
	case policy.Entry:
		return addAudit(tx, c)
	case tools.Mark:
		return tx.core.marks.Add(tx, id, c.Path, c.Why)
	case tasks.Change:
		return applyTask(tx, id, c)
	case tools.PutContext:
		return putContext(tx, id, c)
	case tools.DropContext:
		return dropContext(tx, c)
	case tools.Spawn:
		return spawnSubagent(tx, c)
	case tools.Halt:
		return haltNamedSubagent(tx, c)
	case tools.Await:
		return checkAwait(tx, c)
	case turn.Shown:
		return noteShown(tx, c)
	default:
		return applyTrigger(tx, id, c)
	}
}

// applyTrigger applies changes of jobs and file watches.
func applyTrigger(tx *Tx, turn int64, c tools.Change) error {
	switch c := c.(type) {
	case scheduler.Put:
		return putJob(tx, turn, c.Job)
	case scheduler.Remove:
		return removeJob(tx, c.ID)
	case scheduler.Pause:
		return pauseJob(tx, c)
	case scheduler.RunNow:
		return runNow(tx, c)
	case filewatch.Put:
		id, err := putTrigger(tx, kindWatch, c.Watch.Trigger, c.Watch, time.Time{})
		if err != nil || c.Watch.ID != 0 {
			return err
		}
		return noteSession(tx, "triggers", id, turn)
	case filewatch.Drop:
		return dropWatch(tx, c.ID)
	case filewatch.Pause:
		return pauseTrigger(tx, kindWatch, c.ID, c.Paused, time.Time{})
	default:
		return fmt.Errorf("unknown kind of change: %T", c)
	}
}

// noteSession notes the conversation in which a row was made, so that a summary of the conversation can name it. Rows that no turn made have
// none.
func noteSession(tx *Tx, table string, id, turn int64) error {
	if turn == 0 {
		return nil
	}
	return tx.Run("UPDATE "+table+" SET session = (SELECT session FROM turns WHERE id = ?) WHERE id = ?", turn, id) // #nosec G202 -- constants
}

// removeJob removes a job or the heartbeat, which share the change.
func removeJob(tx *Tx, id int64) error {
	k, err := jobKind(tx, id)
	if err != nil {
		return err
	}
	return removeTrigger(tx, k, id)
}

// pauseJob pauses or resumes a job. The change carries the new due time.
func pauseJob(tx *Tx, c scheduler.Pause) error {
	k, err := jobKind(tx, c.ID)
	if err != nil {
		return err
	}
	return pauseTrigger(tx, k, c.ID, c.Paused, c.Due)
}

// dropWatch removes a watch with its snapshot. A watch of the same name starts with a new one.
func dropWatch(tx *Tx, id int64) error {
	if err := removeTrigger(tx, kindWatch, id); err != nil {
		return err
	}
	return tx.Run("DELETE FROM snapshots WHERE watch = ?", id)
}
