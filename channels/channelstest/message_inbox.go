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

// MessageInbox is an inbox that records the messages of an adapter before admission. The zero value is ready.
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

// MessageInboxAt returns an inbox with a stored cursor.
func MessageInboxAt(c channels.Cursor) *MessageInbox { return &MessageInbox{cursor: &c} }

// Each calls f with each further list of messages before it is stored.
func (b *MessageInbox) Each(f func([]channels.Message)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.each = f
}

// FailNext makes the next n calls of Receive with messages fail.
func (b *MessageInbox) FailNext(n int) *MessageInbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = n
	return b
}

// Receive stores messages and the cursor.
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

// Accept stores the inputs of a channel that cannot tell senders apart.
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

// refuses fails as scripted. The caller holds the lock.
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

// Gap records a gap as "FROM-TO WHY" in Unix seconds.
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

// Cursor returns the stored cursor, "" if it belongs to another identity.
func (b *MessageInbox) Cursor(_ context.Context, source, identity string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cursor == nil || b.cursor.Source != source || b.cursor.Identity != identity {
		return "", nil
	}
	return b.cursor.Value, nil
}

// happened wakes waiting callers. The caller holds the lock.
func (b *MessageInbox) happened() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// List returns the messages so far, in order.
func (b *MessageInbox) List() []channels.Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.list)
}

// Count returns the number of messages and inputs.
func (b *MessageInbox) Count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.list) + len(b.accepted)
}

// Accepted returns the inputs from Accept.
func (b *MessageInbox) Accepted() []event.In {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.accepted)
}

// Gaps returns the gaps in the form of Gap.
func (b *MessageInbox) Gaps() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.gaps)
}

// Stored returns the newest cursor; the zero cursor if there is none.
func (b *MessageInbox) Stored() channels.Cursor {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cursor == nil {
		return channels.Cursor{}
	}
	return *b.cursor
}

// Full returns how many calls of Receive are still to fail.
func (b *MessageInbox) Full() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fail
}

// Largest returns the number of messages in the largest commit.
func (b *MessageInbox) Largest() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.largest
}

// Until waits until ok is true after an event.
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

// Came waits until n messages have arrived.
func (b *MessageInbox) Came(t testing.TB, n int) {
	t.Helper()
	b.Until(t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.list) >= n
	})
}

// Keep runs a channel until the returned function is called. It collects the errors of Run, and restarts it
// at once.
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

// Received runs a channel until n messages have arrived, and returns them. Run must not fail.
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

// Kind names the class of a send error: ok, later, permanent, unknown or plain, followed by " there" if it
// concerns only the address.
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
