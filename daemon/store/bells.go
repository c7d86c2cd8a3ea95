package store

import "sync"

// bell names what somebody may wait for. A bell wakes; only rows carry.
type bell uint8

const (
	bellInbox bell = 1 << iota
	bellCommands
	bellOutbox
	bellEvents
	bellJobs
)

// bells wakes all who wait for a kind of rows.
type bells struct {
	mu    sync.Mutex
	chans map[bell]chan struct{}
}

// wait returns a channel that is closed at the next commit that rings the bell.
// Take it before reading, or a commit may slip in between.
func (b *bells) wait(which bell) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.chans == nil {
		b.chans = map[bell]chan struct{}{}
	}
	if b.chans[which] == nil {
		b.chans[which] = make(chan struct{})
	}
	return b.chans[which]
}

func (b *bells) ring(which bell) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for one, c := range b.chans {
		if which&one != 0 {
			close(c)
			delete(b.chans, one)
		}
	}
}

// InboxBell rings when the thread may have something to take.
func (s *Store) InboxBell() <-chan struct{} { return s.bells.wait(bellInbox) }

// CommandsBell rings when a command was accepted.
func (s *Store) CommandsBell() <-chan struct{} { return s.bells.wait(bellCommands) }

// OutboxBell rings when there is something new to send.
func (s *Store) OutboxBell() <-chan struct{} { return s.bells.wait(bellOutbox) }

// EventsBell rings when events were added.
func (s *Store) EventsBell() <-chan struct{} { return s.bells.wait(bellEvents) }

// JobsBell rings when a job was made or changed.
func (s *Store) JobsBell() <-chan struct{} { return s.bells.wait(bellJobs) }
