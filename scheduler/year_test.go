package scheduler_test

import (
	"testing"
	_ "time/tzdata"

	"hob/daemon/clock"
	"hob/scheduler/schedulertest"
)

func TestYear(t *testing.T) {
	days := 365
	if testing.Short() {
		days = 100
	}
	for seed := range uint64(1) {
		var store *schedulertest.Memory
		schedulertest.Year(t, seed, days, func(*testing.T, clock.Clock) schedulertest.World {
			if store == nil {
				store = schedulertest.NewMemory() // inside the bubble, or its channel would hold up time
			}
			return schedulertest.World{
				Store: store, Changed: store.Changed(), Put: store.Put, Fires: store.Fires, Finish: store.Finish,
				Close: func() error { return nil },
			}
		})
	}
}
