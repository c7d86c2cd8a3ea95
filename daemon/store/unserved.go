package store

import (
	"time"

	"hob/daemon/sqlite"
	"hob/scheduler"
)

// endUnserved gives those slots of a job their rows that came due and that nobody will serve any more, because the job is changed in this
// commit: hob was not running, or in safe mode, and then the job was removed or paused, or its schedule is another now. next is the job after
// the change, the zero Job when it has no slots then; a slot at which both are due is served yet. A trigger that waits for no time has no slots.
func endUnserved(tx *Tx, id int64, next scheduler.Job, why string) error {
	rs, err := tx.Query("SELECT "+jobColumns+" FROM triggers WHERE id = ? AND "+ofJobs+" AND removed = 0 AND paused = 0 AND due > 0 AND due <= ?", id, sqlite.Micros(tx.Now))
	list, err := sqlite.Collect(rs, err, scanJob)
	if err != nil || len(list) == 0 || list[0].Due.Equal(sqlite.Time(sqlite.Micros(next.Due))) {
		return err
	}
	old, now := list[0], tx.Now
	f, some, err := scheduler.Slots(old, now)
	spoilt := err != nil || old.Broken != ""
	if spoilt {
		f, some, err = scheduler.Slots(withNewSchedule(old, next), now)
	}
	if err != nil || !some {
		return nil //nolint:nilerr // a row that cannot be used has no slots
	}
	for _, slot := range f.Slots {
		slot.State, slot.Outcome, slot.Reason = scheduler.StateDone, scheduler.MissedOut, why+" before it was served"
		if spoilt { // the owner was told when it was put aside
			slot.Reason, slot.Tell = "the job could not be used", false
		}
		if _, err := addFire(tx, id, slot); err != nil {
			return err
		}
	}
	return nil
}

// withNewSchedule is a job whose row could not be used, by the schedule that it has after the change, as far back as the slot at which it was put
// aside. Periods are counted from there when nobody knows any more when the job was made.
func withNewSchedule(old, next scheduler.Job) scheduler.Job {
	next.Due, next.Last, next.Created = old.Due, old.Last, old.Created
	if next.Created.IsZero() {
		next.Created = old.Due.Truncate(time.Second)
	}
	return next
}
