package sqlite

import "sync"

// Bell names what somebody may wait for. A Bell wakes; only rows carry.
type Bell uint8

// The kinds of rows that somebody waits for.
const (
	BellInbox Bell = 1 << iota
	BellCommands
	BellOutbox
	BellEvents
	BellJobs
	BellFiles   // that are not needed any more
	BellStorage // rings without a commit: whether the database stores has changed
)

// bells wakes all who wait for a kind of rows.
type bells struct {
	mu    sync.Mutex
	chans map[Bell]chan struct{}
}

// wait returns a channel that is closed at the next commit that rings the Bell.
// Take it before reading, or a commit may slip in between.
func (b *bells) wait(which Bell) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.chans == nil {
		b.chans = map[Bell]chan struct{}{}
	}
	if b.chans[which] == nil {
		b.chans[which] = make(chan struct{})
	}
	return b.chans[which]
}

func (b *bells) ring(which Bell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for one, c := range b.chans {
		if which&one != 0 {
			close(c)
			delete(b.chans, one)
		}
	}
}
