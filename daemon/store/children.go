package store

import (
	"context"

	"hob/daemon/agent/turn"
	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/store/db"
	"hob/daemon/store/family"
)

// kin is the sub-agents' side of the store.
func (s *core) kin() family.Kin {
	return family.New(s.read(), func(ctx context.Context, f func(family.Tx, family.Claims) error) error {
		return s.Write(ctx, func(tx *Tx) error { return f(tx, tx) })
	})
}

// Rows is the transaction itself.
func (tx *Tx) Rows() *db.Tx { return tx.Tx }

// Say appends an item that comes from no inbox row.
func (tx *Tx) Say(it llm.Item) (int64, error) { return addItem(tx, it, 0) }

// Owners are the owner's addresses.
func (tx *Tx) Owners() []event.Address { return tx.core.opt.Owner() }

// Note appends an event.
func (tx *Tx) Note(e event.Event) error { return addEvent(tx, e) }

// Accept stores an input.
func (tx *Tx) Accept(in event.In) (event.Receipt, error) { return acceptIn(tx, in) }

// End ends a turn with everything that belongs to it.
func (tx *Tx) End(id int64, state turn.Status, why string) error {
	return endTurn(tx, id, turn.Finish{State: state, Why: why})
}

// Claim makes a ready turn a running one. False: it has had its attempts and is dead now.
func (tx *Tx) Claim(id int64) (bool, error) { return resumeTurn(tx, id) }

// Book counts the model requests that nobody waits for any more as paid.
func (tx *Tx) Book() error { return tx.book().Orphans() }
