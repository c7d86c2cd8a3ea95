package cli

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/text"
)

// Clock shows an instant to the minute; "-" when there is none.
type Clock func(time.Time) string

// OwnersClock formats instants in the owner's zone and names it: "2026-11-21 09:00 CET". It asks the daemon for the zone when it formats the first
// one. Many commands print no instant, and then no request is made.
func OwnersClock(ctx context.Context, c *client.Client) Clock {
	zone := sync.OnceValue(func() *time.Location { return OwnersZone(ctx, c) })
	return func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return console.InZone(t, zone(), false)
	}
}

// ListClock formats instants for a list: "today 14:05", "tomorrow 09:00" in the owner's zone.
func ListClock(ctx context.Context, c *client.Client) Clock {
	zone := sync.OnceValue(func() *time.Location { return OwnersZone(ctx, c) })
	return func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return text.When(t.In(zone()), time.Now(), false)
	}
}

// OwnersZone is the owner's zone by the daemon's status, or the zone of this machine if that fails.
func OwnersZone(ctx context.Context, c *client.Client) *time.Location {
	s, err := client.Show(ctx, c, api.ShowStatus, "")
	if err != nil {
		return time.Local
	}
	return ZoneOrLocal(s.Zone)
}

// Zone is the owner's zone by config.toml, for what is shown while hob may not run. Without one it is the zone of this machine.
func (a *App) Zone() *time.Location {
	home, _, err := a.HomeDir()
	if err != nil {
		return time.Local
	}
	// A file that cannot be read has no zone; hob config validate says what is wrong with it.
	c, _, err := config.Load(filepath.Join(home, "config.toml"), os.Environ())
	if err != nil {
		return time.Local
	}
	return ZoneOrLocal(c.Owner.Timezone)
}

// Exact formats an instant in the owner's zone and names it, with seconds if it has any.
func (a *App) Exact(t time.Time) string { return console.InZone(t, a.Zone(), t.Second() != 0) }

// ZoneOrLocal is the zone of an IANA name, or the zone of this machine if the name is unknown here.
func ZoneOrLocal(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" {
		return time.Local
	}
	return zone
}
