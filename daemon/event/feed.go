package event

import "sync"

// Piece is a piece of an answer that is still being generated. Pieces may be lost and are never stored: the event turn.finished has the
// whole text.
type Piece struct {
	Turn    int64  `json:"turn"`
	Step    int    `json:"step"`
	Offset  int    `json:"offset"` // bytes of this step's text sent before this piece
	Text    string `json:"text"`
	Session string `json:"session"`
	After   int64  `json:"-"`                // the newest event before this step: a stream of events and pieces has it before the piece
	Output  string `json:"output,omitempty"` // instead of text: the newest lines that the command of this step has printed so far
}

// Feed passes live pieces to the present followers. The zero value is ready. A slow follower loses pieces; nobody waits for it.
type Feed struct {
	mu   sync.Mutex
	subs map[chan Piece]struct{}
}

// Publish offers a piece to all followers and never blocks.
func (f *Feed) Publish(l Piece) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.subs {
		select {
		case c <- l:
		default:
		}
	}
}

// Follow returns a channel of pieces and a function that ends the subscription.
func (f *Feed) Follow() (<-chan Piece, func()) {
	c := make(chan Piece, 256)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.subs == nil {
		f.subs = map[chan Piece]struct{}{}
	}
	f.subs[c] = struct{}{}
	return c, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, c)
	}
}
