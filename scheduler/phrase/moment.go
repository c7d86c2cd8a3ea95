package phrase

import (
	"fmt"
	"strings"
	"time"

	"hob/daemon/text"
	"hob/scheduler/spec"
)

// after reads "in 20 minutes", "in 2 days", "in 2 days at 9", "in 3 months", "a week from today". Whole days keep the time of day,
// also across clock changes. In a month that is too short, the last day counts.
func (p *parser) after() (spec.Spec, bool, error) {
	if _, part := partOf(p.in.word(2)); part && p.in.word(0) == "in" && p.in.word(1) == "the" {
		return spec.Spec{}, false, nil // dated reads "in the evening"
	}
	day, found := fromToday(p)
	if !found {
		if !fromNow(p) && !p.in.take("in") && !p.in.take("at", "in") { // hob cron add --at "in 20 minutes"
			return spec.Spec{}, false, nil
		}
		day, found = months(p)
	}
	if !found {
		period, ok := p.in.period()
		_ = ok && p.in.take("from", "now")
		if !ok {
			if few := p.in.take("a", "few") || p.in.takeAny("few", "some", "several"); few && spec.Unit(p.in.word(0)) > 0 && strings.HasSuffix(p.in.word(0), "s") {
				return spec.Spec{}, false, p.in.unclear("not how many; give a number, e.g. in 5 minutes")
			}
			// A word without a digit after "in" makes this no schedule; after a digit, only the unit is wrong.
			if next := p.in.word(0); next != "" && (next[0] < '0' || next[0] > '9') {
				return spec.Spec{}, false, p.in.unknown()
			}
			return spec.Spec{}, false, p.in.unclearEnd("how long; try in 20 minutes, in 2h or in 3 days")
		}
		switch {
		case period < spec.ShortestPeriod:
			return spec.Spec{}, true, p.in.unclear("it is less than a second")
		case period > spec.LongestPeriod:
			return spec.Spec{}, true, p.in.unclear("it is more than 10 years")
		// A period with a part of a day is added to the clock; whole days are counted by the calendar below.
		case period%(24*time.Hour) != 0:
			at := p.now.Add(period)
			if at.Nanosecond() > 0 {
				at = at.Truncate(time.Second).Add(time.Second) // round up: never earlier than asked for
			}
			return spec.At(at), true, nil
		}
		day = p.today(int(period / (24 * time.Hour)))
	}
	var t daytime
	err := p.in.timesAfter(&t)
	if err == nil {
		err = p.in.settle(&t)
	}
	if err != nil {
		return spec.Spec{}, true, err
	}
	// Without a time of day, it is the current one, to the second.
	if t.clocks == nil {
		t.clocks = []clockTime{{hour: p.now.Hour(), minute: p.now.Minute(), second: p.now.Second(), sure: true}}
	}
	s, err := p.single(day, t.clocks)
	return s, true, err
}

// fromNow reports whether a period and "from now" come next: "5 minutes from now". It only looks ahead.
func fromNow(p *parser) bool {
	mark := p.in.pos
	defer func() { p.in.pos = mark }()
	_, ok := p.in.period()
	return ok && p.in.take("from", "now")
}

// fromToday reads "a week from today", "two days from tomorrow", "3 months from now".
// It counts whole days, weeks, months and years only.
func fromToday(p *parser) (day, bool) {
	mark := p.in.pos
	d, ok := months(p)
	if !ok {
		var period time.Duration
		if period, ok = p.in.period(); ok && period%(24*time.Hour) == 0 && period <= spec.LongestPeriod {
			d = p.today(int(period / (24 * time.Hour)))
		} else {
			ok = false
		}
	}
	switch {
	case ok && (p.in.take("from", "today") || p.in.take("from", "now")):
		return d, true
	case ok && p.in.take("from", "tomorrow"):
		y, m, n := time.Date(d.year, d.month, d.day+1, 0, 0, 0, 0, time.UTC).Date()
		return day{year: y, month: m, day: n, named: true}, true
	}
	p.in.pos = mark
	return day{}, false
}

// months reads "3 months", "a month", "two years": the same day of that month, at most ten years ahead.
func months(p *parser) (day, bool) {
	n, ok := spec.Number(p.in.word(0))
	if p.in.word(0) == "a" || p.in.word(0) == "an" || p.in.word(0) == "one" {
		n, ok = 1, true
	}
	switch p.in.word(1) {
	case "month", "months":
	case "year", "years":
		n *= 12
	default:
		ok = false
	}
	if !ok || n < 1 || n > 120 {
		return day{}, false
	}
	p.in.pos += 2
	// From the first of the month, adding months cannot skip a short one. The day is then cut to the month's length.
	y, m, _ := time.Date(p.now.Year(), p.now.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC).Date()
	return day{year: y, month: m, day: min(p.now.Day(), spec.MonthDays(y, int(m))), named: true}, true
}

