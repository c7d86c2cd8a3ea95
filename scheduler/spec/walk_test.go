package spec_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"hob/scheduler/schedulertest"
	"hob/scheduler/spec"
)

// The proofs of Next: what it finds is what a walk through time finds, which knows nothing of how Next works. The walk
// is schedulertest.Oracle; which wall times match is decided here, by the rules and without the parser.

// values is a random field with what it stands for.
type values struct {
	text string
	list []int
	free bool // it does not restrict
}

func (v values) has(n int) bool { return v.free || slices.Contains(v.list, n) }

// someOf makes a field out of ranges with steps; most are free, since sparse schedules seldom fall into a walk.
func someOf(low, high int) *rapid.Generator[values] {
	return rapid.Custom(func(t *rapid.T) values {
		if rapid.Bool().Draw(t, "free") {
			return values{text: "*", free: true}
		}
		var v values
		for i := range rapid.IntRange(1, 3).Draw(t, "items") {
			from := rapid.IntRange(low, high).Draw(t, fmt.Sprint("from", i))
			to := rapid.IntRange(from, high).Draw(t, fmt.Sprint("to", i))
			step := rapid.IntRange(1, min(7, high-low)).Draw(t, fmt.Sprint("step", i))
			for n := from; n <= to; n += step {
				v.list = append(v.list, n)
			}
			v.text += fmt.Sprintf(",%d-%d/%d", from, to, step)
		}
		v.text = v.text[1:]
		return v
	})
}

// someHours are mostly near the hour at which something happens. Those whose text begins with "*" follow elapsed time.
func someHours(near int) *rapid.Generator[values] {
	return rapid.Custom(func(t *rapid.T) values {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return values{text: "*", free: true}
		case 1:
			step := rapid.IntRange(2, 12).Draw(t, "step")
			v := values{text: fmt.Sprint("*/", step)}
			for n := 0; n < 24; n += step {
				v.list = append(v.list, n)
			}
			return v
		case 2:
			return someOf(0, 23).Draw(t, "hours")
		}
		hour := (near + rapid.IntRange(22, 26).Draw(t, "apart")) % 24
		return values{text: strconv.Itoa(hour), list: []int{hour}}
	})
}

func (v values) elapsed() bool { return v.text[0] == '*' }

// days is a random choice of days.
type days struct {
	dom, month, dow values
	last            bool // L is among the days
	week, place     int  // the place'th such weekday is among the weekdays; place 0: none, 6: the last
	every           int  // 0: all
	unit            string
	from            time.Time
}

func someDays(near time.Time) *rapid.Generator[days] {
	return rapid.Custom(func(t *rapid.T) days {
		if rapid.IntRange(0, 2).Draw(t, "all") == 0 {
			return days{dom: values{text: "*", free: true}, month: values{text: "*", free: true}, dow: values{text: "*", free: true}}
		}
		d := days{dom: someOf(1, 31).Draw(t, "day"), month: someOf(1, 12).Draw(t, "month"), dow: someOf(0, 7).Draw(t, "weekday")}
		if !d.dom.free && rapid.Bool().Draw(t, "last") {
			d.last, d.dom.text = true, d.dom.text+",L"
		}
		if !d.dow.free && rapid.Bool().Draw(t, "placed") {
			d.week, d.place = rapid.IntRange(0, 7).Draw(t, "week"), rapid.IntRange(1, 6).Draw(t, "place")
			d.dow.text += "," + strconv.Itoa(d.week) + map[bool]string{true: "L", false: "#" + strconv.Itoa(d.place)}[d.place == 6]
		}
		switch rapid.IntRange(0, 6).Draw(t, "turn") {
		case 0:
			d.every, d.unit = rapid.IntRange(2, 40).Draw(t, "every"), "days"
			d.dom, d.month, d.dow = values{text: "*", free: true}, values{text: "*", free: true}, values{text: "*", free: true}
			d.last, d.place = false, 0
		case 1:
			d.every, d.unit = rapid.IntRange(2, 9).Draw(t, "every"), "weeks"
			d.dom, d.month, d.last = values{text: "*", free: true}, values{text: "*", free: true}, false
		case 2:
			d.every, d.unit = rapid.IntRange(2, 14).Draw(t, "every"), "months"
			d.month = values{text: "*", free: true}
		}
		d.from = near.AddDate(0, 0, rapid.IntRange(-700, 40).Draw(t, "from")).Truncate(24 * time.Hour)
		return d
	})
}

// text is the last fields, and what stands behind them.
func (d days) text() string {
	text := strings.Join([]string{d.dom.text, d.month.text, d.dow.text}, " ")
	if d.every > 0 {
		text += fmt.Sprintf(" every %d %s from %s", d.every, d.unit, d.from.Format(time.DateOnly))
	}
	return text
}

