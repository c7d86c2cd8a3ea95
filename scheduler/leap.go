package scheduler

import (
	"context"
	"fmt"
	"time"

	"hob/scheduler/spec"
)

// Leap is a step of the wall clock, while hob runs, that is too large to be believed at once: by a clock that is wrong by months a job would
// use up all its slots until then, and not run again for as long. Slots on the way run at most once for each job, and when the clock comes
// back what was done by it is taken back.
type Leap struct {
	From time.Time `json:"from"` // the last reading before it
	To   time.Time `json:"to"`   // the first one after it; zero: there was none
}

const (
	farAhead = 30 * 24 * time.Hour // no machine sleeps so long; one that did loses no more than the second run of a job with the policy all
	farBack  = 24 * time.Hour      // no clock is corrected by so much
)

// Leaps is where a Runner notes that the clock leapt, and takes back what was done by it.
type Leaps interface {
	// Leap is the one that was noted last; the zero Leap: there was none.
	Leap(ctx context.Context) (Leap, error)
	// Leapt notes a leap and tells the owner, in one commit.
	Leapt(ctx context.Context, l Leap) error
	// Recall takes back, in one commit, what jobs did by the clock of a leap, now that it is back at now: slots that have not come lose their
	// rows, and what ran in their stead stays on record under another key; each job gets the Last of its newest slot that has come, and the
	// Due that Recall gives it; nothing is held for longer than after any failure. It notes what is left of the leap, and tells the owner.
	Recall(ctx context.Context, l Leap, now time.Time) error
}

// FollowClock lets the runner tell a clock that is wrong by months from time that has passed. It belongs before Run; without it every step
// forward is time that has passed.
func (r *Runner) FollowClock(rows Leaps) { r.leaps = rows }

// Left is what is left of a leap when the clock is back at now: nothing, unless it is far ahead yet.
func (l Leap) Left(now time.Time) Leap {
	if now.Sub(l.From) > farAhead {
		return Leap{From: l.From, To: now}
	}
	return Leap{}
}

// Told is what the owner is told of a leap.
func (l Leap) Told() string {
	return fmt.Sprintf("The clock went ahead by %s, from %s to %s. Each job that came due on the way runs at most once. If that time is wrong, set the clock right: "+
		"the jobs are then run at their times again.", spoken(l.To.Sub(l.From).Truncate(24*time.Hour)), day(l.From), day(l.To))
}

// Over is what the owner is told when the clock is back at now.
func (l Leap) Over(now time.Time) string {
	return fmt.Sprintf("The clock is back from %s to %s: jobs run at their times again.", day(l.To), day(now))
}

func day(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04 MST") }

// Recall gives a job its Due as if the clock had not leapt from an instant: its first slot after that, and after Last, which by then is its newest
// slot that has come. A job that was made by the wrong clock begins now. The error says why its row cannot be used.
func Recall(j Job, from, now time.Time) (Job, error) {
	zone, err := Zone(j.Zone)
	if err != nil {
		return j, err
	}
	s, err := spec.Parse(j.Spec)
	if err != nil {
		return j, err
	}
	if j.Start().After(now) {
		j.Anchor, from = now.Truncate(time.Second), now
	}
	if j.Created.After(now) {
		j.Created = now.Truncate(time.Second)
	}
	if from.Before(j.Last) {
		from = j.Last
	}
	j.Due, _ = s.Next(from, zone, j.Start())
	return j, nil
}

// remember takes up a leap of an earlier run.
func (r *Runner) remember(ctx context.Context) (err error) {
	r.leap, r.high = Leap{}, r.wall
	if r.leaps == nil {
		return nil
	}
	if r.leap, err = r.leaps.Leap(ctx); err != nil {
		return fmt.Errorf("read whether the clock has leapt: %w", err)
	}
	if r.leap.To.After(r.high) {
		r.high = r.leap.To
	}
	return nil
}

// astray reports whether the clock shows a time at which nothing must be served before heed.
func (r *Runner) astray() bool {
	if r.leaps == nil {
		return false
	}
	ahead := r.wall.Sub(r.high)
	return ahead > farAhead || ahead < -farBack && !r.leap.To.IsZero()
}

// heed notes that the clock has leapt, and takes back what was done by it when the clock is back. A leap that has lasted long is believed.
func (r *Runner) heed(ctx context.Context) error {
	if !r.astray() {
		if r.wall.After(r.high) {
			r.high = r.wall
		}
		return nil
	}
	was := r.leap
	switch {
	case r.wall.After(r.high):
		r.leap = Leap{From: r.high, To: r.wall}
		if err := r.leaps.Leapt(ctx, r.leap); err != nil {
			r.leap = was
			return fmt.Errorf("note that the clock has leapt: %w", err)
		}
		r.log.Warn("the clock went too far ahead to be believed; jobs run at most once for that time", "from", r.leap.From, "to", r.leap.To)
	case r.high.Sub(was.To) > farAhead:
		r.leap = Leap{}
	default:
		if err := r.leaps.Recall(ctx, was, r.wall); err != nil {
			return fmt.Errorf("take back what was done by a wrong clock: %w", err)
		}
		r.leap = was.Left(r.wall)
		r.log.Warn("the clock is back; what was done by the wrong one is taken back", "from", was.To, "to", r.wall)
	}
	r.high = r.wall
	return nil
}
