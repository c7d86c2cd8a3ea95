package scheduler

import (
	"context"
	"fmt"
	"time"

	"hob/scheduler/spec"
)

// ClockJump is a jump of the wall clock, while hob runs, that is too large to be true. With a clock that is months ahead, a job would use
// up all its slots until then and not run again for months. Therefore slots inside the jump run at most once per job. When the clock
// returns, the effects of the jump are undone.
type ClockJump struct {
	From time.Time `json:"from"` // last reading before the jump
	To   time.Time `json:"to"`   // first reading after it; zero: no jump
}

const (
	farAhead = 30 * 24 * time.Hour // longer than any machine sleeps; if one does, a job with the policy all loses only its second run
	farBack  = 24 * time.Hour      // more than any correction of a clock
)

// ClockJumps stores the jumps of the clock, and takes back what was done meanwhile.
type ClockJumps interface {
	// LastJump returns the last recorded jump; the zero value if there was none.
	LastJump(ctx context.Context) (ClockJump, error)
	// NoteJump records a jump and tells the owner, in one commit.
	NoteJump(ctx context.Context, l ClockJump) error
	// UndoJump undoes the effects of a jump on jobs, now that the clock has returned to now, in one commit. Slots in the future lose their
	// rows; slots that ran stay on record under another key. Last of each job becomes its newest past slot, and Due the result of
	// DueAfterJump. Holds in the far future are shortened to the longest backoff. UndoJump records the rest of the jump, and tells the
	// owner.
	UndoJump(ctx context.Context, l ClockJump, now time.Time) error
}

// FollowClock makes the runner detect a clock that is wrong by months. Call it before Run. Without it, every step forward counts as time
// that has passed.
func (r *Runner) FollowClock(rows ClockJumps) { r.jumps = rows }

// Left returns the rest of a jump when the clock is back at now: nothing, unless it is still far ahead.
func (l ClockJump) Left(now time.Time) ClockJump {
	if now.Sub(l.From) > farAhead {
		return ClockJump{From: l.From, To: now}
	}
	return ClockJump{}
}

// Notice returns the notice about a jump.
func (l ClockJump) Notice() string {
	return fmt.Sprintf("The clock went ahead by %s, from %s to %s. Each job that came due on the way runs at most once. If that time is wrong, set the clock right: "+
		"the jobs are then run at their times again.", spoken(l.To.Sub(l.From).Truncate(24*time.Hour)), day(l.From), day(l.To))
}

// ReturnNotice returns the notice about the return of the clock at now.
func (l ClockJump) ReturnNotice(now time.Time) string {
	return fmt.Sprintf("The clock is back from %s to %s: jobs run at their times again.", day(l.To), day(now))
}

func day(t time.Time) string { return t.UTC().Format("2 Jan 2006 15:04 MST") }

// DueAfterJump computes a job's Due as if the clock had not jumped: the first slot after both from and Last. By then Last is the newest
// past slot. A job that was created with the wrong clock starts now. The error says why the job's row cannot be used.
func DueAfterJump(j Job, from, now time.Time) (Job, error) {
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

// loadJump loads the jump of an earlier run.
func (r *Runner) loadJump(ctx context.Context) (err error) {
	r.jump, r.high = ClockJump{}, r.wall
	if r.jumps == nil {
		return nil
	}
	if r.jump, err = r.jumps.LastJump(ctx); err != nil {
		return fmt.Errorf("read whether the clock has jumped: %w", err)
	}
	if r.jump.To.After(r.high) {
		r.high = r.jump.To
	}
	return nil
}

// clockJumped reports whether the clock shows a time at which nothing may be served before followClock has run.
func (r *Runner) clockJumped() bool {
	if r.jumps == nil {
		return false
	}
	ahead := r.wall.Sub(r.high)
	return ahead > farAhead || ahead < -farBack && !r.jump.To.IsZero()
}

// followClock records a jump of the clock, and takes its effects back when the clock returns. A jump that lasts long is accepted as true.
func (r *Runner) followClock(ctx context.Context) error {
	if !r.clockJumped() {
		if r.wall.After(r.high) {
			r.high = r.wall
		}
		return nil
	}
	was := r.jump
	switch {
	// Ahead of all that was seen: remember the jump, so that it can be undone.
	case r.wall.After(r.high):
		r.jump = ClockJump{From: r.high, To: r.wall}
		if err := r.jumps.NoteJump(ctx, r.jump); err != nil {
			r.jump = was
			return fmt.Errorf("note that the clock has jumped: %w", err)
		}
		r.log.Warn("the clock went too far ahead to be believed; jobs run at most once for that time", "from", r.jump.From, "to", r.jump.To)
	// The clock has stayed there so long that it must be right, so there is nothing to undo.
	case r.high.Sub(was.To) > farAhead:
		r.jump = ClockJump{}
	// Back before the jump: what was done by the wrong time is undone.
	default:
		if err := r.jumps.UndoJump(ctx, was, r.wall); err != nil {
			return fmt.Errorf("take back what was done by a wrong clock: %w", err)
		}
		r.jump = was.Left(r.wall)
		r.log.Warn("the clock is back; what was done by the wrong one is taken back", "from", was.To, "to", r.wall)
	}
	r.high = r.wall
	return nil
}
