package store

import (
	"errors"
	"fmt"
	"slices"

	"hob/daemon/agent/turn"
	"hob/daemon/fail"
	"hob/daemon/llm"
	"hob/daemon/sqlite"
)

// prepareFirst adds the opener's note to a new turn and reserves the cost of the model request that the turn begins with, in the commit that
// claims the turn. If the budget forbids the request, nothing is reserved, and the turn finds that out when it makes it.
func prepareFirst(tx *Tx, c *turn.Claim, seq int64, opener turn.Opener) error {
	o, err := readOpening(tx, c.Turn, opener)
	if err != nil {
		return fmt.Errorf("read turn %d: %w", c.Turn, err)
	}
	if err := addNote(tx, &o, seq, opener); err != nil {
		return fmt.Errorf("recall for turn %d: %w", c.Turn, err)
	}
	c.Opening = &o
	step, asks := opener.First(o)
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

// addNote appends the opener's note to the transcript.
func addNote(tx *Tx, o *turn.Opening, seq int64, opener turn.Opener) error {
	note, ok := opener.Note(seq, *o)
	if !ok {
		return nil
	}
	id, err := addItem(tx, note, 0)
	if err != nil {
		return err
	}
	// Read again, so that it is exactly what later requests read.
	added, err := itemsIn(tx, "seq = ?", id)
	o.Transcript = append(slices.Clip(o.Transcript), added...)
	o.Snapshot.Items = append(o.Snapshot.Items, added...)
	return err
}

// readOpening reads what Turns.Load and Turns.Transcript would read of a turn that this transaction has opened. Such a turn has no steps,
// waits, questions and sub-agents. Of the transcript it reads only what the opener needs.
func readOpening(tx *Tx, id int64, opener turn.Opener) (o turn.Opening, err error) {
	rs, err := tx.Query("SELECT "+turnColumns+" FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", id)
	list, err := sqlite.Collect(rs, err, scanTurn)
	if err != nil {
		return o, err
	}
	st := turn.Snapshot{Turn: list[0], Steps: []turn.Step{}, Waits: []turn.Wait{}, Questions: map[int64]turn.Question{}, Epoch: tx.core.epoch, Now: tx.Now}
	// A new turn has started no subagent, but its readers expect a map.
	st.Relations.Children = map[string]turn.Child{}
	if st.Items, err = itemsIn(tx, "turn = ?", id); err != nil {
		return o, err
	}
	switch o.Part = opener.Reads(st); o.Part {
	case turn.AllItems:
		o.Transcript, err = transcriptIn(tx, st.Turn.Session)
	case turn.RecentTurns:
		o.Transcript, err = itemsIn(tx, recentItems, id)
	default:
		o.Transcript = st.Items
	}
	if err != nil {
		return o, err
	}
	// A newer input of another turn is in each part but OwnItems, of which the turn has no call that it could overtake.
	for _, it := range o.Transcript {
		if it.Turn != id && it.Kind == llm.Input {
			st.Overtaken = it.Seq
		}
	}
	o.Snapshot = st
	p, err := tx.core.prompts.read(tx.One, st.Turn.Session, st.Turn.Guest)
	o.Prefixed, o.Prefix, o.Shown = p.found, turn.Prefix{System: p.sections, Tools: p.tools}, p.shown
	return o, err
}
