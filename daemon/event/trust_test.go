package event_test

import (
	"testing"

	"hob/daemon/event"
)

// A text of the owner that may hold foreign text is Public. A machine's stays a machine's.
func TestTrustOfForeignText(t *testing.T) {
	for trust, want := range map[event.Trust]event.Trust{event.Owner: event.Public, event.Known: event.Public, event.Public: event.Public, event.Machine: event.Machine} {
		if got := trust.Of(true); got != want {
			t.Errorf("%s with foreign text: %s, want %s", trust, got, want)
		}
		if got := trust.Of(false); got != trust {
			t.Errorf("%s: %s, want the same", trust, got)
		}
	}
}
