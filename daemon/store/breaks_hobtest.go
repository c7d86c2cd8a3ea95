//go:build hobtest

package store

import (
	"context"
	"time"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/scheduler/filewatch"
)

// This file holds the wrong branches of the deliberate faults that HOB_BREAK switches on. The crash tests must notice each of them.

// acceptFire stores the inbox row of a fire in the transaction of the fire, or, as a fault, in one of its own.
func acceptFire(tx *Tx, in event.In) error {
	if fail.Broken("fire-in-two") {
		acceptApart(tx, in, 0)
		return nil
	}
	return mustAccept(tx, in)
}

// acceptApart commits an input after the row that caused it, or so late that a kill at the acknowledgement comes first.
func acceptApart(tx *Tx, in event.In, late time.Duration) {
	ctx := context.WithoutCancel(tx.Context())
	tx.core.db.Once("broken fire", func() error {
		<-time.After(late)
		fail.Point("fire.between")
		return tx.core.write(ctx, func(tx *Tx) error {
			_, err := acceptIn(tx, in)
			return err
		})
	})
}

// snapshotBroken commits the snapshot of a watch before the observation that belongs to it.
func snapshotBroken(ctx context.Context, s *core, seen filewatch.Seen) error {
	if seen.In == nil || !fail.Broken("snapshot-before-event") {
		return nil
	}
	err := s.write(ctx, func(tx *Tx) error { return putSnapshot(tx, seen.Watch.ID, seen.Files) })
	if err == nil {
		fail.Point("snapshot.between")
	}
	return err
}

// cursorBroken commits the position of a source before the messages up to that position.
func cursorBroken(ctx context.Context, s *core, c *channels.Cursor) error {
	if c == nil || !fail.Broken("cursor-before-insert") {
		return nil
	}
	err := s.write(ctx, func(tx *Tx) error { return putCursor(tx, *c) })
	if err == nil {
		fail.Point("inbound.broken")
	}
	return err
}

// commitBroken splits the last commit of a turn into three, so that a crash between them leaves a message without its turn's end.
func commitBroken(ctx context.Context, s *core, c turn.Commit) (broken bool, err error) {
	if c.End == nil || !fail.Broken("finish-in-three") {
		return false, nil
	}
	said := turn.Commit{Turn: c.Turn, Items: c.Items, Steps: c.Steps}
	outs := turn.Commit{Turn: c.Turn, Changes: c.Changes}
	end := turn.Commit{Turn: c.Turn, End: c.End, Events: c.Events, Ran: c.Ran}
	for _, one := range []turn.Commit{outs, said, end} {
		if err := s.write(ctx, func(tx *Tx) error { return applyCommit(tx, one) }); err != nil {
			return true, err
		}
		fail.Point("finish.between")
	}
	return true, nil
}

// receiptBroken acknowledges the request of a webhook before its row is committed.
func receiptBroken(tx *Tx, in event.In) (r event.Receipt, broken bool) {
	if !fail.Broken("hook-ack-before-commit") {
		return r, false
	}
	acceptApart(tx, in, 10*time.Second)
	return event.Receipt{Inbox: 1, Event: 1, New: true}, true
}

// taskBroken stores the input of a task a second time.
func taskBroken(tx *Tx, in event.In) error {
	if !fail.Broken("task-twice") {
		return nil
	}
	in.ExtID += "/2"
	return mustAccept(tx, in)
}
