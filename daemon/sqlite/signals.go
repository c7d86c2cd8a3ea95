package sqlite

import "sync"

// Signal names what somebody may wait for. A signal wakes; only rows carry.
type Signal uint8

// The kinds of rows that somebody waits for.
const (
	SignalInbox Signal = 1 << iota
	SignalCommands
	SignalOutbox
	SignalEvents
	SignalJobs
	SignalFiles   // that are not needed any more
	SignalStorage // sent without a commit: whether the database stores has changed
)

// signals wakes all who wait for a kind of rows.
type signals struct {
	mu    sync.Mutex
	chans map[Signal]chan struct{}
}

// wait returns a channel that is closed at the next commit that sends the signal.
// Take it before reading, or a commit may slip in between.
func (s *signals) wait(which Signal) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chans == nil {
		s.chans = map[Signal]chan struct{}{}
	}
	if s.chans[which] == nil {
		s.chans[which] = make(chan struct{})
	}
	return s.chans[which]
}

func (s *signals) send(which Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one, c := range s.chans {
		if which&one != 0 {
			close(c)
			delete(s.chans, one)
		}
	}
}
