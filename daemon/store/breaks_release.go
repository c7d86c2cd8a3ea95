//go:build !hobtest

package store

import (
	"context"

	"hob/channels"
	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/scheduler/filewatch"
)

// A release has none of the deliberate faults in breaks_hobtest.go.

// acceptFire stores the inbox row of a fire in the transaction of the fire.
func acceptFire(tx *Tx, in event.In) error { return mustAccept(tx, in) }

// The functions below are called where a test build can break a commit in two. Here they break nothing.
func snapshotBroken(context.Context, *core, filewatch.Seen) error    { return nil }
func cursorBroken(context.Context, *core, *channels.Cursor) error    { return nil }
func commitBroken(context.Context, *core, turn.Commit) (bool, error) { return false, nil }
func receiptBroken(*Tx, event.In) (r event.Receipt, broken bool)     { return r, false }
func taskBroken(*Tx, event.In) error                                 { return nil }
