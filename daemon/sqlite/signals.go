package sqlite

import "sync"

// Signal names a kind of rows to wait for. It carries no data: the receiver reads the rows.
type Signal uint8

// The kinds of signals.
const (
	SignalInbox Signal = 1 << iota
	SignalCommands
	SignalOutbox
	SignalEvents
	SignalJobs
	SignalFiles     // files that are no longer needed
	SignalQuestions // closed questions, and sent messages that may be about one
	SignalStorage   // sent without a commit, when the ability to store has changed
)

// signals wakes all goroutines that wait for a kind of rows.
type signals struct {
	mu    sync.Mutex
	chans map[Signal]chan struct{}
}

// wait returns a channel that the next commit with this signal closes. Call it before reading rows; otherwise a commit in between is
// missed.
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

// send wakes everybody who waits for one of the signals. Closing a channel wakes all its waiters.
//
// A receiver asks for a new channel before it reads the rows again, so it misses no later signal.
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