// day is a single date. If its time has passed, it moves on by a number of days or years, or is refused.
// With tonight, midnight is the end of the day. Both numbers 0 means that a passed time is refused.
type day struct {
	year        int
	month       time.Month
	day         int
	days, years int
	tonight     bool
	named       bool // the phrase names the day
	current     bool // the phrase is "today": an hour that has passed may be meant for the afternoon
}

// today returns the date a number of days after the current one. It calculates in UTC, where every day has 24 hours.
func (p *parser) today(plus int) day {
	y, m, d := p.now.Date()
	y, m, d = time.Date(y, m, d+plus, 0, 0, 0, 0, time.UTC).Date()
	return day{year: y, month: m, day: d, named: true}
}

// dated reads times and days in either order: "at 17:00 tomorrow", "every weekday at 9", "2026-12-24 17:00", "twice a day".
func (p *parser) dated() (spec.Spec, bool, error) {
	// The exact forms first: an instant, a cron spec.
	if s, is, err := p.exactly(); is {
		return s, true, err
	}
	// "three times a day"
	if times, daily, err := p.in.spread(); err != nil {
		return spec.Spec{}, true, err
	} else if times > 0 {
		s, err := p.spreadOver(times, daily)
		return s, true, err
	}
	// Otherwise times and days may come in either order.
	var t daytime
	if err := p.in.timesBefore(&t); err != nil {
		return spec.Spec{}, true, err
	}
	set, err := p.days.recurring()
	if err != nil {
		return spec.Spec{}, true, err
	}
	// A date is tried only if no recurring days were read.
	date, isDate := day{}, false
	if set == nil {
		date, isDate, err = p.date()
	}
	if err != nil {
		return spec.Spec{}, true, err
	}
	// Without a day, "in the evening" is the next one.
	if set == nil && !isDate && t.clocks == nil {
		mark := p.in.pos
		if t.part, t.parted = p.in.part(); !t.parted || mark == p.in.pos-1 {
			return spec.Spec{}, false, nil
		}
	}
	// "tonight" is a day and a part of the day.
	if date.tonight {
		t.part, t.parted = partOf("tonight")
	}
	// Times may follow the days as well. Then the part of the day decides between am and pm.
	if err = p.in.timesAfter(&t); err == nil {
		err = p.in.settle(&t)
	}
	if err == nil {
		err = p.days.timed(&t, set != nil)
	}
	switch {
	case err != nil:
		return spec.Spec{}, true, err
	case t.afterMidnight() && (isDate || set != nil && *set != dayset{}):
		// "monday at 2 at night" has two meanings.
		return spec.Spec{}, true, p.in.unclear("not which night, the one before that day or the one after it: write the day and 02:00")
	case set != nil:
		s, err := p.repeated(*set, t.clocks)
		return s, true, err
	// Only a time was given: the next day on which it is still ahead.
	case !isDate:
		date = p.today(0)
		date.days, date.named = 1, false
	}
	s, err := p.single(date, t.clocks)
	return s, true, err
}

// timed gives recurring days without a time the usual hour. A single day without a time is an error.
// again says that the days recur.
func (p dayReader) timed(t *daytime, again bool) error {
	if t.clocks != nil {
		return nil
	}
	// "monday until …" lacks more than a time, so this error comes first.
	if err := p.unsayable(); err != nil {
		return err
	}
	if !again || t.parted {
		return p.in.unclearEnd(atWhatTime)
	}
	t.clocks, p.in.timeless = usualTime(p.in, usualHour), true
	return nil
}

// spreadOver reads what follows "three times": the days, and the times if there are any.
func (p *parser) spreadOver(times int, daily bool) (spec.Spec, error) {
	var t daytime
	mark := p.in.pos
	set, err := p.days.recurring()
	if err == nil {
		err = p.in.timesAfter(&t)
	}
	switch {
	case err != nil:
		return spec.Spec{}, err
	case set == nil && !daily:
		return spec.Spec{}, p.in.unclearEnd("on which days; " + examples)
	case set == nil:
		set = &dayset{}
	// "Twice daily" names all days already; only "on …", weekdays or weekends may limit them.
	case daily && p.in.toks[mark].text != "on" && set.dow != "1-5" && set.dow != "0,6":
		p.in.pos = mark
		return spec.Spec{}, p.in.unclear("not %q; %s", p.in.rest(), examples)
	}
	// Without times they are spread over the day.
	if t.clocks == nil {
		t.clocks = evenly(times)
		var hours []string
		for _, c := range t.clocks {
			hours = append(hours, fmt.Sprintf("%d:00", c.hour))
		}
		if hours != nil {
			p.in.assumed = append(p.in.assumed, "no times were given: "+strings.Join(hours, ", ")+" are taken")
		}
	}
	if t.parted || len(t.clocks) != times {
		return spec.Spec{}, p.in.unclear(`not at which %d times; name them, e.g. "every day at 8, 12 and 18"`, times)
	}
	return p.repeated(*set, t.clocks)
}

