package scheduler

import (
	"fmt"
	"strconv"
	"time"

	"hob/daemon/event"
	"hob/scheduler/spec"
)

// Limits of one catch-up.
const (
	maxSlotRows    = 10_000        // rows for single slots; older slots share a row
	maxMissedRuns  = 10            // limit of runs with MissedAll
	maxDefaultLate = 2 * time.Hour // limit of the default for MaxLate
	unlimited      = time.Duration(1<<63 - 1)
)

// Slots computes what is due of a job at now: every slot from j.Due to now as a row, those that run, and the job with its new Last and Due.
// It returns false if nothing is due, or the job is paused or broken; Firing.Job.Due is then the next slot without a row. It is pure; the
// caller commits the Firing.
//
// A slot runs late while it is not older than the job's limit: MaxLate, or by default half the time to the next slot and at most two hours.
// Beyond the limit it is missed. Of several slots the newest runs. If the newest is missed, the policy decides: once runs it anyway; skip
// runs nothing; ask asks the owner (about older slots even if the newest is not missed); all runs the newest ten. A single "at" has no
// limit, unless MaxLate sets one or the policy is skip or ask (then two hours). Slots that do not run also become rows: coalesced if a
// newer one represents them, otherwise missed. A run is told how many earlier slots were missed. Restarts, suspends and a clock set forward
// are treated alike, as time in which no slot was served. With a clock set back nothing is due, because Due is in the future.
//
// The error is the reason that the job's row cannot be used.
func Slots(j Job, now time.Time) (Firing, bool, error) {
	zone, err := Zone(j.Zone)
	if err != nil {
		return Firing{}, false, err
	}
	return slotsIn(j, zone, wake{now: now})
}

// wake is the runner's view of the time when it serves a job.
type wake struct {
	now      time.Time
	jumped   bool      // the clock jumped over the due slots: at most one runs, and the others share a row
	unstored time.Time // since when fires of the job could not be committed; zero: they could
}

// slotsIn is Slots with a loaded zone.
func slotsIn(j Job, zone *time.Location, w wake) (Firing, bool, error) {
	now := w.now
	s, err := spec.Parse(j.Spec)
	if err != nil {
		return Firing{}, false, err
	}
	if err := usable(j); err != nil {
		return Firing{}, false, err
	}
	// The clock may have been put back: slots before the last one have been served.
	first := j.Due
	if !first.IsZero() && !first.After(j.Last) {
		first, _ = s.Next(j.Last, zone, j.Start())
	}
	if first.IsZero() || first.After(now) || j.Paused || j.Broken != "" {
		j.Due = first
		return Firing{Job: j}, false, nil
	}
	c := dueSlots{job: j, now: now, zone: zone, runs: maxMissedRuns, stalled: w.unstored}
	// After a jump that nobody believes each job runs at most once.
	rows := int64(maxSlotRows)
	if w.jumped {
		rows, c.runs = 1, 1
	}
	// Only the newest slots get rows. The first one stands for all older ones.
	c.list, c.older = s.Overdue(first, now, zone, j.Start(), rows)
	if c.older > 0 {
		c.list = append([]time.Time{first}, c.list...)
	}
	newest := c.list[len(c.list)-1]
	// The limit of lateness depends on the distance to the next slot.
	next, _ := s.Next(newest, zone, j.Start())
	c.limit = lateLimit(j, s, newest, next)
	f := c.firing()
	f.From = j.Due
	f.Job.Last, f.Job.Due = newest, next
	return f, true, nil
}

// usable checks values that New would not have accepted.
func usable(j Job) error {
	switch {
	case j.Session != SessionAuto && j.Session != "main" && j.Session != "isolated":
		return fmt.Errorf("session %q: want auto, main or isolated", j.Session)
	case j.Missed != MissedOnce && j.Missed != MissedSkip && j.Missed != MissedAll && j.Missed != MissedAsk:
		return fmt.Errorf("missed %q: want once, skip, all or ask", j.Missed)
	case j.MaxLate < 0:
		return fmt.Errorf("max-late %v is below zero", j.MaxLate)
	}
	return nil
}

