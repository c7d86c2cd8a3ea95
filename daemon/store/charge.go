package store

import (
	"context"
	"fmt"

	"hob/daemon/agent/turn"
)

// Charge is what was booked for a request that belongs to no turn.
type Charge struct {
	day    string
	source string
	amount turn.Amount
}

// Charge books what a request outside of any turn may cost at most, before it is made: turn.ErrBudget when a cap does not allow
// it. It counts as used at once, so that a crash in the middle leaves it paid.
func (s Spending) Charge(ctx context.Context, source string, most turn.Amount) (Charge, error) {
	c := Charge{source: "source:" + source, amount: most}
	err := s.core.write(ctx, func(tx *Tx) error {
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

// Correct replaces what was booked by what was really used.
func (s Spending) Correct(ctx context.Context, c Charge, used turn.Amount) error {
	return s.core.write(ctx, func(tx *Tx) error {
		return tx.spendRows().add(c.day, c.source, turn.Amount{Tokens: used.Tokens - c.amount.Tokens, Micros: used.Micros - c.amount.Micros})
	})
}
