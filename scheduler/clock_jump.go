package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hob/scheduler/spec"
)

// ClockJump is a period that hob did not live through: the wall clock went forward by more than a minute while hob ran, because the machine
// slept or because the clock was set, or hob was not running. Its length is how far the clock may be ahead since then. When the clock
// goes back by no more than that, it was ahead, and what jobs did in the meantime is undone. A jump of more than 30 days is too large to be true: slots
// inside it run at most once per job.
type ClockJump struct {
	From time.Time `json:"from"`          // last time before it
	To   time.Time `json:"to"`            // first time after it
	Off  bool      `json:"off,omitempty"` // hob was not running
	Set  bool      `json:"set,omitempty"` // the clock was set: the machine has not slept for that long
}

const (
	farAhead  = 30 * 24 * time.Hour // longer than any machine sleeps; if one does, a job with the policy all loses only its second run
	mostJumps = 100                 // jumps that are kept; a laptop sleeps often
	settling  = 10 * time.Minute    // after hob's start; a machine whose clock has no battery sets it then
	unknown   = 50                  // years that a clock may be ahead at the first start
)

// ClockJumps stores the jumps of the clock, and takes back what was done meanwhile.
type ClockJumps interface {
	// Jumps returns the recorded jumps, oldest first, and when the previous run of hob was last seen; zero: there was none.
	Jumps(ctx context.Context) (list []ClockJump, seen time.Time, err error)
	// NoteJumps replaces the record of jumps. If the newest one has a Notice, it tells the owner in the same commit.
	NoteJumps(ctx context.Context, list []ClockJump) error
	// UndoJump undoes what jobs did by a clock that was ahead, now that it has returned to now, in one commit. Slots in the future lose
	// their rows; slots that ran stay on record under another key. Last of each job becomes its newest past slot, and Due the result of
	// DueAfterJump. Holds in the far future are shortened to the longest backoff. UndoJump records the rest of the jumps, and tells the
	// owner.
	UndoJump(ctx context.Context, l ClockJump, rest []ClockJump, now time.Time) error
	// NoteHold tells the owner that the clock went back, and that jobs wait until it shows the time l.To again.
	NoteHold(ctx context.Context, l ClockJump) error
}

// FollowClock makes the runner detect a clock that was wrong. Call it before Run. Without it, every step forward counts as time that has
// passed, and after a step back jobs wait.
func (r *Runner) FollowClock(rows ClockJumps) { r.jumps = rows }

// Key returns what a notice about the jump is stored under. Of jumps that may be true, only the first of a day is told: a virtual machine may be
// paused often.
func (l ClockJump) Key() string {
	if l.Far() {
		return "clock:ahead:" + Key(l.To)
	}
	return "clock:set:" + l.To.Format(time.DateOnly)
}

// Far reports whether a jump is too large to be true.
func (l ClockJump) Far() bool { return !l.Off && l.To.Sub(l.From) > farAhead }

// Notice returns the notice about a jump that is too large to be true, or for which the machine has not slept long enough; "": there is none.
func (l ClockJump) Notice(zone *time.Location) string {
	by, runs := l.To.Sub(l.From).Round(time.Minute), "What came due on the way counts as late or missed"
	switch {
	case l.Far():
		by, runs = by.Round(24*time.Hour), "Each job that came due on the way runs at most once"
	case !l.Set:
		return ""
	}
	return fmt.Sprintf("The clock went ahead by %s, from %s to %s. %s. If that time is wrong, set the clock right: the jobs are then run at their times again.",
		spoken(by), day(l.From, zone), day(l.To, zone), runs)
}

// ReturnNotice returns the notice about a clock that was at To and has returned to now.
func (l ClockJump) ReturnNotice(now time.Time, zone *time.Location) string {
	return fmt.Sprintf("The clock was ahead. It is back from %s to %s: jobs run at their times again. What ran by the wrong time is kept in the record of runs.", day(l.To, zone), day(now, zone))
}

// HoldNotice returns the notice about a clock that went back from To to From, although hob has lived through the time between.
func (l ClockJump) HoldNotice(zone *time.Location) string {
	return fmt.Sprintf("The clock went back from %s to %s, but hob was running in between. Nothing runs a second time: jobs continue at %s. If the clock is wrong now, set it right.",
		day(l.To, zone), day(l.From, zone), day(l.To, zone))
}

func day(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2 Jan 2006 15:04 MST")
}

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
	j.Due, _ = s.Next(latest(from, j.Last, j.Start()), zone, j.Start())
	return j, nil
}