// lateLimit returns how late the newest slot may be before it counts as missed. An older slot is late by more than the time to the next
// one, so by default it is always missed.
func lateLimit(j Job, s spec.Spec, slot, next time.Time) time.Duration {
	switch {
	case j.MaxLate > 0:
		return j.MaxLate
	case !s.Recurring() && (j.Missed == MissedOnce || j.Missed == MissedAll):
		return unlimited
	case next.IsZero():
		return maxDefaultLate
	}
	return min(next.Sub(slot)/2, maxDefaultLate)
}

// dueSlots computes the Firing of one job at one wake.
type dueSlots struct {
	job   Job
	now   time.Time
	zone  *time.Location
	list  []time.Time // due slots, oldest first
	older int64       // number of slots that list[0] represents, if more than one
	limit time.Duration
	runs  int // limit for the policy all

	stalled time.Time // since when fires could not be committed; zero: they could
}

// late returns how late a slot is; missed reports whether that is over the limit. The first slot is missed if it represents older ones.
func (c *dueSlots) late(i int) time.Duration { return max(c.now.Sub(c.list[i]), 0) }
func (c *dueSlots) missed(i int) bool        { return c.late(i) > c.limit || i == 0 && c.older > 0 }

// unstored reports whether a slot would have been in time if it could have been committed.
func (c *dueSlots) unstored(i int) bool {
	return !c.stalled.IsZero() && c.list[i].After(c.stalled.Add(-NormalDelay))
}

// wall formats an instant in the job's zone.
func (c *dueSlots) wall(t time.Time) string {
	form := "2006-01-02 15:04 MST"
	if t.Second() != 0 {
		form = "2006-01-02 15:04:05 MST"
	}
	return t.In(c.zone).Format(form)
}

// firstRun returns the index of the first slot that runs; all later ones run, too. len(list) means none.
func (c *dueSlots) firstRun() int {
	last := len(c.list) - 1
	switch {
	case c.job.Missed == MissedAll:
		first := max(len(c.list)-c.runs, 0)
		// The first row stands for older slots, so it does not run.
		if c.older > 0 {
			first = max(first, 1)
		}
		return first
	case c.job.Missed == MissedOnce || !c.missed(last):
		return last
	}
	return len(c.list)
}

// firing returns the rows for the slots that came due. Slots from firstRun on run, with the gate or without; the others end with their
// outcome.
func (c *dueSlots) firing() Firing {
	f := Firing{Job: c.job}
	first := c.firstRun()
	for i, due := range c.list {
		slot := Slot{Key: Key(due), Due: due, Late: c.late(i), Limit: c.limit, Tell: c.late(0) > NormalDelay, StoreFailed: c.unstored(i)}
		if c.limit == unlimited {
			slot.Limit = 0
		}
		// The oldest row stands for all slots before it: a job that was due every minute does not get thousands of rows after a month.
		if i == 0 && c.older > 1 {
			slot.Represents = c.older
		}
		if i >= first {
			slot.State = StateQueued
			if c.missed(i) {
				slot.Reason = "caught up " + spoken(slot.Late) + " late"
			}
			slot.Note = c.note(i, first)
			if c.job.Gate.Always() {
				f.Run = append(f.Run, Queued{Slot: i, In: Input(c.job, slot.Key, slot.Note, c.now)})
			} else {
				slot.State = StateDue // the evaluation of the gate adds the inbox row
			}
		} else {
			slot.State = StateDone
			slot.Outcome, slot.Reason = c.unrun(i, first)
			slot.Tell = slot.Tell || slot.Outcome == OutcomeMissed // it is lost, however short the interruption was
		}
		f.Slots = append(f.Slots, slot)
	}
	if c.job.Missed == MissedAsk {
		f.Ask = c.question(first)
	}
	return f
}

