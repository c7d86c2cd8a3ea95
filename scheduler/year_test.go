package scheduler_test

import (
	"testing"
	_ "time/tzdata"

	"hob/daemon/clock"
	"hob/scheduler/schedulertest"
)

func TestYear(t *testing.T) {
	for seed := range uint64(3) {
		store := schedulertest.NewMemory()
		schedulertest.Year(t, seed, 365, func(*testing.T, clock.Clock) schedulertest.World {
			return schedulertest.World{
				Store: store, Changed: store.Changed(), Put: store.Put, Fires: store.Fires, Finish: store.Finish,
				Close: func() error { return nil },
			}
		})
	}
}
