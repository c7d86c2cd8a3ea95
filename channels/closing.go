package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/daemon/sys"
)

// Closing is a message of a question that is closed, of which the platform may still show buttons. Its Delivery is the part that has them.
type Closing struct {
	Delivery
	Shown   string // the platform's id of the message
	Outcome string // what it is to say below its text
	Tries   int    // edits that have failed
}

// Closings are where such messages are kept.
type Closings interface {
	// Closings lists those that are due.
	Closings(ctx context.Context, now time.Time) ([]Closing, error)
	// Closed ends one, with next zero, or says when it is tried again.
	Closed(ctx context.Context, outbox int64, next time.Time) error
}

// Closer takes the buttons of closed questions away, and says in their place what became of the question. It holds up nothing: no message waits for it.
// All fields are needed.
type Closer struct {
	Rows    Closings
	Channel func(name string) (Channel, error)
	Wake    <-chan struct{} // a value: a question may have been closed
	Clock   sys.Clock
	Log     *slog.Logger
}

// How an edit that fails is repeated: for about two hours in all.
const (
	closingTries = 12
	closingFirst = 5 * time.Second
	closingLast  = 20 * time.Minute
	closingLook  = 30 * time.Second // from one look to the next
)

// Run works until ctx ends. An error of the store ends it too; run it again.
func (c *Closer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		list, err := c.Rows.Closings(ctx, c.Clock.Wall())
		if err != nil {
			return orEnd(ctx, fmt.Errorf("read which questions are closed: %w", err))
		}
		for _, m := range list {
			if err := c.Rows.Closed(ctx, m.Outbox, c.close(ctx, m)); err != nil {
				return orEnd(ctx, fmt.Errorf("note that a question shows its end: %w", err))
			}
		}
		timer := time.NewTimer(closingLook)
		select {
		case <-ctx.Done():
		case <-c.Wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// close edits one message, and returns when to try again; zero: not any more.
func (c *Closer) close(ctx context.Context, m Closing) (next time.Time) {
	ch, err := c.Channel(m.To.Channel())
	if errors.Is(err, ErrNoChannel) {
		return time.Time{}
	}
	if err == nil {
		editor, can := ch.(Editor)
		if !can || !AbilitiesOf(ch).Buttons {
			return time.Time{}
		}
		d := m.Delivery
		d.Body, d.Choices = d.Body+"\n\n**"+m.Outcome+"**", []Choice{}
		if d.Unsure > 0 && AbilitiesOf(ch).Repeats != ByKey {
			d.Body += repeatMark // which the message had: an earlier copy may be there too
		}
		err = edit(ctx, editor, d, m.Shown)
	}
	if err == nil || errors.Is(err, ErrPermanent) || m.Tries+1 >= closingTries {
		if err != nil {
			c.Log.Warn("a closed question keeps its buttons", "to", m.To, "err", err)
		}
		return time.Time{}
	}
	wait := min(closingFirst<<m.Tries, closingLast)
	if later := (*RetryAfter)(nil); errors.As(err, &later) {
		wait = max(wait, min(later.After, closingLast))
	}
	return c.Clock.Wall().Add(wait)
}
