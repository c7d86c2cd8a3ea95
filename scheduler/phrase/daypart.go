package phrase

import (
	"fmt"
	"slices"
	"strings"

	"hob/scheduler/spec"
)

// part is a part of the day.
type part struct {
	name        string
	from, until int // the hours of the part, both included; a night runs past midnight
	usual       int // the hour that it means without a time
}

// partOf finds a part by its name, also in the plural.
// The parts overlap: 17:00 may be called afternoon or evening.
func partOf(word string) (part, bool) {
	for _, p := range []part{
		{"morning", 0, 11, usualHour},
		{"afternoon", 12, 18, 15},
		{"evening", 16, 23, 20},
		{"night", 20, 4, 20},
		{"tonight", 16, 23, 20},
	} {
		if word == p.name || word == p.name+"s" && p.name != "tonight" || word == "nightly" && p.name == "night" {
			return p, true
		}
	}
	return part{}, false
}

// pluralPart reports whether a word is a plural such as "mornings", which always recurs.
func pluralPart(word string) bool {
	_, ok := partOf(word)
	return ok && (strings.HasSuffix(word, "s") || word == "nightly")
}

// has reports whether an hour, 0 to 23, is in this part.
func (p part) has(hour int) bool {
	if p.from > p.until {
		return hour >= p.from || hour <= p.until
	}
	return hour >= p.from && hour <= p.until
}

// when returns the words for a part of the day within a sentence.
func (p part) when() string {
	switch p.name {
	case "tonight":
		return "this evening"
	case "night":
		return "at night"
	}
	return "in the " + p.name
}

// of returns the time that c means in this part of the day: "8" in the evening is 20:00.
// It returns false if the two contradict each other. Midnight fits every part.
func (p part) of(c clockTime) (clockTime, bool) {
	if !p.has(c.hour) && !c.sure && c.hour >= 1 && c.hour < 12 && p.has(c.hour+12) {
		c.hour += 12
	}
	return c, p.has(c.hour) || c.midnight
}

// part reads "morning", "in the evening", "at night".
func (p *reader) part() (part, bool) {
	mark := p.pos
	_ = p.take("in", "the") || p.take("at")
	found, ok := partOf(p.word(0))
	if !ok {
		p.pos = mark
		return part{}, false
	}
	p.pos++
	return found, true
}

// daytime holds what a phrase says about the time of day.
// timesBefore and timesAfter fill it in, and settle combines the times with the part.
type daytime struct {
	clocks []clockTime
	part   part
	parted bool
}

// afterMidnight reports whether the hours of a night belong to the next day.
func (t *daytime) afterMidnight() bool {
	// On a given day such a time has two readings, and dated refuses it.
	return t.parted && t.part.name == "night" && slices.ContainsFunc(t.clocks, func(c clockTime) bool { return c.hour < 12 })
}

// timesBefore reads the times before a day: "at 9", "at 7 in the morning".
func (p *reader) timesBefore(t *daytime) (err error) {
	if t.clocks, err = p.clocks(); err == nil && t.clocks != nil {
		t.part, t.parted = p.part()
	}
	return err
}

// timesAfter reads the times after a day: "at 9", "morning at 9", "morning", "at 9 in the morning".
// It keeps the result of timesBefore.
func (p *reader) timesAfter(t *daytime) (err error) {
	if !t.parted {
		t.part, t.parted = p.part()
	}
	if t.clocks == nil {
		t.clocks, err = p.clocks()
	}
	if !t.parted {
		t.part, t.parted = p.part()
	}
	return err
}

// usualTime returns the hour that is taken where no time is given, and notes it.
func usualTime(p *reader, hour int) []clockTime {
	p.assumed = append(p.assumed, fmt.Sprintf("no time was given: %d:00 is assumed", hour))
	return []clockTime{{hour: hour, sure: true}}
}

// unlikelyHour is the first hour of the morning at which most people are awake. Earlier ones are probably meant for the afternoon.
const unlikelyHour = 7

// noteEarly notes a time such as "at 5", which is taken as 05:00 but may be meant for the afternoon.
func noteEarly(p *reader, c clockTime) {
	if c.sure || c.hour < 1 || c.hour > 11 {
		return
	}
	later := "evening"
	if c.hour < 5 {
		later = "afternoon"
	}
	minutes := ""
	if c.minute > 0 {
		minutes = fmt.Sprintf(":%02d", c.minute)
	}
	p.assumed = append(p.assumed, fmt.Sprintf("%02d:%02d in the morning is assumed; write %d%spm for the %s", c.hour, c.minute, c.hour, minutes, later))
}

// settle turns parts of the day into clock times. A part without a time means its usual hour; with a time, it says am or pm.
// A time that is not in its part is an error.
func (p *reader) settle(t *daytime) error {
	if !t.parted {
		return nil
	}
	if t.clocks == nil {
		t.clocks = usualTime(p, t.part.usual)
	}
	for i, c := range t.clocks {
		meant, ok := t.part.of(c)
		if !ok {
			return p.unclear("%02d:%02d is not %s: write it as 20:00 or 8pm", c.hour, c.minute, t.part.when())
		}
		meant.sure = true
		t.clocks[i] = meant
	}
	return nil
}

// spread reads a number of times a day: "twice a day", "three times daily", and "three times" before "every weekday". It returns 0
// when there is none.
// daily is true when the words say that all days are meant.
func (p *reader) spread() (times int, daily bool, err error) {
	mark := p.pos
	switch n, ok := spec.Number(strings.TrimSuffix(p.word(0), "x")); {
	case p.take("twice"):
		times = 2
	case p.take("thrice"):
		times = 3
	case ok && n >= 2 && (strings.HasSuffix(p.word(0), "x") && p.word(0) != "x" || p.word(1) == "times"):
		times = n
		p.pos++
		_ = p.take("times")
	}
	switch {
	case times == 0:
	case p.take("daily"), p.take("a", "day"), p.take("per", "day"), p.take("each", "day"), p.take("every", "day"):
		return times, true, nil
	// These words leave the days open, which is an error; they are not the start of a prompt.
	case p.take("a", "week"), p.take("weekly"), p.take("per", "week"), p.take("a", "month"), p.take("a", "year"):
		return 0, false, p.unclear("not on which days; try every monday and thursday at 9")
	case (p.word(0) == "every" || p.word(0) == "each") && spec.Unit(p.word(1)) == 0:
		return times, false, nil
	}
	p.pos = mark
	return 0, false, nil
}

// The hours between which "N times a day" is spread evenly.
const (
	firstHour = 9
	lastHour  = 21
)

// evenly spreads n times over the day, from 9:00 to 21:00. It returns nil when they would not be full hours.
func evenly(times int) []clockTime {
	if times < 2 || (lastHour-firstHour)%(times-1) != 0 {
		return nil
	}
	var list []clockTime
	for hour := firstHour; hour <= lastHour; hour += (lastHour - firstHour) / (times - 1) {
		list = append(list, clockTime{hour: hour, sure: true})
	}
	return list
}
