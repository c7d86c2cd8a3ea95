package llm

import (
	"errors"
	"slices"
	"time"
)

// Retry limits of one request.
const (
	MaxRetries = 8 // retries of the last model
	fewRetries = 2 // retries while another model is ready
	fewOf      = 2 // retries after an empty answer or a silence, which takes minutes
	firstWait  = time.Second
	longest    = 32 * time.Second
	shortWait  = 5 * time.Second // longest Retry-After that is waited for while another model is ready
)

// Plan decides how one request is tried: which model is asked, how often, and which one next. The agent asks Model, reports Worked or
// Failed, and does what Failed returns. One goroutine uses a Plan.
type Plan struct {
	chain      *Chain
	left       []Model       // the current model first, then those not yet asked
	ready      int           // number of models in left without a cool-down
	tries      int           // failed attempts of the current model
	of         map[Fault]int // the same, by fault
	allResting bool          // every model was cooling down at the start
}

// Next is the reaction to a failed request.
type Next int

// Reactions to a failed request.
const (
	GiveUp  Next = iota // no model is left
	Again               // ask the same model again
	Another             // ask the next model
)

// Plan starts a request at now. Models that are cooling down come last, in the owner's order: they are asked only when everything else has
// failed. fits reports whether the request is small enough for a model; models that it does not fit are left out, unless none remains.
func (c *Chain) Plan(now time.Time, fits func(Info) bool) *Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ready, resting []Model
	for _, m := range c.models {
		if !fits(m.Info()) {
			continue
		}
		if _, rests := c.resting(m.Info(), now); rests {
			resting = append(resting, m)
			continue
		}
		ready = append(ready, m)
	}
	if len(ready)+len(resting) == 0 {
		ready = slices.Clone(c.models[:1])
	}
	return &Plan{chain: c, left: append(ready, resting...), ready: len(ready), allResting: len(ready) == 0}
}

// Model returns the model to ask now.
func (p *Plan) Model() Model { return p.left[0] }

// AllResting reports whether every model was cooling down when the plan began. None of them has answered lately.
func (p *Plan) AllResting() bool { return p.allResting }

// Skip passes over the current model without a failure. It returns false, and changes nothing, when no other model is left.
func (p *Plan) Skip() bool {
	if len(p.left) == 1 {
		return false
	}
	p.left, p.tries, p.of, p.ready = p.left[1:], 0, nil, max(p.ready-1, 0)
	return true
}

// Rests reports whether a model of the chain is cooling down.
func (p *Plan) Rests(i Info, now time.Time) bool {
	p.chain.mu.Lock()
	defer p.chain.mu.Unlock()
	_, rests := p.chain.resting(i, now)
	return rests
}

// Worked ends the plan: the model has answered, which ends its cool-down and its failures.
func (p *Plan) Worked() { p.chain.worked(p.Model().Info()) }

// Failed takes the error of the current model and returns the reaction. After wait, Model returns the model to ask: the same one (Again) or
// the next (Another). patience is the longest wait that the caller accepts; jitter in [0,1) spreads waits over the upper half of their
// length.
func (p *Plan) Failed(err error, now time.Time, jitter float64, patience time.Duration) (wait time.Duration, next Next) {
	if p.of == nil {
		p.of = map[Fault]int{}
	}
	p.of[FaultOf(err)]++
	if FaultOf(err) != NoImages { // it does not count: the next request is different, without images
		p.tries++
	}
	if !FaultOf(err).ofRequest() {
		p.chain.note(p.Model().Info(), err.Error())
	}
	if wait, again := p.retry(err, jitter, patience); again {
		return wait, Again
	}
	p.chain.failed(p.Model().Info(), err, now)
	if FaultOf(err) == "" || !p.Skip() {
		return 0, GiveUp
	}
	return 0, Another
}

// retry decides whether the same model gets another attempt, and after which wait.
func (p *Plan) retry(err error, jitter float64, patience time.Duration) (time.Duration, bool) {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok || !Retryable(err) || p.tries > p.most():
		return 0, false
	case e.Fault == NoImages:
		return 0, p.of[NoImages] == 1
	case e.Fault == Empty || e.Fault == Idle:
		if p.of[e.Fault] > fewOf {
			return 0, false
		}
	}
	// A server that names a wait is obeyed. With another model ready, only a short wait is worth it.
	if e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= patience && (p.ready < 2 || e.RetryAfter <= shortWait)
	}
	// Exponential backoff: 1 s, 2 s, 4 s, … up to 32 s; jitter takes off up to half.
	d := min(firstWait<<min(max(p.tries-1, 0), 10), longest)
	d = d/2 + time.Duration(jitter*float64(d/2))
	return d, d <= patience
}

// most returns how often the current model is asked again.
func (p *Plan) most() int {
	if p.ready > 1 || p.allResting {
		return fewRetries
	}
	return MaxRetries
}
