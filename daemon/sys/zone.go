package sys

import (
	"sync"
	"time"
)

// mostZones bounds the zones that LoadZone keeps.
const mostZones = 64

// zones keeps the time zones that were loaded.
type zones struct {
	mu   sync.Mutex
	kept map[string]*time.Location
}

var loadedZones = sync.OnceValue(func() *zones { return &zones{kept: map[string]*time.Location{}} })

// LoadZone is time.LoadLocation with a memory: that opens the zone's file at each call. A zone that was loaded once keeps its rules until the
// process ends.
func LoadZone(name string) (*time.Location, error) {
	z := loadedZones()
	z.mu.Lock()
	defer z.mu.Unlock()
	if zone := z.kept[name]; zone != nil {
		return zone, nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil && len(z.kept) < mostZones {
		z.kept[name] = zone
	}
	return zone, err
}
