package store

import (
	"context"

	"hob/daemon/store/pairings"
)

// pairings is the pairings' side of the store.
func (s *core) pairings() pairings.Book {
	return pairings.New(s.read(), func(ctx context.Context, f func(pairings.Tx) error) error {
		return s.Write(ctx, func(tx *Tx) error { return f(tx) })
	})
}
