// Package phrase turns a schedule in people's words into a spec. What is not certain is refused with a reason and with
// examples: it never guesses. It is pure: zone and time are given.
package phrase

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/scheduler/spec"
)

// ErrNone says that a text does not begin with a schedule at all; other errors of Resolve and
// Prefix say what was understood and what is wrong with it.
var ErrNone = errors.New("that is not a schedule")

const examples = `try for example "every weekday at 9", "tomorrow at 17:00" or "in 20 minutes"`

// Resolved is what a phrase means.
type Resolved struct {
	Spec      string      // canonical: "cron …", "every …" or "at …", for spec.Parse
	Recurring bool        // false: a single instant
	Words     string      // the phrase as it was given
	Next      []time.Time // the next three instants in the zone asked for; fewer when there are fewer
	Assumed   string      // what was taken because the phrase does not say it, as a sentence for whoever said it; "" when it says all
}

// Resolve reads a schedule in words or as a spec: "every weekday at 9", "in 20 minutes", "every other tuesday at 9", "the last day of the
// month at noon", "0 9 * * 1-5", "@daily", "every 30m", "at 2026-12-24 17:00".
//
// Times hang in zone. Without am or pm they are those of the 24-hour clock, unless a part of the day says otherwise: "at 8 in the
// evening". A part of the day by itself stands for an hour: a morning for 9:00, an afternoon for 15:00, an evening for 20:00; a
// night does not. Days that come again without any time ("every other tuesday") are meant at 9:00 too, and Assumed says so; a single day without a
// time is refused. "Three times a day" are spread evenly from 9:00 to 21:00, when that gives full hours. What skips days, weeks or months is counted
// from the first one that comes. A period starts at now.
//
// A time that has passed and whatever is not certain are errors that name what was understood and give examples.
func Resolve(words string, zone *time.Location, now time.Time) (Resolved, error) {
	r, rest, err := prefix(words, zone, now)
	if err != nil {
		return Resolved{}, err
	}
	if strings.Trim(rest, ".,;! ") != "" {
		return Resolved{}, fmt.Errorf("schedule %q: understood %q, but not %q; %s", words, r.Words, rest, examples)
	}
	return r, nil
}

// Prefix resolves the longest schedule that text begins with and returns the rest of the text, which may begin with
// ":" or "to " (never with a comma) and is empty when the schedule is all there is. A rest that seems to be meant for the schedule too
// ("every 2 weeks" and then "on monday at 9 …") is an error, and so is any rest but those two behind days without a time ("mondays are hard"). A text that does not begin with a schedule is ErrNone.
func Prefix(words string, zone *time.Location, now time.Time) (Resolved, string, error) {
	return prefix(words, zone, now)
}

func prefix(words string, zone *time.Location, now time.Time) (Resolved, string, error) {
	if zone == nil {
		zone = time.UTC
	}
	p := &parser{dayReader: dayReader{&reader{text: words, toks: lex(words)}}, zone: zone, now: now.In(zone)}
	if len(p.toks) == 0 {
		return Resolved{}, "", fmt.Errorf("%w: it is empty; %s", ErrNone, examples)
	}
	s, err := p.schedule()
	if err != nil {
		return Resolved{}, "", err
	}
	if err := p.dangling(); err != nil {
		return Resolved{}, "", err
	}
	if p.timeless && !p.ends() {
		return Resolved{}, "", p.notBehind(atWhatTime)
	}
	r := Resolved{Spec: s.String(), Recurring: s.Recurring(), Words: p.understood(), Next: spec.Preview(s, zone, now, now, 3)}
	if p.timeless {
		r.Assumed = fmt.Sprintf("no time was given: %d:00 is taken", usualHour)
	}
	if len(r.Next) == 0 {
		return Resolved{}, "", fmt.Errorf("schedule %q: no such time comes any more; %s", words, examples)
	}
	_ = p.take(",")
	return r, p.rest(), nil
}

// parser is a text that is being read as a schedule, at some time in some place.
type parser struct {
	dayReader
	zone *time.Location
	now  time.Time
}

// usualHour is what days that come again are meant at when nobody says it: that of a morning.
const usualHour = 9

// atWhatTime is what a day without a time leaves open.
const atWhatTime = `at what time; add one, e.g. "at 9" or "at 17:30"`

