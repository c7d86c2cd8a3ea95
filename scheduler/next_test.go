package scheduler_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"hob/scheduler"
	"hob/scheduler/schedulertest"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := scheduler.Zone(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

func parse(t testing.TB, text string) scheduler.Spec {
	t.Helper()
	s, err := scheduler.ParseSpec(text)
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
			for _, next := range scheduler.Preview(parse(t, "cron "+c.spec), z, after, after, len(want)) {
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
	spec := parse(t, "every 1h30m0s")
	for _, c := range []struct{ after, want time.Duration }{
		{0, 90 * time.Minute},
		{-5 * time.Hour, 90 * time.Minute},
		{90*time.Minute - 700, 180 * time.Minute},
		{90*time.Minute - 701, 90 * time.Minute},
		{1000*time.Hour + 1, 1000*time.Hour + 30*time.Minute},
	} {
		got, ok := spec.Next(anchor.Add(c.after), zone(t, "America/New_York"), anchor)
		if want := anchor.Truncate(time.Second).Add(c.want); !ok || !got.Equal(want) {
			t.Errorf("after %v: got %v, want %v", c.after, got, want)
		}
	}
}

func TestNextAt(t *testing.T) {
	at := time.Date(2026, 12, 24, 16, 0, 0, 0, time.UTC)
	spec := parse(t, "at 2026-12-24T17:00:00+01:00")
	if got, ok := spec.Next(at.Add(-1), nil, at); !ok || !got.Equal(at) {
		t.Errorf("before: got %v %v", got, ok)
	}
	if got, ok := spec.Next(at, nil, at); ok || !got.IsZero() {
		t.Errorf("at the slot: got %v %v", got, ok)
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	z := zone(t, "Europe/Berlin")
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	for _, text := range []string{"cron 30 2 * * 1-5", "cron 30 * * * *", "cron 0 0 29 2 *", "every 30m0s"} {
		spec := parse(t, text)
		if n := testing.AllocsPerRun(100, func() { spec.Next(now, z, now) }); n != 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

// cronField is a random field with the values that it stands for, made without the parser.
type cronField struct {
	text   string
	values []int
	free   bool // it does not restrict
}

func (f cronField) has(v int) bool { return f.free || slices.Contains(f.values, v) }

func randomField(low, high int, free string) *rapid.Generator[cronField] {
	return rapid.Custom(func(t *rapid.T) cronField {
		if free != "" && rapid.Bool().Draw(t, "free") {
			return cronField{text: free, free: true}
		}
		var f cronField
		for i := range rapid.IntRange(1, 3).Draw(t, "items") {
			from := rapid.IntRange(low, high).Draw(t, fmt.Sprint("from", i))
			to := rapid.IntRange(from, high).Draw(t, fmt.Sprint("to", i))
			step := rapid.IntRange(1, min(7, high-low)).Draw(t, fmt.Sprint("step", i))
			for v := from; v <= to; v += step {
				f.values = append(f.values, v%max(high, 7))
				if high != 7 {
					f.values[len(f.values)-1] = v
				}
			}
			f.text += fmt.Sprintf(",%d-%d/%d", from, to, step)
		}
		f.text = f.text[1:]
		return f
	})
}

var troubled = []struct{ zone, day string }{
	{"America/New_York", "2026-03-08"},
	{"America/New_York", "2026-11-01"},
	{"Europe/Berlin", "2026-03-29"},
	{"Europe/Berlin", "2026-10-25"},
	{"Australia/Lord_Howe", "2026-04-05"},
	{"Australia/Lord_Howe", "2026-10-04"},
	{"Africa/Cairo", "2026-04-24"},
	{"Africa/Cairo", "2026-10-30"},
	{"Asia/Beirut", "2026-03-29"},
	{"Asia/Beirut", "2026-10-25"},
	{"America/Havana", "2026-03-08"},
	{"America/Havana", "2026-11-01"},
	{"Pacific/Apia", "2011-12-30"},
	{"Europe/Dublin", "2026-03-29"},
	{"Europe/Dublin", "2026-10-25"},
	{"Africa/Casablanca", "2026-02-15"},
	{"Africa/Casablanca", "2026-03-22"},
	{"America/Sao_Paulo", "2018-11-04"},
	{"Asia/Pyongyang", "2018-05-05"},
	{"Pacific/Kwajalein", "1993-08-21"},
	{"Antarctica/Troll", "2026-03-29"},
	{"America/Caracas", "2007-12-09"},
	{"Asia/Kolkata", "2026-05-05"},
	{"America/New_York", "2096-12-31"},
	{"Europe/London", "2096-12-31"},
	{"Australia/Sydney", "2097-01-01"},
}

func TestNextIsTheOracles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		place := rapid.SampledFrom(troubled).Draw(t, "place")
		z, err := scheduler.Zone(place.zone)
		if err != nil {
			t.Fatal(err)
		}
		minute, hour := randomField(0, 59, "*").Draw(t, "minute"), randomField(0, 23, "*").Draw(t, "hour")
		dom, month := randomField(1, 31, "*").Draw(t, "day"), randomField(1, 12, "*").Draw(t, "month")
		dow := randomField(0, 7, "*").Draw(t, "weekday")
		text := strings.Join([]string{"cron", minute.text, hour.text, dom.text, month.text, dow.text}, " ")
		spec, err := scheduler.ParseSpec(text)
		if err != nil {
			if strings.Contains(err.Error(), "never fire") {
				return
			}
			t.Fatalf("%s: %v", text, err)
		}
		day, err := time.Parse(time.DateOnly, place.day)
		if err != nil {
			t.Fatal(err)
		}
		from := day.Add(-36*time.Hour + time.Duration(rapid.IntRange(0, 48*60).Draw(t, "minutes"))*time.Minute)
		if _, edge := day.Add(-36 * time.Hour).In(z).ZoneBounds(); !edge.IsZero() && rapid.Bool().Draw(t, "at the edge") {
			from = edge.Add(time.Duration(rapid.IntRange(-90, 90).Draw(t, "minutes from the edge")) * time.Minute)
		}
		until := from.Add(48 * time.Hour)
		oracle := schedulertest.Oracle{Zone: z, Elapsed: hour.free, Match: func(w time.Time) bool {
			byDay, byWeekday := dom.has(w.Day()), dow.has(int(w.Weekday()))
			days := byDay && byWeekday
			if !dom.free && !dow.free {
				days = byDay || byWeekday
			}
			return minute.has(w.Minute()) && hour.has(w.Hour()) && month.has(int(w.Month())) && days
		}}
		want := oracle.Slots(from, until)
		var got []time.Time
		for at, ok := spec.Next(from, z, from); ok && !at.After(until); at, ok = spec.Next(at, z, from) {
			got = append(got, at)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s in %s from %v:\n got %v\nwant %v", text, place.zone, from.In(z), local(got, z), local(want, z))
		}
	})
}

func local(list []time.Time, z *time.Location) string {
	text := strconv.Itoa(len(list)) + ":"
	for _, at := range list[:min(len(list), 40)] {
		text += at.In(z).Format(" 02T15:04-07")
	}
	return text
}

func TestNextGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z, err := scheduler.Zone(rapid.SampledFrom(troubled).Draw(t, "place").zone)
		if err != nil {
			t.Fatal(err)
		}
		text := rapid.SampledFrom([]string{"cron 30 2 * * *", "cron */7 * * * *", "cron 0 0 1 1 *", "cron 5 4 29 2 *", "every 7h0m0s", "cron 59 59 23 31 12 *", "cron 1-9 */5 31 * 2"}).Draw(t, "spec")
		spec, err := scheduler.ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(-5e9, 2e10).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
		for range 10 {
			next, ok := spec.Next(at, z, time.Unix(0, 0))
			if !ok || !next.After(at) {
				t.Fatalf("%s: after %v comes %v", text, at, next)
			}
			if again, _ := spec.Next(next.Add(-1), z, time.Unix(0, 0)); !again.Equal(next) {
				t.Fatalf("%s: %v is not found from just before: %v", text, next, again)
			}
			at = next
		}
	})
}
