package channels_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"hob/channels"
)

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestHours(t *testing.T) {
	for _, tc := range []struct{ hours, at, want string }{
		{"22:00-07:00", "2026-11-21T21:59:59+01:00", ""},
		{"22:00-07:00", "2026-11-21T22:00:00+01:00", "2026-11-22T07:00:00+01:00"},
		{"22:00-07:00", "2026-11-22T06:59:59+01:00", "2026-11-22T07:00:00+01:00"},
		{"22:00-07:00", "2026-11-22T07:00:00+01:00", ""},
		{"13:00-14:30", "2026-11-21T13:20:11+01:00", "2026-11-21T14:30:00+01:00"},
		{"13:00-14:30", "2026-11-21T14:30:00+01:00", ""},
		{"13:00-00:00", "2026-11-21T23:59:00+01:00", "2026-11-22T00:00:00+01:00"},
		{"22:00-02:30", "2026-03-29T01:30:00+01:00", "2026-03-29T03:00:00+02:00"}, // there is no 02:30
		{"22:00-02:30", "2026-10-25T02:10:00+02:00", "2026-10-25T02:30:00+02:00"}, // the first one of two
		{"22:00-02:30", "2026-10-25T02:10:00+01:00", "2026-10-25T02:30:00+01:00"}, // and the second
		{"", "2026-11-21T00:00:00+01:00", ""},
	} {
		hours, err := channels.ParseHours(tc.hours)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, tc.at)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if end := hours.End(at, berlin(t)); !end.IsZero() {
			got = end.In(berlin(t)).Format(time.RFC3339)
		}
		if got != tc.want {
			t.Errorf("%s at %s: quiet until %q, want %q", tc.hours, tc.at, got, tc.want)
		}
	}
	for _, bad := range []string{"22:00", "22:00-22:00", "25:00-07:00", "22-7", "-", "22:00-07:00 ", "22:00 - 07:00"} {
		if _, err := channels.ParseHours(bad); err == nil {
			t.Errorf("%q is taken for quiet hours", bad)
		}
	}
}

// The end of quiet hours is in the future, is not quiet, and everything before it is quiet.
func TestHoursEnd(t *testing.T) {
	zone := berlin(t)
	clock := rapid.Custom(func(t *rapid.T) string {
		return time.Unix(int64(rapid.IntRange(0, 24*60-1).Draw(t, "minute"))*60, 0).UTC().Format("15:04")
	})
	rapid.Check(t, func(t *rapid.T) {
		from, to := clock.Draw(t, "from"), clock.Draw(t, "to")
		hours, err := channels.ParseHours(from + "-" + to)
		if (err != nil) != (from == to) {
			t.Fatalf("%s-%s: %v", from, to, err)
		}
		at := time.Date(2026, time.March, 28, 0, 0, rapid.IntRange(0, 3*24*3600).Draw(t, "at"), 0, zone) // over a change of clocks
		end := hours.End(at, zone)
		if end.IsZero() {
			return
		}
		if !end.After(at) || end.Sub(at) > 25*time.Hour {
			t.Errorf("%s-%s at %s: the end is %s", from, to, at, end)
		}
		if !hours.End(end, zone).IsZero() {
			t.Errorf("%s-%s: its end %s is quiet", from, to, end)
		}
		between := at.Add(time.Duration(rapid.Int64Range(0, int64(end.Sub(at))-1).Draw(t, "between")))
		if !hours.End(between, zone).Equal(end) {
			t.Errorf("%s-%s: %s is quiet until %s, and %s until %s", from, to, at, end, between, hours.End(between, zone))
		}
	})
}
