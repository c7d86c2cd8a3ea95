package channels

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"hob/daemon/sys"
)

// Closing is a sent message whose question is closed, while the platform may still show its buttons. Its
// Delivery is the part that carries the buttons.
type Closing struct {
	Delivery
	Shown   string // the platform's id of the message
	Outcome string // the result that the message will show below its text
	Tries   int    // failed edits so far
}

// Closings is the store of such messages.
type Closings interface {
	// Closings lists the messages whose next edit is due. later reports whether there are messages whose edit is not due.
	Closings(ctx context.Context, now time.Time) (list []Closing, later bool, err error)
	// Closed ends a message if next is zero, or sets the time of the next try.
	Closed(ctx context.Context, outbox int64, next time.Time) error
}

// Closer removes the buttons of closed questions and shows the outcome in their place. It never delays other
// messages: it runs beside the pump. All fields are needed.
type Closer struct {
	Rows    Closings
	Channel func(name string) (Channel, error)
	Wake    <-chan struct{} // a value: a question may have been closed
	Clock   sys.Clock
	Log     *slog.Logger
}

// Backoff of a failed edit. All tries together take about two hours.
const (
	closingTries = 12
	closingFirst = 5 * time.Second
	closingLast  = 20 * time.Minute
	closingLook  = 30 * time.Second // between two looks while a message waits for its edit
)

// Run works until ctx ends. A store error ends it too; the caller runs it again.
func (c *Closer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		list, later, err := c.Rows.Closings(ctx, c.Clock.Wall())
		if err != nil {
			return sys.UnlessDone(ctx, fmt.Errorf("read which questions are closed: %w", err))
		}
		for _, m := range list {
			if err := c.Rows.Closed(ctx, m.Outbox, c.close(ctx, m)); err != nil {
				return sys.UnlessDone(ctx, fmt.Errorf("note that a question shows its end: %w", err))
			}
		}
		sleep := sys.LongestSleep
		if later || len(list) > 0 {
			sleep = closingLook
		}
		timer := c.Clock.Timer(sleep)
		select {
		case <-ctx.Done():
		case <-c.Wake:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

// close edits one message. It returns when to try again, or zero if it is finished.
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
			d.Body += repeatMark // the first message had the mark too: an earlier copy may exist
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
