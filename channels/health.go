package channels

import (
	"errors"
	"sync"
	"time"

	"hob/daemon/event"
)

// Health is how well one direction of a channel works.
type Health string

// The three states of health.
const (
	OK       Health = "ok"
	Degraded Health = "degraded"  // the last attempt failed; it is tried again
	Untried  Health = "not tried" // nothing has been sent yet: only shown, see Shown
	Down     Health = "down"      // three attempts in a row failed, or two with a lasting refusal among them; or the section cannot be used
)

// Direction is the health of receiving or of sending.
type Direction struct {
	State     Health    `json:"state"`
	Since     time.Time `json:"since"`                  // when State began
	LastError string    `json:"last_error,omitempty"`   // kept when it is well again
	LastAt    time.Time `json:"last_error_at,omitzero"` // when that was
	Proven    bool      `json:"-"`                      // it has worked since the channel was opened; before that, OK says only that nothing has failed
	failures  int
}

// ChannelHealth is one channel's health. A channel that receives well may be unable to send, and the other way round.
type ChannelHealth struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Receiving Direction `json:"receiving"`
	Sending   Direction `json:"sending"`
	Print     string    `json:"-"` // of its section
	Unfit     bool      `json:"-"` // its section cannot be used: nothing is tried
}

// Shown is the health as people see it: that nothing has failed is not called ok before something was sent.
func (h ChannelHealth) Shown() ChannelHealth {
	if h.Sending.State == OK && !h.Sending.Proven && h.Name != event.CLI.Channel() { // whose deliveries are commits
		h.Sending.State = Untried
	}
	return h
}

// downAfter is how many failures in a row make a direction down. A refusal that lasts counts for two: it needs only to be confirmed.
const downAfter = 3

// note records an attempt, and reports whether the state has changed or was proven for the first time.
func (d *Direction) note(now time.Time, err error) bool {
	state, proof := OK, err == nil && !d.Proven
	if err == nil {
		d.failures, d.Proven = 0, true
	} else {
		d.failures++
		if no, ok := errors.AsType[*RetryAfter](err); ok && no.Lasts {
			d.failures++
		}
		d.LastError, d.LastAt = err.Error(), now
		state = Degraded
		if d.failures >= downAfter {
			state = Down
		}
	}
	if state == d.State {
		return proof
	}
	d.State, d.Since = state, now
	return true
}

// gauge keeps one channel's health.
type gauge struct {
	mu sync.Mutex
	h  ChannelHealth
}

// note records an attempt and returns the health, whether a state has changed or was proven for the first time, and whether it works again.
func (g *gauge) note(now time.Time, pick func(*ChannelHealth) *Direction, err error) (h ChannelHealth, changed, back bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := pick(&g.h).State
	changed = pick(&g.h).note(now, err)
	return g.h, changed, err == nil && before != OK
}

func (g *gauge) read() ChannelHealth {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.h
}

func receiving(h *ChannelHealth) *Direction { return &h.Receiving }

func sending(h *ChannelHealth) *Direction { return &h.Sending }
