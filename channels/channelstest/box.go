package channelstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/event"
)

// MessageInbox is an inbox that keeps messages as an adapter hands them on, before it is decided who is let in. The zero value is ready.
type MessageInbox struct {
	mu       sync.Mutex
	each     func([]channels.Message)
	list     []channels.Message
	accepted []event.In
	gaps     []string
	cursor   *channels.Cursor
	fail     int
	largest  int
	changed  chan struct{}
}

// MessageInboxAt is a box with a cursor in it.
func MessageInboxAt(c channels.Cursor) *MessageInbox { return &MessageInbox{cursor: &c} }

// Each lets f see what is taken from now on, before it is.
func (b *MessageInbox) Each(f func([]channels.Message)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.each = f
}

// FailNext makes the next n calls of Receive that bring messages take nothing.
func (b *MessageInbox) FailNext(n int) *MessageInbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = n
	return b
}

// Receive takes messages, and the cursor with them.
func (b *MessageInbox) Receive(ctx context.Context, list []channels.Message, c *channels.Cursor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.happened()
	if err := b.refuses(ctx, len(list)); err != nil {
		return err
	}
	if b.each != nil {
		b.each(list)
	}
	b.list = append(b.list, list...)
	if c != nil {
		b.cursor = c
	}
	return nil
}

// Accept takes inputs that a channel without persons has made.
func (b *MessageInbox) Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.happened()
	if err := b.refuses(ctx, len(ins)); err != nil {
		return nil, err
	}
	b.accepted = append(b.accepted, ins...)
	if c != nil {
		b.cursor = c
	}
	return make([]event.Receipt, len(ins)), nil
}

// refuses fails as scripted. b is locked.
func (b *MessageInbox) refuses(ctx context.Context, n int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if b.fail > 0 && n > 0 {
		b.fail--
		return ErrFull
	}
	b.largest = max(b.largest, n)
	return nil
}

// Gap remembers what may be missing, as "FROM-TO WHY" in Unix seconds.
func (b *MessageInbox) Gap(_ context.Context, from, to time.Time, why string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer b.happened()
	if to.Before(from) {
		return errors.New("a gap that ends before it begins")
	}
	b.gaps = append(b.gaps, fmt.Sprintf("%d-%d %s", from.Unix(), to.Unix(), why))
	return nil
}

// Cursor returns the stored cursor, "" when it belongs to another identity.
func (b *MessageInbox) Cursor(_ context.Context, source, identity string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cursor == nil || b.cursor.Source != source || b.cursor.Identity != identity {
		return "", nil
	}
	return b.cursor.Value, nil
}

// happened wakes who waits. b is locked.
func (b *MessageInbox) happened() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// List is what has come so far, in order.
func (b *MessageInbox) List() []channels.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// Count is how many messages and inputs have come.
func (b *MessageInbox) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list) + len(b.accepted)
}

// Accepted are the inputs of a channel without persons.
func (b *MessageInbox) Accepted() []event.In {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.accepted)
}

// Gaps are what may be missing, as Gap has it.
func (b *MessageInbox) Gaps() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.gaps)
}

// Stored is the newest cursor; the zero cursor when there is none.
func (b *MessageInbox) Stored() channels.Cursor {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cursor == nil {
		return channels.Cursor{}
	}
	return *b.cursor
}

// Full is how many calls of Receive are still to fail.
func (b *MessageInbox) Full() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fail
}

// Largest is how many messages the largest commit had.
func (b *MessageInbox) Largest() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.largest
}

// Until waits until ok holds after something was received or said.
func (b *MessageInbox) Until(t testing.TB, ok func() bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		b.mu.Lock()
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("it did not happen; received: %+v; gaps: %q", b.List(), b.Gaps())
		}
	}
}

// Came waits until n messages have come.
func (b *MessageInbox) Came(t testing.TB, n int) {
	t.Helper()
	b.Until(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.list) >= n
	})
}

// Keep runs a channel until what it returns is called. Errors of Run are collected, and it is run again at once.
func Keep(t testing.TB, ch channels.Channel, in channels.Inbox) (stop func() []error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan []error, 1)
	launch(func() {
		var errs []error
		for ctx.Err() == nil {
			if err := ch.Run(ctx, in); err != nil {
				errs = append(errs, err)
			}
		}
		ended <- errs
	})
	stop = sync.OnceValue(func() []error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { stop() })
	return stop
}

// Received runs a channel until n messages have come, and returns them. Run must not fail.
func Received(t testing.TB, ch channels.Channel, n int) []channels.Message {
	t.Helper()
	b := &MessageInbox{}
	stop := Keep(t, ch, b)
	b.Came(t, n)
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Run: %v", errs)
	}
	return b.List()
}

// Kind is what an error of a send says: ok, later, permanent, unknown or plain; with " there" behind it when it concerns the address alone.
func Kind(err error) string {
	if errors.Is(err, channels.ErrAddress) {
		return kind(err) + " there"
	}
	return kind(err)
}

func kind(err error) string {
	later := (*channels.RetryAfter)(nil)
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &later):
		return "later"
	case errors.Is(err, channels.ErrPermanent):
		return "permanent"
	case errors.Is(err, channels.ErrUnknown):
		return "unknown"
	}
	return "plain"
}