func latest(list ...time.Time) time.Time { return slices.MaxFunc(list, time.Time.Compare) }

// loadJumps loads the jumps of earlier runs. The time since hob was last seen is a jump, too.
func (r *Runner) loadJumps(ctx context.Context) (err error) {
	if r.jumps == nil {
		return nil
	}
	var seen time.Time
	if r.jumped, seen, err = r.jumps.Jumps(ctx); err != nil {
		return fmt.Errorf("read whether the clock has jumped: %w", err)
	}
	// After an error of Run, the runner knows more than its rows.
	if !r.high.IsZero() {
		return nil
	}
	if seen.IsZero() {
		seen = r.wall.AddDate(-unknown, 0, 0)
	}
	r.high = seen
	if n := len(r.jumped); n > 0 {
		r.high = latest(seen, r.jumped[n-1].To)
	}
	r.forward(ClockJump{From: seen, To: r.wall, Off: true})
	return nil
}

// forward notes that the clock went forward; followClock stores it.
func (r *Runner) forward(l ClockJump) {
	l.From = latest(l.From, r.high) // a clock that was behind returns to a time that hob knows
	if r.jumps != nil && l.To.Sub(l.From) > NormalDelay {
		r.jumped, r.unsaved = append(r.jumped, l), true
	}
	r.high = latest(r.high, l.To)
}

// passedOver reports whether a slot was passed over by a jump that is too large to be true.
func (r *Runner) passedOver(due time.Time) bool {
	return slices.ContainsFunc(r.jumped, func(l ClockJump) bool { return l.Far() && !due.After(l.To) })
}

// clockJumped reports whether the clock shows a time at which nothing may be served before followClock has run.
func (r *Runner) clockJumped() bool {
	return r.jumps != nil && (r.unsaved || !r.held && r.high.Sub(r.wall) > NormalDelay)
}

// followClock records jumps of the clock, and takes their effects back when the clock returns.
func (r *Runner) followClock(ctx context.Context) error {
	if r.held && r.high.Sub(r.wall) <= NormalDelay {
		r.held = false
	}
	if !r.clockJumped() {
		return nil
	}
	if r.unsaved {
		r.jumped = believable(r.jumped, r.high)
		if err := r.jumps.NoteJumps(ctx, r.jumped); err != nil {
			return fmt.Errorf("note that the clock has jumped: %w", err)
		}
		r.unsaved = false
	}
	if !r.clockJumped() {
		return nil
	}
	back := ClockJump{From: r.wall, To: r.high}
	rest, from, ahead := shorten(believable(r.jumped, r.high), back)
	if !ahead {
		if err := r.jumps.NoteHold(ctx, back); err != nil {
			return fmt.Errorf("note that the clock went back: %w", err)
		}
		r.held = true
		return nil
	}
	if err := r.jumps.UndoJump(ctx, ClockJump{From: from, To: r.high}, rest, r.wall); err != nil {
		return fmt.Errorf("take back what was done by a wrong clock: %w", err)
	}
	r.log.Warn("the clock is back; what was done by the wrong one is taken back", "from", r.high, "to", r.wall)
	r.jumped, r.high = rest, r.wall
	return nil
}

// believable drops the jumps after which the clock has been used for so long that it must be right.
func believable(list []ClockJump, now time.Time) []ClockJump {
	list = list[max(len(list)-mostJumps, 0):]
	used := time.Duration(0)
	for i := len(list) - 1; i >= 0; i-- {
		if used += now.Sub(list[i].To); used > farAhead {
			return list[i+1:]
		}
		now = list[i].From
	}
	return list
}

// shorten takes a step back of the clock off the newest jumps. It returns the rest of them, and the time from which jobs must be served
// again. ahead is false if the jumps are shorter than the step: the clock cannot have been ahead by that much.
func shorten(list []ClockJump, back ClockJump) (rest []ClockJump, from time.Time, ahead bool) {
	rest, from = slices.Clone(list), back.From
	// A jump whose end is in the future again: what it passed over was never served.
	if i := slices.IndexFunc(list, func(l ClockJump) bool { return l.To.After(back.From) }); i >= 0 && list[i].From.Before(from) {
		from = list[i].From
	}
	by := back.To.Sub(back.From)
	for len(rest) > 0 && by > 0 {
		last := &rest[len(rest)-1]
		length := last.To.Sub(last.From)
		if length > by {
			last.To, by = last.To.Add(-by), 0
			break
		}
		rest, by = rest[:len(rest)-1], by-length
	}
	return rest, from, by <= NormalDelay
}
