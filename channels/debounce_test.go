package channels_test

import (
	"testing"
	"time"

	"hob/channels"
)

// Messages wait half a second after the newest one, at most three seconds, and at most twenty wait.
func TestBurst(t *testing.T) {
	for name, c := range map[string]struct {
		since    time.Duration // of the first
		messages int
		want     time.Duration
	}{
		"the first":                       {0, 1, 500 * time.Millisecond},
		"the second":                      {400 * time.Millisecond, 2, 500 * time.Millisecond},
		"long after the first":            {2700 * time.Millisecond, 7, 300 * time.Millisecond},
		"after three seconds":             {3100 * time.Millisecond, 8, -100 * time.Millisecond},
		"the last that waits":             {time.Second, 19, 500 * time.Millisecond},
		"too many":                        {time.Second, 20, 0},
		"the first comes from the future": {-time.Hour, 2, 0},
	} {
		if got := channels.Debounce(start.Add(-c.since), c.messages, start).Sub(start); got != c.want {
			t.Errorf("%s: waits %s, want %s", name, got, c.want)
		}
	}
}
