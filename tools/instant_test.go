package tools_test

import (
	"testing"
	"time"

	"hob/tools"
)

// N32: people and models read times in the owner's zone.
func TestShownInTheOwnersZone(t *testing.T) {
	at := time.Date(2026, 11, 29, 8, 0, 0, 0, time.UTC)
	for zone, want := range map[string]string{"Europe/Berlin": "2026-11-29 09:00 CET", "Asia/Tokyo": "2026-11-29 17:00 JST", "": "2026-11-29 08:00 UTC", "Nowhere": "2026-11-29 08:00 UTC"} {
		if got := (tools.Call{Zone: zone}).Shown(at); got != want {
			t.Errorf("%s: %q, want %q", zone, got, want)
		}
	}
}
