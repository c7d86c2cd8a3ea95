package cli

import (
	"context"
	"sync"
	"time"

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
	if err != nil || s.Zone == "" {
		return time.Local
	}
	zone, err := time.LoadLocation(s.Zone)
	if err != nil {
		return time.Local
	}
	return zone
}
