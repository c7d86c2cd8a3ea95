package scheduler

import (
	"fmt"
	"strings"
	"time"
)

// every reads a period that comes again: "every 30m", "every 2 hours", "every hour", "hourly".
func (p *phrase) every() (Spec, bool, error) {
	if p.take("hourly") {
		spec, err := makeEvery(time.Hour)
		return spec, true, err
	}
	if !p.takeAny("every", "each") {
		return Spec{}, false, nil
	}
	period, ok := p.period()
	if size := unit(p.word(0)); !ok && size > 0 && size < wholeDay {
		p.pos++
		period, ok = size, true
	}
	if !ok {
		return Spec{}, false, nil
	}
	spec, err := makeEvery(period)
	if err != nil {
		return Spec{}, true, fmt.Errorf("schedule %q: %w", p.text, err)
	}
	return spec, true, nil
}

// after reads "in 20 minutes", "in 2 days", "in 2 days at 9". Whole days keep the time of day, across clock changes too.
func (p *phrase) after() (Spec, bool, error) {
	if !p.take("in") {
		return Spec{}, false, nil
	}
	period, ok := p.period()
	if !ok {
		if next := p.word(0); next != "" && (next[0] < '0' || next[0] > '9') {
			return Spec{}, false, p.unknown()
		}
		return Spec{}, false, p.notBehind("how long; try in 20 minutes, in 2h or in 3 days")
	}
	switch {
	case period < shortestPeriod:
		return Spec{}, true, p.unclear("it is less than a second")
	case period > longestPeriod:
		return Spec{}, true, p.unclear("it is more than 10 years")
	case period%wholeDay != 0:
		at := p.now.Add(period)
		if at.Nanosecond() > 0 {
			at = at.Truncate(time.Second).Add(time.Second) // never before what was asked for
		}
		return makeAt(at), true, nil
	}
	day := p.today(int(period / wholeDay))
	clocks, err := p.clocks()
	if err != nil {
		return Spec{}, true, err
	}
	if clocks == nil {
		clocks = []clockTime{{hour: p.now.Hour(), minute: p.now.Minute(), second: p.now.Second()}}
	}
	spec, err := p.single(day, clocks)
	return spec, true, err
}

// day is a single date, and what to do when its time has passed: step on by so many days, or years, or refuse.
type day struct {
	year        int
	month       time.Month
	day         int
	days, years int
	tonight     bool
	named       bool // some word said which day
}

func (p *phrase) today(plus int) day {
	y, m, d := p.now.Date()
	y, m, d = time.Date(y, m, d+plus, 0, 0, 0, 0, time.UTC).Date()
	return day{year: y, month: m, day: d, named: true}
}

// dated reads times and days in either order: "at 17:00 tomorrow", "every weekday at 9", "2026-12-24 17:00".
func (p *phrase) dated() (Spec, bool, error) {
	if spec, is, err := p.exactly(); is {
		return spec, true, err
	}
	clocks, err := p.clocks()
	if err != nil {
		return Spec{}, true, err
	}
	set, err := p.recurring()
	if err != nil {
		return Spec{}, true, err
	}
	date, isDate := day{}, false
	if set == nil {
		date, isDate, err = p.date()
	}
	if err != nil || (set == nil && !isDate && clocks == nil) {
		return Spec{}, err != nil, err
	}
	if clocks == nil {
		if clocks, err = p.clocks(); err != nil {
			return Spec{}, true, err
		}
	}
	switch {
	case clocks == nil:
		return Spec{}, true, p.notBehind(`at what time; add one, e.g. "at 9" or "at 17:30"`)
	case set != nil:
		spec, err := p.repeated(*set, clocks)
		return spec, true, err
	case !isDate:
		date = p.today(0)
		date.days, date.named = 1, false
	}
	spec, err := p.single(date, clocks)
	return spec, true, err
}

func (p *phrase) repeated(set dayset, clocks []clockTime) (Spec, error) {
	times, ok := cronTimes(clocks)
	if !ok {
		return Spec{}, p.unclear("these times do not fit into one schedule: make a job for each")
	}
	return parseCron(times + set.String())
}

// single is the instant of one date and time.
func (p *phrase) single(d day, clocks []clockTime) (Spec, error) {
	c := clocks[0]
	switch {
	case len(clocks) > 1:
		return Spec{}, p.unclear("a single day takes a single time: make a job for each")
	case c.midnight && d.named:
		return Spec{}, p.unclear("not which midnight, the one before that day or the one after it: write the date and 00:00")
	case d.tonight && c.hour < 16:
		return Spec{}, p.unclear("%02d:%02d is not in the evening: write it as 20:00 or 8pm", c.hour, c.minute)
	}
	at := instant(p.zone, d.year, d.month, d.day, c.seconds())
	if !at.After(p.now) && (d.days > 0 || d.years > 0) {
		at = instant(p.zone, d.year+d.years, d.month, d.day+d.days, c.seconds())
	}
	if !at.After(p.now) {
		return Spec{}, p.unclear("%s has passed (it is %s in %s); give a later time, e.g. tomorrow at 17:00",
			at.Format("2 Jan 2006 15:04"), p.now.Format("2 Jan 2006 15:04"), p.zone)
	}
	return makeAt(at), nil
}

// exactly reads an RFC 3339 instant, which brings its own offset.
func (p *phrase) exactly() (Spec, bool, error) {
	mark := p.pos
	_ = p.takeAny("at", "on")
	at, err := time.Parse(time.RFC3339Nano, strings.ToUpper(p.word(0)))
	if err != nil {
		p.pos = mark
		return Spec{}, false, nil
	}
	p.pos++
	if !at.After(p.now) {
		return Spec{}, true, p.unclear("%s has passed (it is %s); give a later time", at.Format(time.RFC3339), p.now.Format(time.RFC3339))
	}
	spec, err := parseAt(at.Format(time.RFC3339Nano))
	return spec, true, err
}
