package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/channels"
	"hob/daemon/event"
)

// Inbox is an inbox in memory with the guarantees of the real one: inputs and cursor are stored together, and
// each (source, id) once. The zero value is ready.
type Inbox struct {
	Name  string         // of the channel
	Rules channels.Rules // who is admitted

	mu      sync.Mutex
	rows    []event.In
	cursors map[string]channels.Cursor
	fail    int
	failed  int
	index   map[string]int // position in rows, by source and id
	changed chan struct{}
	gaps    []string
	files   [][]byte
}

// ErrFull is the error of a scripted failure of Accept.
var ErrFull = errors.New("the inbox cannot store anything")

// FailNext makes the next n calls of Accept store nothing and fail with ErrFull.
func (b *Inbox) FailNext(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = n
}

// Failed returns how many calls failed as scripted.
func (b *Inbox) Failed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// Accept stores inputs and cursor.
func (b *Inbox) Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accept(ins, c)
}

// accept is Accept; the caller holds the lock.
func (b *Inbox) accept(ins []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	if b.fail > 0 {
		b.fail--
		b.failed++
		return nil, ErrFull
	}
	if b.index == nil {
		b.index = map[string]int{}
	}
	receipts := make([]event.Receipt, 0, len(ins))
	for _, in := range ins {
		at, known := b.index[in.Source+"\n"+in.ExtID]
		if !known {
			at = len(b.rows)
			b.rows, b.index[in.Source+"\n"+in.ExtID] = append(b.rows, in), at
		}
		receipts = append(receipts, event.Receipt{Event: int64(at + 1), Inbox: int64(at + 1), New: !known})
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

// AcceptFiles stores an input and the contents of its files.
func (b *Inbox) AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return event.Receipt{}, err
	}
	b.mu.Lock() // one lock for both, like one commit: a reader that sees the row also sees its files
	defer b.mu.Unlock()
	receipts, err := b.accept([]event.In{in}, nil)
	if err != nil {
		return event.Receipt{}, err
	}
	if receipts[0].New {
		b.files = append(b.files, contents...)
	}
	return receipts[0], nil
}

// TakeBack removes an input that its author deleted; no input is read here.
func (b *Inbox) TakeBack(_ context.Context, w channels.Withdrawal) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = slices.DeleteFunc(b.rows, func(r event.In) bool {
		return r.Source == w.Source && r.ExtID == w.ExtID && r.Origin.Person == w.Person && r.ReplyTo == w.Chat
	})
	return nil
}

// Files returns the contents of all files so far.
func (b *Inbox) Files() [][]byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.files)
}

// Connected accepts any account.
func (b *Inbox) Connected(context.Context, string, string) error { return nil }

// Owners returns the owner's ids from Rules.
func (b *Inbox) Owners(string) []string { return b.Rules.Owner }

// Try accepts no code, because no pairing is open.
func (b *Inbox) Try(context.Context, string, channels.Message) (channels.Tried, error) {
	return channels.NoCode, nil
}

// Unlisted tells nobody.
func (b *Inbox) Unlisted(context.Context, string, channels.Message) error { return nil }

// Missed records a gap as "CHANNEL FROM-TO: WHY".
func (b *Inbox) Missed(_ context.Context, channel string, gap channels.Gap) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaps = append(b.gaps, fmt.Sprintf("%s %s-%s: %s", channel, gap.From.UTC().Format(time.TimeOnly), gap.To.UTC().Format(time.TimeOnly), gap.Why))
	return nil
}

// Receive admits messages by Rules. Pairing is not possible.
func (b *Inbox) Receive(ctx context.Context, list []channels.Message, c *channels.Cursor) error {
	var ins []event.In
	for _, m := range list {
		if in, refusal := channels.Admit(b.Name, m, b.Rules, time.Now()); refusal == channels.Admitted {
			ins = append(ins, in)
		}
	}
	_, err := b.Accept(ctx, ins, c)
	return err
}

// Gap records the reason of a gap.
func (b *Inbox) Gap(_ context.Context, _, _ time.Time, why string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gaps = append(b.gaps, why)
	return nil
}

// Gaps returns the reasons of all gaps so far.
func (b *Inbox) Gaps() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.gaps)
}

// Cursor returns the stored cursor.
func (b *Inbox) Cursor(_ context.Context, source, identity string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.cursors[source]; c.Identity == identity {
		return c.Value, nil
	}
	return "", nil
}

// Rows returns the stored inputs, in order.
func (b *Inbox) Rows() []event.In {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.rows)
}

// Wait waits until ok is true for the stored inputs; false if ctx ends first.
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
