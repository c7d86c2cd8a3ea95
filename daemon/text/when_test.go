package text_test

import (
	"testing"
	"time"

	"hob/daemon/text"
)

func TestWhen(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	// The night after this Saturday has 25 hours.
	now := time.Date(2026, 10, 24, 23, 30, 0, 0, berlin)
	for _, c := range []struct {
		after   time.Duration
		seconds bool
		want    string
	}{
		{time.Millisecond, false, "in 1 s"},
		{40 * time.Second, false, "in 40 s"},
		{3*time.Minute + 20*time.Second, false, "in 3 min"},
		{59 * time.Minute, false, "in 59 min"},
		{time.Hour, false, "tomorrow 00:30"},
		{25 * time.Hour, false, "tomorrow 23:30"},
		{26 * time.Hour, false, "Mon 26 Oct 00:30"},
		{0, false, "today 23:30"},
		{-time.Second, true, "today 23:29:59"},
		{-24 * time.Hour, false, "yesterday 23:30"},
		{-48 * time.Hour, true, "Thu 22 Oct 23:30:00"},
		{75 * 24 * time.Hour, false, "Thu 7 Jan 2027 22:30"},
	} {
		at := now.Add(c.after)
		if got := text.Soon(at, now.UTC(), c.seconds); got != c.want {
			t.Errorf("%s from now: %q, want %q", c.after, got, c.want)
		}
		if near := c.after > 0 && c.after < time.Hour; !near && text.When(at, now.UTC(), c.seconds) != c.want {
			t.Errorf("%s from now: When is %q, want %q", c.after, text.When(at, now.UTC(), c.seconds), c.want)
		}
	}
	if got := text.When(now.Add(time.Minute), now, false); got != "today 23:31" {
		t.Errorf("in a minute: %q", got)
	}
}
