package phrase

import (
	"fmt"
	"strings"
	"time"

	"hob/scheduler/spec"
)

// every reads a recurring period: "every 30m", "every 2 hours", "every hour", "every other hour", "hourly", "twice an hour".
func (p *parser) every() (spec.Spec, bool, error) {
	period, ok := p.hourly()
	if !ok {
		period, ok = p.everyPeriod()
	}
	if !ok {
		return spec.Spec{}, false, nil
	}
	// A limit of hours, or a fixed minute of the hour, makes cron fields of the period.
	if s, is, err := withinHours(p, period); is || err != nil {
		return s, true, err
	}
	if period == time.Hour {
		if minute, ok := p.minuteOfHour(); ok {
			s, err := spec.Parse(fmt.Sprintf("cron %d * * * *", minute))
			return s, true, err
		}
	}
	// Any other period counts from now and not from the full hour.
	s, err := spec.Every(period)
	if err != nil {
		return spec.Spec{}, true, fmt.Errorf("schedule %q: %w", p.in.text, err)
	}
	return s, true, nil
}

// hourly reads "hourly", "once an hour", "three times an hour".
func (p *parser) hourly() (time.Duration, bool) {
	if p.in.take("hourly") {
		return time.Hour, true
	}
	mark := p.in.pos
	n, ok := spec.Number(p.in.word(0))
	switch {
	case p.in.take("once"):
		n = 1
	case p.in.take("twice"):
		n = 2
	case ok && n > 0 && p.in.word(1) == "times":
		p.in.pos += 2
	default:
		return 0, false
	}
	// The period must be whole seconds.
	if !p.in.takeAny("an", "per", "every", "each") || !p.in.take("hour") || 3600%n != 0 {
		p.in.pos = mark
		return 0, false
	}
	return time.Hour / time.Duration(n), true
}

// everyPeriod reads "every 20 minutes" and "every other hour". Days followed by a time of day are not a period.
func (p *parser) everyPeriod() (time.Duration, bool) {
	if !p.in.takeAny("every", "each") {
		return 0, false
	}
	period, ok := p.in.period()
	if ok && period%(24*time.Hour) == 0 && p.goesOn() {
		return 0, false
	}
	if ok {
		return period, true
	}
	if size := spec.Unit(p.in.word(0)); size > 0 && !counts(p.in.word(0), p.in.word(1)) { // "every second", but not "every second hour"
		return p.singleUnit(size)
	}
	n, ok := p.days.howMany()
	size := spec.Unit(p.in.word(0))
	if !ok || size == 0 || size >= 24*time.Hour {
		return 0, false
	}
	p.in.pos++
	return time.Duration(n) * size, true
}

// counts reports whether a unit is really a number, judged by the next word: "second" in "every second hour" and "every second tuesday".
func counts(unit, next string) bool {
	_, weekday := weekdayOf(next)
	_, part := partOf(next)
	switch next {
	case "weekday", "weekdays", "workday", "workdays", "weekend", "weekends", "month", "months", "quarter", "year", "years":
		return unit == "second"
	}
	return spec.Unit(next) > 0 || unit == "second" && (weekday || part)
}

// singleUnit reads "hour" and "hour and a half". size is the length of the unit. It leaves a day alone, which needs a time.
func (p *parser) singleUnit(size time.Duration) (time.Duration, bool) {
	if size >= 24*time.Hour {
		return 0, false
	}
	// With a 1 in front the words read "1 hour and a half".
	period, n := spec.ReadPeriod(append([]string{"1"}, p.in.words()...))
	p.in.pos += n - 1
	return period, n > 0
}

// goesOn reports whether a day or a time of day comes next.
// It only looks ahead.
func (p *parser) goesOn() bool {
	mark := p.in.pos
	defer func() { p.in.pos = mark }()
	_ = p.in.takeAny("on", "at")
	return p.aboutTime()
}

// minuteOfHour reads "on the hour", "on the half hour", "at :15", "at 15 minutes past", "at quarter past".
func (p *parser) minuteOfHour() (int, bool) {
	mark := p.in.pos
	switch {
	case p.in.take("on", "the", "hour"):
		return 0, true
	case p.in.take("on", "the", "half", "hour"):
		return 30, true
	case p.in.take("at"):
		if text, ok := strings.CutPrefix(p.in.word(0), ":"); ok && len(text) == 2 {
			if minute, err := digits(text); err == nil && minute < 60 {
				p.in.pos++
				return minute, true
			}
		}
		minute, _, ok := p.in.pastMinutes(p.in.take("half"))
		if ok && p.in.take("past") {
			_ = p.in.take("the", "hour")
			return minute, true
		}
	}
	p.in.pos = mark
	return 0, false
}
