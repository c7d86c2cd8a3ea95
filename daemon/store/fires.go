package store

import (
	"context"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/store/db"
	"hob/daemon/store/triggers"
)

// desk is the triggers' side of the store.
func (s *core) desk() triggers.Desk {
	return triggers.New(s.read(), func(ctx context.Context, f func(triggers.Tx) error) error {
		return s.Write(ctx, func(tx *Tx) error { return f(tx) })
	}, func() <-chan struct{} { return s.db.Wait(db.BellJobs) })
}

// Ask puts a question to the owner.
func (tx *Tx) Ask(q *turn.Question) (int64, error) { return askOwner(tx, q) }

// Notice tells the owner something, once for a key.
func (tx *Tx) Notice(key string, cause int64, text string) error {
	return addNotice(tx, key, cause, text)
}

// Apart is a deliberate fault: an input that is committed later than what caused it.
func (tx *Tx) Apart(in event.In) {
	ctx := context.WithoutCancel(tx.Context())
	tx.core.db.Once("broken fire", func() error {
		fail.Point("fire.between")
		return tx.core.Write(ctx, func(tx *Tx) error {
			_, err := acceptIn(tx, in)
			return err
		})
	})
}
