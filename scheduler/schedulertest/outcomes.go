package schedulertest

import (
	"strings"
	"time"

	"hob/scheduler"
)

// This file derives the outcome that each slot must have, from the rules of schedules and the spans of the simulation.

// horizon returns the latest wall time at which a runner was up.
func (y *year) horizon() time.Time {
	latest := time.Time{}
	for _, s := range y.spans {
		if s.until.After(latest) {
			latest = s.until
		}
	}
	return latest
}

// check compares the rows of every job with the slots of the oracle.
func (y *year) check() {
	horizon := y.horizon()
	for _, p := range y.jobs {
		fires, err := y.world.Fires(y.t.Context(), p.job.ID)
		if err != nil {
			y.t.Fatalf("fires of %s: %v", p.job.Name, err)
		}
		rows := map[string]scheduler.Slot{}
		for _, f := range fires {
			if _, twice := rows[f.Key]; twice {
				y.t.Errorf("%s: slot %s has two rows", p.job.Name, f.Key)
			}
			rows[f.Key] = f
		}
		// The oracle looks beyond the horizon, because the limit of a slot depends on the one after it.
		all := p.slots(p.job.Created, horizon.Add(mostLate+time.Minute))
		// Only slots up to the horizon can have rows.
		due := all
		for len(due) > 0 && due[len(due)-1].After(horizon) {
			due = due[:len(due)-1]
		}
		if len(rows) != len(due) {
			y.t.Errorf("%s: %d rows for %d slots", p.job.Name, len(rows), len(due))
		}
		y.checkJob(p, all, len(due), rows)
	}
}

// checkJob checks the due slots in order, in batches of slots that were served at the same moment.
func (y *year) checkJob(p *planned, all []time.Time, due int, rows map[string]scheduler.Slot) {
	open := -1 // the span in which an unfinished run began
	for i := 0; i < due; {
		at, index, ok := y.served(p, all[i], rows)
		if !ok {
			i++
			continue
		}
		// All slots that were due by then were served together.
		n := 1
		for i+n < due && !all[i+n].After(at) {
			n++
		}
		// Runs finish at the end of a span, so a run of the same span is still open.
		b := batch{p: p, at: at, slots: all[i : i+n], busy: open == index}
		if i+n < len(all) {
			b.next = all[i+n]
		}
		for k, slot := range b.slots {
			row, ok := rows[scheduler.Key(slot)]
			if want := b.outcome(k); ok && (row.State != scheduler.StateDone || row.Outcome != want) {
				y.t.Errorf("%s: slot %s of %d served %v late is %s %q (%s), want %q", p.job.Name, row.Key, n, row.Late, row.State, row.Outcome, row.Reason, want)
			}
			// The reason of a run must begin with "caught up" exactly if it was beyond the limit.
			if late := row.Outcome == scheduler.OutcomeRan && b.missed(k); ok && late != strings.HasPrefix(row.Reason, "caught up") {
				y.t.Errorf("%s: slot %s ran %v late with the limit %v and says %q", p.job.Name, row.Key, row.Late, b.limit(), row.Reason)
			}
			if ok && b.outcome(k) == scheduler.OutcomeRan {
				open = index
			}
		}
		i += n
	}
}

// served returns when the row of a slot was made, and in which span. It must be as early as a runner could know.
func (y *year) served(p *planned, due time.Time, rows map[string]scheduler.Slot) (time.Time, int, bool) {
	row, ok := rows[scheduler.Key(due)]
	if !ok {
		y.t.Errorf("%s: slot %s has no row", p.job.Name, scheduler.Key(due))
		return time.Time{}, 0, false
	}
	at := due.Add(row.Late)
	for i, s := range y.spans {
		// A runner that stopped before the slot was due cannot have served it.
		if s.until.Before(due) {
			continue
		}
		// The earliest moment is the due time or the start of the span; slack allows for the sleep before a jump is noticed.
		first, last := latest(due, s.from), latest(due, s.from.Add(s.slack))
		if at.Before(first.Add(-time.Millisecond)) || at.After(last.Add(time.Second)) {
			y.t.Errorf("%s: slot %s was served at %s, it could have been at %s", p.job.Name, row.Key, scheduler.Key(at), scheduler.Key(first))
		}
		return at, i, true
	}
	y.t.Errorf("%s: slot %s was served at %s, before its time had come", p.job.Name, row.Key, scheduler.Key(at))
	return at, 0, false
}

// latest returns the later one of two times.
func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Numbers from the rules.
const (
	mostLate    = 2 * time.Hour
	mostCatchUp = 10
)

// batch are the slots of a job that were served at the same moment.
type batch struct {
	p     *planned
	at    time.Time
	slots []time.Time
	next  time.Time // the slot after them; zero: not within the largest limit
	busy  bool      // an earlier run is not finished
}

// limit separates late from missed: the job's own limit, else half the time to the next slot, at most two hours. A single slot that is to
// be caught up has none.
func (b *batch) limit() time.Duration {
	newest := b.slots[len(b.slots)-1]
	switch {
	case b.p.job.MaxLate > 0:
		return b.p.job.MaxLate
	case b.p.single && (b.p.job.Missed == scheduler.MissedOnce || b.p.job.Missed == scheduler.MissedAll):
		return 1 << 62
	case b.next.IsZero() || b.next.Sub(newest)/2 > mostLate:
		return mostLate
	}
	return b.next.Sub(newest) / 2
}

// missed reports whether slot i was served beyond the limit.
func (b *batch) missed(i int) bool { return b.at.Sub(b.slots[i]) > b.limit() }

// runs reports whether the policy for missed slots lets a slot run.
func (b *batch) runs(i int) bool {
	newest := len(b.slots) - 1
	switch b.p.job.Missed {
	case scheduler.MissedAll:
		return newest-i < mostCatchUp
	case scheduler.MissedOnce:
		return i == newest
	default:
		return i == newest && !b.missed(i)
	}
}

// outcome returns the outcome that a slot must have.
func (b *batch) outcome(i int) scheduler.Outcome {
	newest := len(b.slots) - 1
	switch {
	case b.runs(i) && b.busy && b.p.job.Overlap == scheduler.OverlapFold:
		return scheduler.OutcomeCoalesced // into the earlier run
	case b.runs(i):
		return scheduler.OutcomeRan
	case b.runs(newest) && (b.p.job.Missed == scheduler.MissedOnce || !b.missed(i)):
		return scheduler.OutcomeCoalesced // into the newest
	}
	return scheduler.OutcomeMissed
}
