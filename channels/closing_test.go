package channels_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"hob/channels"
	"hob/daemon/sys"
)

// closings stores the rows of one closed question.
type closings struct {
	open  *channels.Closing
	next  time.Time
	ended bool
}

func (c *closings) Closings(_ context.Context, now time.Time) ([]channels.Closing, bool, error) {
	if c.open == nil || c.next.After(now) {
		return nil, c.open != nil, nil
	}
	return []channels.Closing{*c.open}, false, nil
}

func (c *closings) Closed(_ context.Context, _ int64, next time.Time) error {
	if next.IsZero() {
		c.open, c.ended = nil, true
		return nil
	}
	c.open.Tries++
	c.next = next
	return nil
}

// buttoned edits messages after a number of failures.
type buttoned struct {
	channels.Channel
	fails int
	err   error
	said  []string
}

func (b *buttoned) Buttons() bool { return true }

func (b *buttoned) Edit(_ context.Context, d channels.Delivery, remoteID string) error {
	if b.fails--; b.fails >= 0 {
		return b.err
	}
	if d.Choices == nil || len(d.Choices) > 0 {
		return errors.New("its buttons stay")
	}
	b.said = append(b.said, remoteID+": "+d.Body)
	return nil
}

// TestClosedQuestions (C10): a failed edit is repeated for a limited time; a permanent failure ends it at
// once.
func TestClosedQuestions(t *testing.T) {
	for name, c := range map[string]struct {
		fails int
		err   error
		said  bool
		tries int
	}{
		"at once": {0, nil, true, 0}, "after failures": {5, errors.New("502"), true, 5}, "never": {1000, errors.New("502"), false, 11},
		"not any more": {1, channels.ErrPermanent, false, 0}, "when it is asked to wait": {1, &channels.RetryAfter{After: time.Minute, Err: errors.New("429")}, true, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &channels.Closing{Delivery: channels.Delivery{Outbox: 1, To: "chat:1", Body: "May I?"}, Shown: "m1", Outcome: "Approved · ABCD"}
			rows, ch := &closings{open: m}, &buttoned{fails: c.fails, err: c.err}
			closer := &channels.Closer{Rows: rows, Channel: func(string) (channels.Channel, error) { return ch, nil }, Wake: make(chan struct{}), Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler)}
			ctx, stop := context.WithTimeout(t.Context(), 6*time.Hour)
			defer stop()
			if err := closer.Run(ctx); err != nil {
				t.Error(err)
			}
			if !rows.ended || m.Tries != c.tries || (len(ch.said) == 1) != c.said || c.said && ch.said[0] != "m1: May I?\n\n**Approved · ABCD**" {
				t.Errorf("%s: ended %v after %d tries, said %q", name, rows.ended, m.Tries, ch.said)
			}
		})
	}
}

// A message that was repeated with a mark keeps the mark when its question is closed.
func TestClosedQuestionsKeepTheMarkOfARepeat(t *testing.T) {
	m := &channels.Closing{Delivery: channels.Delivery{Outbox: 1, To: "chat:1", Body: "May I?", Unsure: 1}, Shown: "m1", Outcome: "Denied · ABCD"}
	rows, ch := &closings{open: m}, &buttoned{}
	synctest.Test(t, func(t *testing.T) {
		closer := &channels.Closer{Rows: rows, Channel: func(string) (channels.Channel, error) { return ch, nil }, Wake: make(chan struct{}), Clock: sys.RealClock(), Log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := closer.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	if len(ch.said) != 1 || ch.said[0] != "m1: May I?\n\n**Denied · ABCD**\n\n(may be a repeat)" {
		t.Errorf("said %q", ch.said)
	}
}
