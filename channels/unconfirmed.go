package channels

import (
	"context"
	"fmt"
	"sync"
)

// unconfirmed records the channels whose last try ended without an answer, so that it may have arrived. It is a
// hint only: losing it in a restart does no harm.
type unconfirmed struct {
	mu   sync.Mutex
	open map[string]bool
}

// note records whether the last try on a channel ended without an answer.
func (q *unconfirmed) note(channel string, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[string]bool{}
	}
	q.open[channel] = open
}

func (q *unconfirmed) has(channel string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open[channel]
}

// probe checks that a platform answers before it is sent something that it may already have. Otherwise each
// try during an outage could add a copy.
func (q *unconfirmed) probe(ctx context.Context, ch Channel, name string) error {
	_, _, err := guarded(ctx, func(ctx context.Context) (_ string, _ bool, err error) {
		switch ch := ch.(type) {
		case Prober:
			err = ch.Probe(ctx)
		case Accounted:
			_, err = ch.Account(ctx)
		}
		return "", false, err
	})
	if err != nil {
		return fmt.Errorf("see whether %s answers again: %w", name, err)
	}
	q.note(name, false)
	return nil
}
