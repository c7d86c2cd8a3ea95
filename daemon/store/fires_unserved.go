package store

import (
	"time"

	"hob/daemon/sqlite"
	"hob/scheduler"
)

// missUnserved writes rows for the slots of a job that came due but can no longer be served, because the current commit changes the job. hob
// was not running or in safe mode, and then the job was removed, paused or given another schedule. next is the job after the change; the
// zero Job has no slots. A slot that is due under both schedules is still served. A trigger without a schedule has no slots.
func missUnserved(tx *Tx, id int64, next scheduler.Job, why string) error {
	rs, err := tx.Query("SELECT "+jobColumns+" FROM triggers WHERE id = ? AND "+ofJobs+" AND removed = 0 AND paused = 0 AND due > 0 AND due <= ?", id, sqlite.Micros(tx.Now))
	list, err := sqlite.Collect(rs, err, scanJob)
	if err != nil || len(list) == 0 || list[0].Due.Equal(sqlite.Time(sqlite.Micros(next.Due))) {
		return err
	}
	old, now := list[0], tx.Now
	f, some, err := scheduler.Slots(old, now)
	// Without a usable old schedule, the new one tells which slots were due.
	spoilt := err != nil || old.Broken != ""
	if spoilt {
		f, some, err = scheduler.Slots(withNewSchedule(old, next), now)
	}
	if err != nil || !some {
		return nil //nolint:nilerr // an unusable row has no slots
	}
	for _, slot := range f.Slots {
		slot.State, slot.Outcome, slot.Reason = scheduler.StateDone, scheduler.OutcomeMissed, why+" before it was served"
		if spoilt { // the owner was told when the job was disabled
			slot.Reason, slot.Tell = "the job could not be used", false
		}
		if _, err := addFire(tx, id, slot); err != nil {
			return err
		}
	}
	return nil
}

// withNewSchedule returns a job whose row was unusable, with its new schedule, from the slot at which it was disabled. If the creation time
// is unknown, periods count from there.
func withNewSchedule(old, next scheduler.Job) scheduler.Job {
	next.Due, next.Last, next.Created = old.Due, old.Last, old.Created
	if next.Created.IsZero() {
		next.Created = old.Due.Truncate(time.Second)
	}
	return next
}