// repeated makes the spec of recurring days and times. A distance ("every other") is counted from the first day that comes.
func (p *parser) repeated(set dayset, clocks []clockTime) (spec.Spec, error) {
	times, ok := cronTimes(clocks)
	for _, c := range clocks {
		if c.hour < unlikelyHour {
			noteEarly(p.in, c)
		}
	}
	if !ok {
		return spec.Spec{}, p.in.unclear("these times do not fit into one schedule: make a job for each")
	}
	text := "cron " + times + set.String()
	s, err := spec.Parse(text)
	if err != nil {
		return spec.Spec{}, fmt.Errorf("schedule %q: %w", p.in.text, err)
	}
	if set.every == 0 {
		return s, nil
	}
	// The count begins with the first day on which the plain fields would fire.
	first, ok := s.Next(p.now, p.zone, p.now)
	if !ok {
		return spec.Spec{}, p.in.unclear("no such day comes any more")
	}
	s, err = spec.Parse(fmt.Sprintf("%s every %d %s from %s", text, set.every, set.unit, first.In(p.zone).Format(time.DateOnly)))
	if err != nil {
		return spec.Spec{}, fmt.Errorf("schedule %q: %w", p.in.text, err)
	}
	return s, nil
}

// single returns the instant of a date and a time.
// A passed time moves on by the days or years of d; without them it is an error.
func (p *parser) single(d day, clocks []clockTime) (spec.Spec, error) {
	c := clocks[0]
	switch {
	case len(clocks) > 1:
		return spec.Spec{}, p.in.unclear("a single day takes a single time: make a job for each")
	case c.midnight && d.tonight:
		d.day++
	case c.midnight && d.named:
		return spec.Spec{}, p.in.unclear("not which midnight, the one before that day or the one after it: write the date and 00:00")
	}
	// Days beyond the end of a month are carried over by spec.Instant.
	at := spec.Instant(p.zone, d.year, d.month, d.day, c.seconds())
	if passed := !at.After(p.now); c.hour < unlikelyHour || passed && d.days > 0 {
		noteEarly(p.in, c)
	}
	switch {
	case at.After(p.now):
	case d.current && !c.sure && c.hour < 12:
		c.hour += 12
		at = spec.Instant(p.zone, d.year, d.month, d.day, c.seconds())
		p.in.assumed = []string{fmt.Sprintf("%02d:%02d is assumed, because %02d:%02d has passed", c.hour, c.minute, c.hour-12, c.minute)}
	case d.days > 0, d.years > 0:
		if d.years > 0 {
			if err := leapDay(p, d.year+d.years, d); err != nil {
				return spec.Spec{}, err
			}
		}
		at = spec.Instant(p.zone, d.year+d.years, d.month, d.day+d.days, c.seconds())
	}
	if !at.After(p.now) {
		where := "in " + p.zone.String()
		if p.zone == time.Local {
			where = "on this machine"
		}
		return spec.Spec{}, p.in.unclear("%s has passed (it is %s %s); give a later time, e.g. tomorrow at 17:00",
			at.Format("2 Jan 2006 15:04"), p.now.Format("2 Jan 2006 15:04"), where)
	}
	return spec.At(at), nil
}

// exactly reads an RFC 3339 instant, which has its own offset from UTC.
func (p *parser) exactly() (spec.Spec, bool, error) {
	mark := p.in.pos
	_ = p.in.takeAny("at", "on")
	// The words are in lower case, and time.Parse wants T and Z.
	at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(p.in.word(0)))
	if err != nil {
		p.in.pos = mark
		return spec.Spec{}, false, nil
	}
	p.in.pos++
	if !at.After(p.now) {
		return spec.Spec{}, true, p.in.unclear("%s has passed (it is %s); give a later time", text.InZone(at, p.now.Location(), true), text.InZone(p.now, p.now.Location(), true))
	}
	s, err := spec.Parse("at " + at.Format(time.RFC3339Nano))
	return s, true, err
}