// unrun returns the outcome and reason of a slot that does not run.
func (c *dueSlots) unrun(i, first int) (Outcome, string) {
	outcome, reason := OutcomeMissed, ""
	switch {
	case first < len(c.list) && (c.job.Missed == MissedOnce || !c.missed(i)):
		outcome, reason = OutcomeCoalesced, "the slot of "+c.wall(c.list[first])+" replaces it" // whatever its outcome is: its gate may be closed
	case c.job.Missed == MissedAll:
		reason = "only the newest " + map[bool]string{true: "is", false: strconv.Itoa(c.runs) + " are"}[c.runs == 1] + " caught up"
	case c.job.Missed == MissedAsk:
		reason = "the owner was asked"
	default:
		reason = fmt.Sprintf("%s late, the limit is %s", spoken(c.late(i)), spoken(c.limit))
	}
	if i == 0 && c.older > 1 {
		reason = fmt.Sprintf("one row for the oldest %d slots, %s and after; %s", c.older, c.wall(c.list[0]), reason)
	}
	return outcome, reason
}

// missedBefore counts the missed slots before a run, and those of them that could not be committed. A short interruption is not reported to
// the model.
func (c *dueSlots) missedBefore(first int) (n, unstored int64) {
	if c.late(0) <= NormalDelay {
		return 0, 0
	}
	// The loop counts the first row itself; here are the other slots that it represents.
	n = max(c.older-1, 0)
	if c.unstored(0) {
		unstored = n
	}
	for i := range first {
		if c.missed(i) {
			n++
			if c.unstored(i) {
				unstored++
			}
		}
	}
	return n, unstored
}

// note tells the first slot that runs how many were missed before it, and why; "" if none.
func (c *dueSlots) note(i, first int) string {
	n, unstored := c.missedBefore(first)
	if n == 0 || i != first {
		return ""
	}
	why := "was not running"
	switch {
	case unstored == n:
		why = "could not write to its disk"
	case unstored > 0:
		why += " or could not write to its disk"
	}
	if n == 1 {
		return "(1 earlier run of this job was missed while hob " + why + ".)"
	}
	return fmt.Sprintf("(%d earlier runs of this job were missed while hob %s.)", n, why)
}

// question asks about the missed slots, even if a newer one runs by itself; "" if there are none.
func (c *dueSlots) question(first int) string {
	n, last := max(c.older-1, 0), -1
	for i := range first {
		if c.missed(i) {
			n, last = n+1, i
		}
	}
	if last < 0 {
		return ""
	}
	at := c.list[last].In(c.zone).Format("Mon 2 Jan 15:04")
	missed, run := "its run of "+at, "Run it now?"
	if n > 1 {
		missed, run = fmt.Sprintf("%d runs, the last one on %s", n, at), "Run it once now?"
	}
	if first < len(c.list) {
		run = "The one of " + c.list[first].In(c.zone).Format("Mon 2 Jan 15:04") + " is in time. Run it once more now?"
	}
	return fmt.Sprintf("Job %s missed %s. %s", c.job.Name, missed, run)
}

// NormalDelay is the delay that is normal. A slot that is served later was delayed by downtime or a clock change.
const NormalDelay = time.Minute

// Key returns the key of a slot: its instant as RFC 3339 in UTC.
func Key(due time.Time) string { return due.UTC().Format(time.RFC3339Nano) }

// Input returns the inbox row of a slot that runs. The note follows the prompt. The store adds until when it waits after failures.
func Input(j Job, key, note string, now time.Time) event.In {
	// The row differs from that of a manual run only in its id and the note.
	in := ByHand(j, "", now)
	in.ExtID = fmt.Sprintf("job:%d:%s", j.ID, key)
	if note != "" {
		in.Parts = append(in.Parts, event.Say(note)...)
	}
	return in
}
