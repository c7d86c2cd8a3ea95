package channels

import (
	"errors"
	"sync"
	"time"

	"hob/daemon/event"
)

// Health is the state of one direction of a channel.
type Health string

// The states of health.
const (
	OK       Health = "ok"
	Degraded Health = "degraded"  // the last attempt failed; hob tries again
	Untried  Health = "not tried" // nothing was sent yet; used only for display, see Shown
	Down     Health = "down"      // three failures in a row, or two with a lasting refusal among them, or an unusable section
)

// Direction is the health of receiving or sending.
type Direction struct {
	State     Health    `json:"state"`
	Since     time.Time `json:"since"`                  // when State began
	LastError string    `json:"last_error,omitempty"`   // kept after recovery
	LastAt    time.Time `json:"last_error_at,omitzero"` // when LastError happened
	Proven    bool      `json:"-"`                      // it has worked since the channel was opened; before that, OK only means that nothing has failed
	failures  int
}

// ChannelHealth is the health of one channel. Receiving may work while sending fails, and the other way
// round.
type ChannelHealth struct {
	Name        string    `json:"name"`
	Kind        string    `json:"kind"`
	Receiving   Direction `json:"receiving"`
	Sending     Direction `json:"sending"`
	Fingerprint string    `json:"-"` // fingerprint of its section
	Unfit       bool      `json:"-"` // the section is unusable, so nothing is tried
}

// Shown returns the health as people see it: a direction that never sent anything is not called ok.
func (h ChannelHealth) Shown() ChannelHealth {
	if h.Sending.State == OK && !h.Sending.Proven && h.Name != event.CLI.Channel() { // deliveries to the cli are commits
		h.Sending.State = Untried
	}
	return h
}

// downAfter is how many failures in a row make a direction down. A lasting refusal counts twice, because it
// only needs one confirmation.
const downAfter = 3

// note records an attempt. It reports whether the state changed, or sending was proven for the first time.
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

// gauge holds the health of one channel. It is safe for concurrent use.
type gauge struct {
	mu sync.Mutex
	h  ChannelHealth
}

// note records an attempt. It returns the health, whether a state changed or was proven, and whether the
// direction recovered with this attempt.
func (g *gauge) note(now time.Time, pick func(*ChannelHealth) *Direction, err error) (h ChannelHealth, changed, back bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := pick(&g.h).State
	changed = pick(&g.h).note(now, err)
	return g.h, changed, err == nil && before != OK
}

// read returns the current health.
func (g *gauge) read() ChannelHealth {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.h
}

func receiving(h *ChannelHealth) *Direction { return &h.Receiving }

func sending(h *ChannelHealth) *Direction { return &h.Sending }
