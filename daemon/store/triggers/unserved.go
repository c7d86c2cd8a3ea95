package triggers

import (
	"time"

	"hob/daemon/store/db"
	"hob/scheduler"
)

// unserved gives those slots of a job their rows that came due and that nobody will serve any more, because the job is changed in this
// commit: hob was not running, or in safe mode, and then the job was removed or paused, or its schedule is another now. due is the next slot after the
// change; one that stays as it was is served yet. A trigger that waits for no time has no slots.
func unserved(tx Tx, id int64, due time.Time, why string) error {
	rs, err := tx.Rows().Query("SELECT "+jobColumns+" FROM triggers WHERE id = ? AND "+ofJobs+" AND removed = 0 AND paused = 0 AND broken = '' AND due > 0 AND due <= ?", id, db.Micros(tx.Rows().Now))
	list, err := db.Collect(rs, err, scanJob)
	if err != nil || len(list) == 0 || list[0].Due.Equal(db.Time(db.Micros(due))) {
		return err
	}
	f, some, err := scheduler.Slots(list[0], tx.Rows().Now)
	if err != nil || !some {
		return nil //nolint:nilerr // a row that cannot be used has no slots
	}
	for _, slot := range f.Slots {
		slot.State, slot.Outcome, slot.Reason = scheduler.StateDone, scheduler.MissedOut, why+" before it was served"
		if _, err := addFire(tx, id, slot); err != nil {
			return err
		}
	}
	return nil
}
