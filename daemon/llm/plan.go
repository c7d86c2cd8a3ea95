package llm

import (
	"errors"
	"slices"
	"time"
)

// Retry limits of one request.
const (
	MaxRetries = 8 // with the last model that is left
	fewRetries = 2 // where another model is ready to take over
	fewOf      = 2 // of answers that say nothing, and of silences, which take minutes
	firstWait  = time.Second
	longest    = 32 * time.Second
	shortWait  = 5 * time.Second // a server that asks for a longer one is passed over where another model is ready
)

// Plan is the course of one request over a chain: which model is asked, how often, and which one after it. It is used by one
// goroutine.
type Plan struct {
	chain *Chain
	left  []Model       // the one that is asked now, then those that are left
	ready int           // of left, how many rest from nothing
	tries int           // of the first
	of    map[Fault]int // of those, by what came of them
	tired bool          // every model rested when it began
}

// Next says what comes after a failed request.
type Next int

// What comes.
const (
	GiveUp  Next = iota // no model is left
	Again               // the same model
	Another             // another one
)

// Plan begins a request at now. Models that rest come last, in the owner's order: when everything else has failed, they are asked
// all the same. fits says which models the request is not too large for; those it does not fit are left out, unless that is all.
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
	return &Plan{chain: c, left: append(ready, resting...), ready: len(ready), tired: len(ready) == 0}
}

// Model is the one to ask now.
func (p *Plan) Model() Model { return p.left[0] }

// Tired reports whether every model rested when the plan began: nobody has answered lately.
func (p *Plan) Tired() bool { return p.tired }

// Skip passes over the model: it is not to be asked now, though nothing is wrong with it. False: it was the last one.
func (p *Plan) Skip() bool {
	if len(p.left) == 1 {
		return false
	}
	p.left, p.tries, p.of, p.ready = p.left[1:], 0, nil, max(p.ready-1, 0)
	return true
}

// Rests reports whether a model of the chain rests since it has failed.
func (p *Plan) Rests(i Info, now time.Time) bool {
	p.chain.mu.Lock()
	defer p.chain.mu.Unlock()
	_, rests := p.chain.resting(i, now)
	return rests
}

// Worked ends the plan: the model has answered.
func (p *Plan) Worked() { p.chain.worked(p.Model().Info()) }

// Failed takes the error of the model that was asked, and says what comes: Model is asked, which may be the same one or the
// next, after wait. patience is how long the caller can wait at all; jitter in [0,1) spreads waits over
// the upper half of their length.
func (p *Plan) Failed(err error, now time.Time, jitter float64, patience time.Duration) (wait time.Duration, next Next) {
	if p.of == nil {
		p.of = map[Fault]int{}
	}
	p.of[FaultOf(err)]++
	if FaultOf(err) != NoImages { // that one is no try: the next request is another one
		p.tries++
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

// retry says whether the same model is worth another try, and when.
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
	if e.RetryAfter > 0 {
		return e.RetryAfter, e.RetryAfter <= patience && (p.ready < 2 || e.RetryAfter <= shortWait)
	}
	d := min(firstWait<<min(max(p.tries-1, 0), 10), longest)
	d = d/2 + time.Duration(jitter*float64(d/2))
	return d, d <= patience
}

// most is how often a model is asked again.
func (p *Plan) most() int {
	if p.ready > 1 || p.tired {
		return fewRetries
	}
	return MaxRetries
}
