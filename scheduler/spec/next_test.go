package spec_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"hob/scheduler/spec"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func parse(t testing.TB, text string) spec.Spec {
	t.Helper()
	s, err := spec.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNextAtClockChanges(t *testing.T) {
	for _, c := range []struct{ name, zone, spec, after, want string }{
		{"inside the gap", "America/New_York", "30 2 * * *", "2026-03-08T00:00", "2026-03-08T03:00 2026-03-09T02:30"},
		{"several times in the gap run once", "America/New_York", "*/20 2 * * *", "2026-03-08T00:00", "2026-03-08T03:00 2026-03-09T02:00"},
		{"the gap's end is a time itself", "America/New_York", "0 2,3 * * *", "2026-03-08T00:00", "2026-03-08T03:00 2026-03-09T02:00"},
		{"fold, first pass only", "America/New_York", "30 1 * * *", "2026-11-01T00:00", "2026-11-01T01:30 2026-11-02T01:30"},
		{"asked in the second pass", "America/New_York", "30 1 * * *", "2026-11-01T06:10Z", "2026-11-02T01:30"},
		{"asked in the second pass, elapsed", "America/New_York", "30 * * * *", "2026-11-01T06:10Z", "2026-11-01T01:30 2026-11-01T02:30"},
		{"fold, elapsed", "America/New_York", "30 * * * *", "2026-11-01T00:31", "2026-11-01T01:30 2026-11-01T01:30 2026-11-01T02:30"},
		{"gap, elapsed", "America/New_York", "30 * * * *", "2026-03-08T00:31", "2026-03-08T01:30 2026-03-08T03:30"},
		{"gap, elapsed in steps", "America/New_York", "0 */2 * * *", "2026-03-08T00:01", "2026-03-08T04:00"},
		{"minute star is a fixed hour", "America/New_York", "*/30 1 * * *", "2026-11-01T00:00", "2026-11-01T01:00 2026-11-01T01:30 2026-11-02T01:00"},
		{"gap", "Europe/Berlin", "30 2 * * *", "2026-03-29T00:00", "2026-03-29T03:00 2026-03-30T02:30"},
		{"fold", "Europe/Berlin", "30 2 * * *", "2026-10-25T00:00", "2026-10-25T02:30 2026-10-26T02:30"},
		{"half an hour's gap", "Australia/Lord_Howe", "15 2 * * *", "2026-10-04T00:00", "2026-10-04T02:30 2026-10-05T02:15"},
		{"half an hour's fold", "Australia/Lord_Howe", "45 1 * * *", "2026-04-05T00:00", "2026-04-05T01:45 2026-04-06T01:45"},
		{"half an hour's fold, elapsed", "Australia/Lord_Howe", "*/30 * * * *", "2026-04-05T01:01", "2026-04-05T01:30 2026-04-05T01:30 2026-04-05T02:00"},
		{"gap at midnight", "Africa/Cairo", "0 0 * * *", "2026-04-23T12:00", "2026-04-24T01:00 2026-04-25T00:00"},
		{"gap at midnight", "Asia/Beirut", "30 0 * * *", "2026-03-28T12:00", "2026-03-29T01:00 2026-03-30T00:30"},
		{"gap at midnight", "America/Havana", "0 0 * * *", "2026-03-07T12:00", "2026-03-08T01:00 2026-03-09T00:00"},
		{"fold at midnight", "America/Havana", "30 0 * * *", "2026-10-31T12:00", "2026-11-01T00:30 2026-11-02T00:30"},
		{"a day that never was", "Pacific/Apia", "0 9 * * *", "2011-12-29T08:00", "2011-12-29T09:00 2011-12-31T00:00 2011-12-31T09:00"},
		{"winter is the exception", "Europe/Dublin", "30 1 * * *", "2026-03-29T00:00", "2026-03-29T02:00 2026-03-30T01:30"},
		{"fold", "Europe/Dublin", "30 1 * * *", "2026-10-25T00:00", "2026-10-25T01:30 2026-10-26T01:30"},
		{"Ramadan's fold", "Africa/Casablanca", "30 2 * * *", "2026-02-15T00:00", "2026-02-15T02:30 2026-02-16T02:30"},
		{"Ramadan's gap", "Africa/Casablanca", "30 2 * * *", "2026-03-22T00:00", "2026-03-22T03:00 2026-03-23T02:30"},
		{"day or weekday", "UTC", "0 0 13 * 5", "2026-02-01T00:00", "2026-02-06T00:00 2026-02-13T00:00 2026-02-20T00:00"},
		{"leap day", "Europe/Berlin", "0 0 29 2 *", "2026-01-01T00:00", "2028-02-29T00:00 2032-02-29T00:00"},
		{"over 2100, which has none", "UTC", "0 0 29 2 *", "2097-01-01T00:00", "2104-02-29T00:00"},
		{"31 December of a leap year, past the table", "America/New_York", "0 9 * * *", "2096-12-30T10:00", "2096-12-31T09:00 2097-01-01T09:00"},
		{"the same, elapsed", "America/New_York", "0 */12 * * *", "2096-12-31T01:00", "2096-12-31T12:00 2097-01-01T00:00"},
		{"seconds", "UTC", "*/20 59 23 31 12 *", "2026-12-31T23:59", "2026-12-31T23:59:20 2026-12-31T23:59:40 2027-12-31T23:59"},
		{"the last day of the month", "Europe/Berlin", "0 12 L * *", "2028-01-31T12:00", "2028-02-29T12:00 2028-03-31T12:00 2028-04-30T12:00"},
		{"the last day of February", "UTC", "0 12 L 2 *", "2026-01-01T00:00", "2026-02-28T12:00 2027-02-28T12:00 2028-02-29T12:00"},
		{"first, middle and last", "UTC", "0 0 1,15,L * *", "2026-04-01T00:00", "2026-04-15T00:00 2026-04-30T00:00 2026-05-01T00:00"},
		{"the last Friday", "America/New_York", "0 17 * * 5L", "2026-01-01T00:00", "2026-01-30T17:00 2026-02-27T17:00 2026-03-27T17:00"},
		{"the last Sunday, when clocks change", "Europe/Berlin", "30 2 * * 7L", "2026-02-23T00:00", "2026-03-29T03:00 2026-04-26T02:30"},
		{"the last Sunday, when clocks change back", "Europe/Berlin", "30 2 * * sunL", "2026-10-01T00:00", "2026-10-25T02:30 2026-11-29T02:30"},
		{"the first Monday", "Europe/Berlin", "0 10 * * 1#1", "2026-11-02T10:00", "2026-12-07T10:00 2027-01-04T10:00 2027-02-01T10:00"},
		{"the fifth Friday", "UTC", "0 10 * * fri#5", "2026-01-01T00:00", "2026-01-30T10:00 2026-05-29T10:00 2026-07-31T10:00"},
		{"a fifth Friday in February", "UTC", "0 10 * 2 5#5", "2009-01-01T00:00", "2036-02-29T10:00 2064-02-29T10:00"},
		{"second and fourth Tuesday", "UTC", "0 9 * * 2#2,2#4", "2026-11-01T00:00", "2026-11-10T09:00 2026-11-24T09:00 2026-12-08T09:00"},
		{"the 13th or the first Friday", "UTC", "0 0 13 * 5#1", "2026-02-01T00:00", "2026-02-06T00:00 2026-02-13T00:00 2026-03-06T00:00"},
		{"the last day or a Monday", "UTC", "0 0 L * 1", "2026-11-23T00:00", "2026-11-30T00:00 2026-12-07T00:00"},
		{"every other Tuesday", "Europe/Berlin", "0 9 * * 2 every 2 weeks from 2026-11-24", "2026-11-01T00:00", "2026-11-24T09:00 2026-12-08T09:00 2026-12-22T09:00 2027-01-05T09:00"},
		{"every other week on two days", "UTC", "0 9 * * 1,5 every 2 weeks from 2026-11-27", "2026-11-01T00:00", "2026-11-27T09:00 2026-12-07T09:00 2026-12-11T09:00 2026-12-21T09:00"},
		{"every other Sunday is in the week that began on Monday", "UTC", "0 9 * * 0,1 every 2 weeks from 2026-11-23", "2026-11-01T00:00", "2026-11-23T09:00 2026-11-29T09:00 2026-12-07T09:00"},
		{"every other day, over the end of a month", "UTC", "0 7 * * * every 2 days from 2026-11-29", "2026-11-01T00:00", "2026-11-29T07:00 2026-12-01T07:00 2026-12-03T07:00"},
		{"every other day, over a gap", "Europe/Berlin", "30 2 * * * every 2 days from 2026-03-27", "2026-03-01T00:00", "2026-03-27T02:30 2026-03-29T03:00 2026-03-31T02:30"},
		{"every other day, over a fold", "Europe/Berlin", "30 2 * * * every 2 days from 2026-10-23", "2026-10-23T12:00", "2026-10-25T02:30 2026-10-27T02:30"},
		{"every other day without the one that never was", "Pacific/Apia", "0 9 * * * every 2 days from 2011-12-28", "2011-12-28T12:00", "2011-12-31T00:00 2012-01-01T09:00"},
		{"a whole other day by the hour, over a fold", "Europe/Berlin", "0 */12 * * * every 2 days from 2026-10-25", "2026-10-24T12:00", "2026-10-25T00:00 2026-10-25T12:00 2026-10-27T00:00"},
		{"every 100 days, before 1970", "UTC", "0 0 * * * every 100 days from 1969-11-01", "1960-01-01T00:00", "1969-11-01T00:00 1970-02-09T00:00"},
		{"every quarter", "UTC", "0 9 31 * * every 3 months from 2026-10-31", "2026-01-01T00:00", "2026-10-31T09:00 2027-01-31T09:00 2027-07-31T09:00"},
		{"every other month, last day", "UTC", "0 9 L * * every 2 months from 2026-12-01", "2026-01-01T00:00", "2026-12-31T09:00 2027-02-28T09:00 2027-04-30T09:00"},
		{"Sunday as 7", "UTC", "0 9 * * 6-7", "2026-11-20T00:00", "2026-11-21T09:00 2026-11-22T09:00 2026-11-28T09:00"},
	} {
		t.Run(c.zone+" "+c.name, func(t *testing.T) {
			z := zone(t, c.zone)
			after, err := time.Parse("2006-01-02T15:04Z", c.after)
			if err != nil {
				after, err = time.ParseInLocation("2006-01-02T15:04", c.after, z)
			}
			if err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(c.want)
			var got []string
			for _, next := range spec.Preview(parse(t, "cron "+c.spec), z, after, after, len(want)) {
				got = append(got, strings.TrimSuffix(next.Format("2006-01-02T15:04:05"), ":00"))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestNextEvery(t *testing.T) {
	anchor := time.Date(2026, 3, 8, 6, 10, 5, 700, time.UTC)
	s := parse(t, "every 1h30m0s")
	for _, c := range []struct{ after, want time.Duration }{
		{0, 90 * time.Minute},
		{-5 * time.Hour, 90 * time.Minute},
		{90*time.Minute - 700, 180 * time.Minute},
		{90*time.Minute - 701, 90 * time.Minute},
		{1000*time.Hour + 1, 1000*time.Hour + 30*time.Minute},
	} {
		got, ok := s.Next(anchor.Add(c.after), zone(t, "America/New_York"), anchor)
		if want := anchor.Truncate(time.Second).Add(c.want); !ok || !got.Equal(want) {
			t.Errorf("after %v: got %v, want %v", c.after, got, want)
		}
	}
}

func TestNextAt(t *testing.T) {
	at := time.Date(2026, 12, 24, 16, 0, 0, 0, time.UTC)
	s := parse(t, "at 2026-12-24T17:00:00+01:00")
	if got, ok := s.Next(at.Add(-1), nil, at); !ok || !got.Equal(at) {
		t.Errorf("before: got %v %v", got, ok)
	}
	if got, ok := s.Next(at, nil, at); ok || !got.IsZero() {
		t.Errorf("at the slot: got %v %v", got, ok)
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	z := zone(t, "Europe/Berlin")
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{"cron 30 2 * * 1-5", "cron 30 * * * *", "cron 0 0 29 2 *", "every 30m0s"} {
		s := parse(t, text)
		if n := testing.AllocsPerRun(100, func() { s.Next(now, z, now) }); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}