// schedule reads a schedule of any kind.
func (p *parser) schedule() (spec.Spec, error) {
	if s, is, err := p.cron(); is {
		return s, err
	}
	for _, read := range []func() (spec.Spec, bool, error){p.every, p.after, p.dated} {
		p.pos = 0
		if s, is, err := read(); is || err != nil {
			return s, err
		}
	}
	return spec.Spec{}, p.unknown()
}

// dangling refuses a rest that goes on about time.
func (p *parser) dangling() error {
	mark := p.pos
	defer func() { p.pos = mark }()
	if err := p.unsayable(); err != nil {
		return err
	}
	if err := p.zoned(); err != nil {
		return err
	}
	_, weekday := weekdayOf(p.word(0))
	switch p.word(0) {
	case "at", "on", "and", "or", "in", "from", "for", "every", "each", ",", "next":
	case "weekdays", "workdays", "weekends", "daily", "today", "tomorrow":
		weekday = true
	default:
		if !weekday {
			return nil
		}
	}
	if weekday {
		return p.unclear("not %q; %s", p.rest(), examples)
	}
	rest := p.rest()
	p.pos++
	_ = p.takeAny("at", "on", "the", "every", "each")
	if !p.aboutTime() {
		return nil
	}
	p.pos = mark
	return p.unclear("not %q; %s", rest, examples)
}

// unsayable refuses what no schedule can say, and tells what can be said in its place.
func (p dayReader) unsayable() error {
	advice := ""
	switch p.word(0) {
	case "except", "but", "excluding":
		if p.word(0) == "but" && !p.butDays() {
			return nil
		}
		advice = `; name the days that count, e.g. "monday to saturday at 9"`
	case "between", "during":
		advice = `; the fields of cron can say hours, e.g. "*/15 9-16 * * 1-5"`
	case "until", "till", "starting", "beginning":
	default:
		return nil
	}
	return p.unclear("not %q: that cannot be said in a schedule%s", p.rest(), advice)
}

// butDays reports whether "but sunday", "but not on sundays" or the like comes next.
func (p dayReader) butDays() bool {
	mark := p.pos
	defer func() { p.pos = mark }()
	p.pos++
	_ = p.take("not")
	_ = p.take("on")
	_, weekday := weekdayOf(p.word(0))
	return weekday || p.word(0) == "weekends" || p.word(0) == "weekdays"
}

// aboutTime reports whether a time, a period or a day comes next.
func (p *parser) aboutTime() bool {
	if _, clock, err := p.clock(true); clock || err != nil {
		return true
	}
	if _, period := p.period(); period {
		return true
	}
	_, weekday := weekdayOf(p.word(0))
	_, _, date := isoDate(p.word(0))
	_, part := partOf(p.word(0))
	_, numbered := ordinal(p.word(0))
	switch p.word(0) {
	case "today", "tomorrow", "weekday", "weekdays", "weekend", "weekends", "day", "daily", "hour", "last":
		return true
	}
	return weekday || date || part || numbered
}

// cron reads "cron …", a macro, or bare fields; is: the text means to be one of these.
func (p *reader) cron() (s spec.Spec, is bool, err error) {
	first := p.word(0)
	if strings.HasPrefix(first, "@") {
		return p.macro()
	}
	var fields []token
	for start, end := range chunks(p.text) {
		fields = append(fields, token{p.text[start:end], start, end})
	}
	named := strings.EqualFold(fields[0].text, "cron")
	if named {
		fields = fields[1:]
	}
	if !named && !looksLikeCron(fields) {
		return spec.Spec{}, false, nil
	}
	fields, s, err = longestCron(fields)
	if err != nil {
		return spec.Spec{}, true, err
	}
	p.skipTo(fields[len(fields)-1].end)
	return s, true, nil
}

func (p *reader) macro() (spec.Spec, bool, error) {
	name := p.word(0)
	p.pos++
	if name == "@every" {
		period, ok := p.period()
		if !ok {
			return spec.Spec{}, true, p.unclear("not how often; try @every 30m")
		}
		s, err := spec.Every(period)
		return s, true, err
	}
	s, err := spec.Parse("cron " + name)
	return s, true, err
}
