package store

import (
	"context"
	"fmt"

	"hob/daemon/agent/turn"
)

// Charge is the booked cost of a request that belongs to no turn.
type Charge struct {
	day    string
	source string
	amount turn.Amount
}

// Charge books the highest possible cost of such a request before it is made. It returns turn.ErrBudget if a limit forbids it. The amount
// counts as used at once, so a crash in between leaves it booked.
func (s Spending) Charge(ctx context.Context, source string, most turn.Amount) (Charge, error) {
	c := Charge{source: "source:" + source, amount: most}
	err := s.core.write(ctx, func(tx *Tx) error {
		// The limit is checked in the commit that books, so two requests cannot share the last of it.
		b, err := readBudget(tx)
		if err != nil {
			return err
		}
		if exceeds(b, most) {
			return fmt.Errorf("%s: %w", source, turn.ErrBudget)
		}
		c.day = b.Day
		return tx.spendRows().add(c.day, c.source, most)
	})
	return c, err
}

// Correct replaces the booked amount by the real one.
func (s Spending) Correct(ctx context.Context, c Charge, used turn.Amount) error {
	return s.core.write(ctx, func(tx *Tx) error {
		return tx.spendRows().add(c.day, c.source, turn.Amount{Tokens: used.Tokens - c.amount.Tokens, Micros: used.Micros - c.amount.Micros})
	})
}
