package phrase_test

import (
	"strings"
	"testing"
	"time"

	"hob/scheduler/phrase"
)

// TestAPassedTimeNamesItsClock: the zone of the machine has no name in Go but "Local", which tells nobody anything.
func TestAPassedTimeNamesItsClock(t *testing.T) {
	t.Parallel()
	for zone, want := range map[*time.Location]string{
		time.Local: "(it is 21 Nov 2026 18:30 on this machine)",
		time.UTC:   "(it is 21 Nov 2026 18:30 in UTC)",
	} {
		_, err := phrase.Resolve("today at 5pm", zone, time.Date(2026, 11, 21, 18, 30, 0, 0, zone))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("in %s: %v", zone, err)
		}
	}
}
