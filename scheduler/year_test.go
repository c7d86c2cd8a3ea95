package scheduler_test

import (
	"flag"
	"testing"
	_ "time/tzdata"

	"hob/daemon/sys"
	"hob/scheduler/schedulertest"
)

var (
	days = flag.Int("days", 52, "days of the simulated year; 365 for all of it")
	seed = flag.Uint64("seed", 1, "seed of the simulated year")
)

func TestYear(t *testing.T) {
	length := *days
	if testing.Short() {
		length = min(length, 26) // over the changes in New York and Berlin
	}
	var store *schedulertest.Memory
	schedulertest.Year(t, *seed, length, func(*testing.T, sys.Clock) schedulertest.World {
		if store == nil {
			store = schedulertest.NewMemory() // inside the bubble, or its channel would hold up time
		}
		return schedulertest.World{
			Store: store, Changed: store.Changed(), Put: store.Put, Fires: store.Fires, Finish: store.Finish,
			Close: func() error { return nil },
		}
	})
}
