package store

import (
	"errors"
	"fmt"

	"hob/daemon/agent/turn"
	"hob/daemon/fail"
	"hob/daemon/llm"
	"hob/daemon/sqlite"
)

// reserveFirst reserves the cost of the model request that a new turn begins with, in the commit that claims the turn. If the budget forbids
// it, nothing is reserved, and the turn finds that out when it makes the request.
func reserveFirst(tx *Tx, c *turn.Claim, first func(turn.Opening) (turn.Step, bool)) error {
	o, err := readOpening(tx, c.Turn)
	if err != nil {
		return fmt.Errorf("read turn %d: %w", c.Turn, err)
	}
	c.Opening = &o
	step, asks := first(o)
	if !asks || fail.Broken("forget-reserve") {
		return nil
	}
	step.Started = tx.Now // the reservation is settled on this day, even after midnight
	if err := reserveSpend(tx, step, o.Snapshot.Turn); errors.Is(err, turn.ErrBudget) {
		return nil
	} else if err != nil {
		return err
	}
	c.Reserved = step
	return writeStep(tx, c.Turn, step)
}

// readOpening reads what Turns.Load and Turns.Transcript would read of a turn that this transaction has opened. Such a turn has no steps,
// waits, questions and sub-agents.
func readOpening(tx *Tx, id int64) (o turn.Opening, err error) {
	rs, err := tx.Query("SELECT "+turnColumns+" FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", id)
	list, err := sqlite.Collect(rs, err, scanTurn)
	if err != nil {
		return o, err
	}
	st := turn.Snapshot{Turn: list[0], Steps: []turn.Step{}, Waits: []turn.Wait{}, Questions: map[int64]turn.Question{}, Epoch: tx.core.epoch, Now: tx.Now}
	// A new turn has started no subagent, but its readers expect a map.
	st.Relations.Children = map[string]turn.Child{}
	if o.Transcript, err = transcriptIn(tx, st.Turn.Session); err != nil {
		return o, err
	}
	// Overtaken is the newest input of another turn in this conversation.
	for _, it := range o.Transcript {
		switch {
		case it.Turn == id:
			st.Items = append(st.Items, it)
		case it.Kind == llm.Input:
			st.Overtaken = it.Seq
		}
	}
	o.Snapshot = st
	o.System, o.Tools, o.Prefixed, err = promptIn(tx, st.Turn)
	return o, err
}
