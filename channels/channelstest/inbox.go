package channelstest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"hob/channels"
	"hob/daemon/event"
)

// Inbox is an inbox in memory with the promises of the real one: inputs and cursor together, once per (source, id).
// The zero value is ready.
type Inbox struct {
	mu      sync.Mutex
	rows    []event.In
	cursors map[string]channels.Cursor
	fail    int
	changed chan struct{}
}

// ErrFull is what a scripted failure of Accept returns.
var ErrFull = errors.New("the inbox cannot store anything")

// FailNext makes the next n calls of Accept store nothing and fail with ErrFull.
func (b *Inbox) FailNext(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = n
}

// Accept stores inputs and cursor.
func (b *Inbox) Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail > 0 {
		b.fail--
		return nil, ErrFull
	}
	receipts := make([]event.Receipt, 0, len(ins))
	for _, in := range ins {
		at := slices.IndexFunc(b.rows, func(r event.In) bool { return r.Source == in.Source && r.ExtID == in.ExtID })
		isNew := at < 0
		if isNew {
			b.rows = append(b.rows, in)
			at = len(b.rows) - 1
		}
		receipts = append(receipts, event.Receipt{Event: int64(at + 1), Inbox: int64(at + 1), New: isNew})
	}
	if c != nil {
		if b.cursors == nil {
			b.cursors = map[string]channels.Cursor{}
		}
		b.cursors[c.Source] = *c
	}
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return receipts, nil
}

// Cursor returns a stored cursor.
func (b *Inbox) Cursor(_ context.Context, source, identity string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.cursors[source]; c.Identity == identity {
		return c.Value, nil
	}
	return "", nil
}

// Rows is what has been stored, in order.
func (b *Inbox) Rows() []event.In {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rows)
}

// Wait blocks until something is accepted for which ok holds; false when ctx ends first.
func (b *Inbox) Wait(ctx context.Context, ok func(rows []event.In) bool) bool {
	for {
		b.mu.Lock()
		if ok(b.rows) {
			b.mu.Unlock()
			return true
		}
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}
