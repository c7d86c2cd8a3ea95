package channels

import (
	"context"
	"fmt"
	"sync"
)

// doubts are the channels over which the last try may have arrived without an answer. Nothing is lost when the process forgets them.
type doubts struct {
	mu   sync.Mutex
	open map[string]bool
}

// note says whether the last try over a channel was left open.
func (q *doubts) note(channel string, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[string]bool{}
	}
	q.open[channel] = open
}

func (q *doubts) has(channel string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open[channel]
}

// probe asks a platform whether it answers, before it gets what it may have had already.
func (q *doubts) probe(ctx context.Context, ch Channel, name string) error {
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