// match decides about a day by the rules: either of day and weekday when both restrict, then the turn.
func (d days) match(w time.Time) bool {
	date := w.Truncate(24 * time.Hour)
	byDay := d.dom.has(w.Day()) || d.last && w.AddDate(0, 0, 1).Day() == 1
	weekday := int(w.Weekday())
	byWeekday := d.dow.has(weekday) || weekday == 0 && d.dow.has(7) || d.place > 0 && weekday == d.week%7 && d.placed(w)
	fits := byDay && byWeekday
	if !d.dom.free && !d.dow.free {
		fits = byDay || byWeekday
	}
	return fits && d.month.has(int(w.Month())) && (d.every == 0 || !date.Before(d.from) && d.turned(date))
}

func (d days) placed(w time.Time) bool {
	if d.place == 6 {
		return w.AddDate(0, 0, 7).Month() != w.Month()
	}
	return (w.Day()+6)/7 == d.place
}

func (d days) turned(date time.Time) bool {
	monday := func(t time.Time) time.Time { return t.AddDate(0, 0, -(int(t.Weekday())+6)%7) }
	apart := 0
	switch d.unit {
	case "days":
		apart = int(date.Sub(d.from) / (24 * time.Hour))
	case "weeks":
		apart = int(monday(date).Sub(monday(d.from)) / (7 * 24 * time.Hour))
	case "months":
		apart = 12*(date.Year()-d.from.Year()) + int(date.Month()) - int(d.from.Month())
	}
	return apart%d.every == 0
}

// parsed is nil for a schedule that can never fire, which the parser has to refuse.
func parsed(t *rapid.T, text string) *spec.Spec {
	s, err := spec.Parse(text)
	if err != nil && !strings.Contains(err.Error(), "never fire") {
		t.Fatalf("%s: %v", text, err)
	}
	if err != nil {
		return nil
	}
	return &s
}

// place is somewhere at some time; most are near a change of the clocks.
type place struct {
	zone *time.Location
	at   time.Time
}

var zones = []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia", "UTC"}

// rare are changes that a random instant would hardly find: whole days left out, offsets changed for good, the end of the tables.
var rare = []struct{ zone, at string }{
	{"Pacific/Apia", "2011-12-30"},
	{"Pacific/Kwajalein", "1993-08-21"},
	{"Asia/Beirut", "2026-03-29"},
	{"America/Havana", "2026-11-01"},
	{"Europe/Dublin", "2026-10-25"},
	{"Africa/Casablanca", "2026-02-15"},
	{"Africa/Casablanca", "2026-03-22"},
	{"America/Sao_Paulo", "2018-11-04"},
	{"Asia/Pyongyang", "2018-05-05"},
	{"Antarctica/Troll", "2026-03-29"},
	{"America/Caracas", "2007-12-09"},
	{"Asia/Kolkata", "2026-05-05"},
	{"America/New_York", "2096-12-31"},
	{"Europe/London", "2096-12-31"},
	{"Australia/Sydney", "2097-01-01"},
}

func somewhere() *rapid.Generator[place] {
	return rapid.Custom(func(t *rapid.T) place {
		if rapid.IntRange(0, 4).Draw(t, "rare") == 0 {
			r := rapid.SampledFrom(rare).Draw(t, "change")
			at, err := time.Parse(time.DateOnly, r.at)
			if err != nil {
				t.Fatal(err)
			}
			return place{load(t, r.zone), at}
		}
		p := place{zone: load(t, rapid.SampledFrom(zones).Draw(t, "zone"))}
		p.at = time.Unix(rapid.Int64Range(0, 13e9).Draw(t, "instant"), 0).UTC() // 1970 to 2381
		if _, change := p.at.In(p.zone).ZoneBounds(); !change.IsZero() && rapid.IntRange(0, 3).Draw(t, "at a change") > 0 {
			p.at = change.UTC()
		}
		return p
	})
}

func load(t *rapid.T, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// sameSlots walks from `from` to until with Next and wants the oracle's slots.
func sameSlots(t *rapid.T, text string, s *spec.Spec, o schedulertest.Oracle, from, until time.Time) {
	want := o.Slots(from, until)
	var got []time.Time
	for at, ok := s.Next(from, o.Zone, from); ok && !at.After(until); at, ok = s.Next(at, o.Zone, from) {
		if len(got) > 0 && !at.After(got[len(got)-1]) {
			t.Fatalf("%s: behind %v comes %v", text, got[len(got)-1], at)
		}
		got = append(got, at)
	}
	if !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Fatalf("%s in %s from %v:\n got %v\nwant %v", text, o.Zone, from.In(o.Zone), local(got, o.Zone), local(want, o.Zone))
	}
	if len(want) == 0 {
		return
	}
	limit := int64(rapid.IntRange(1, len(want)+1).Draw(t, "limit"))
	newest, older := s.Overdue(want[0], until, o.Zone, from, limit)
	kept := want[max(0, len(want)-int(limit)):]
	if older != int64(len(want)-len(kept)) || !slices.EqualFunc(newest, kept, time.Time.Equal) {
		t.Fatalf("%s in %s: of %d overdue slots the newest %d are %s, with %d older", text, o.Zone, len(want), limit, local(newest, o.Zone), older)
	}
}

func local(list []time.Time, z *time.Location) string {
	text := strconv.Itoa(len(list)) + ":"
	for _, at := range list[:min(len(list), 40)] {
		text += at.In(z).Format(" 2006-01-02T15:04:05-07")
	}
	return text
}

// Minute by minute through two days, five fields.
func TestNextIsTheWalkByMinutes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := somewhere().Draw(t, "place")
		minute, hour, d := someOf(0, 59).Draw(t, "minute"), someHours(p.at.In(p.zone).Hour()).Draw(t, "hour"), someDays(p.at).Draw(t, "days")
		text := fmt.Sprintf("cron %s %s %s", minute.text, hour.text, d.text())
		s := parsed(t, text)
		if s == nil {
			return
		}
		from := p.at.Add(time.Duration(rapid.SampledFrom([]int{-36 * 60, -120, -60, 0}).Draw(t, "hours")+rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute).Truncate(time.Minute)
		sameSlots(t, text, s, schedulertest.Oracle{Zone: p.zone, Elapsed: hour.elapsed(), Match: func(w time.Time) bool {
			return minute.has(w.Minute()) && hour.has(w.Hour()) && d.match(w)
		}}, from, from.Add(48*time.Hour))
	})
}

// Second by second around a change of the clocks, six fields.
func TestNextIsTheWalkBySeconds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := somewhere().Draw(t, "place")
		second, minute, hour := someOf(0, 59).Draw(t, "second"), someOf(0, 59).Draw(t, "minute"), someHours(p.at.In(p.zone).Hour()).Draw(t, "hour")
		text := fmt.Sprintf("cron %s %s %s * * *", second.text, minute.text, hour.text)
		s := parsed(t, text)
		from := p.at.Add(time.Duration(rapid.IntRange(-5400, 3600).Draw(t, "seconds")) * time.Second)
		sameSlots(t, text, s, schedulertest.Oracle{
			Zone: p.zone, Elapsed: hour.elapsed(), Step: time.Second, Fold: 3 * time.Hour,
			Match: func(w time.Time) bool { return second.has(w.Second()) && minute.has(w.Minute()) && hour.has(w.Hour()) },
		}, from, from.Add(2*time.Hour))
	})
}

// Day by day through twelve years: sparse schedules, and those that skip.
func TestNextIsTheWalkByDays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Date(rapid.IntRange(1890, 2380).Draw(t, "year"), 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 365).Draw(t, "day of the year"))
		d := someDays(from).Draw(t, "days")
		text := "cron 0 0 " + d.text()
		s := parsed(t, text)
		until := from.AddDate(12, 0, 0)
		var want, got []time.Time
		for day := from.AddDate(0, 0, 1); !day.After(until); day = day.AddDate(0, 0, 1) {
			if d.match(day) {
				want = append(want, day)
			}
		}
		if s == nil {
			if len(want) > 0 {
				t.Fatalf("%s is refused, but fires on %v", text, want[0])
			}
			return
		}
		for at, ok := s.Next(from, nil, from); ok && !at.After(until); at, ok = s.Next(at, nil, from) {
			got = append(got, at)
		}
		if !slices.EqualFunc(got, want, time.Time.Equal) {
			t.Fatalf("%s from %v:\n got %v\nwant %v", text, from, local(got, time.UTC), local(want, time.UTC))
		}
	})
}

func TestNextGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := load(t, rapid.SampledFrom(zones).Draw(t, "zone"))
		text := rapid.SampledFrom([]string{"cron 30 2 * * *", "cron */7 * * * *", "cron 0 0 1 1 *", "cron 5 4 29 2 *", "every 7h0m0s", "cron 59 59 23 31 12 *", "cron 1-9 */5 31 * 2"}).Draw(t, "spec")
		s, err := spec.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(-5e9, 2e10).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanos"))
		for range 10 {
			next, ok := s.Next(at, z, time.Unix(0, 0))
			if !ok || !next.After(at) {
				t.Fatalf("%s: after %v comes %v", text, at, next)
			}
			if again, _ := s.Next(next.Add(-1), z, time.Unix(0, 0)); !again.Equal(next) {
				t.Fatalf("%s: %v is not found from just before: %v", text, next, again)
			}
			at = next
		}
	})
}
