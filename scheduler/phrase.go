package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoSchedule says that a text does not begin with a schedule at all; other errors of Resolve and
// Prefix say what was understood and what is wrong with it.
var ErrNoSchedule = errors.New("that is not a schedule")

const examples = `try for example "every weekday at 9", "tomorrow at 17:00" or "in 20 minutes"`

// Resolved is what a phrase means.
type Resolved struct {
	Spec      string      // canonical: "cron …", "every …" or "at …", for ParseSpec
	Recurring bool        // false: a single instant
	Words     string      // the phrase as it was given
	Next      []time.Time // the next three instants in the zone asked for; fewer when there are fewer
}

// Resolve reads a schedule in words or as a spec: "every weekday at 9", "in 20 minutes", "0 9 * * 1-5",
// "@daily", "every 30m", "at 2026-12-24 17:00". Times without am or pm are those of the 24-hour clock and hang in
// zone. A period starts at now. A time that has passed and whatever is not certain are errors that name what was
// understood and give examples.
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
// ("every 2 weeks" and then "on monday at 9 …") is an error. A text that does not begin with a schedule is ErrNoSchedule.
func Prefix(words string, zone *time.Location, now time.Time) (Resolved, string, error) {
	return prefix(words, zone, now)
}

func prefix(words string, zone *time.Location, now time.Time) (Resolved, string, error) {
	if zone == nil {
		zone = time.UTC
	}
	p := &phrase{dayReader: dayReader{&reader{text: words, toks: lex(words)}}, zone: zone, now: now.In(zone)}
	if len(p.toks) == 0 {
		return Resolved{}, "", fmt.Errorf("%w: it is empty; %s", ErrNoSchedule, examples)
	}
	spec, err := p.schedule()
	if err != nil {
		return Resolved{}, "", err
	}
	if err := p.dangling(); err != nil {
		return Resolved{}, "", err
	}
	r := Resolved{Spec: spec.String(), Recurring: spec.Recurring(), Words: p.understood(), Next: Preview(spec, zone, now, now, 3)}
	if len(r.Next) == 0 {
		return Resolved{}, "", fmt.Errorf("schedule %q: no such time comes any more; %s", words, examples)
	}
	_ = p.take(",")
	return r, p.rest(), nil
}

// Preview lists the first n slots of a spec after `after`, in zone.
func Preview(spec Spec, zone *time.Location, after, anchor time.Time, n int) []time.Time {
	var list []time.Time
	for len(list) < n {
		next, ok := spec.Next(after, zone, anchor)
		if !ok {
			break
		}
		list = append(list, next.In(zone))
		after = next
	}
	return list
}

// phrase is a text that is being read as a schedule, at some time in some place.
type phrase struct {
	dayReader
	zone *time.Location
	now  time.Time
}

// schedule reads a schedule of any kind.
func (p *phrase) schedule() (Spec, error) {
	if spec, is, err := p.cron(); is {
		return spec, err
	}
	for _, read := range []func() (Spec, bool, error){p.every, p.after, p.dated} {
		p.pos = 0
		if spec, is, err := read(); is || err != nil {
			return spec, err
		}
	}
	return Spec{}, p.unknown()
}

// dangling refuses a rest that goes on about time.
func (p *phrase) dangling() error {
	mark := p.pos
	defer func() { p.pos = mark }()
	switch p.word(0) {
	case "except", "until", "till", "between", "starting", "beginning":
		return p.unclear("not %q: that cannot be said in a schedule", p.rest())
	case "at", "on", "and", "or", "in", "every", ",", "next":
	default:
		return nil
	}
	rest := p.rest()
	p.pos++
	_ = p.takeAny("at", "on", "the", "every")
	if !p.aboutTime() {
		return nil
	}
	p.pos = mark
	return p.unclear("not %q; %s", rest, examples)
}

// aboutTime reports whether a time, a period or a day comes next.
func (p *phrase) aboutTime() bool {
	if _, clock, err := p.clock(true); clock || err != nil {
		return true
	}
	if _, period := p.period(); period {
		return true
	}
	_, weekday := weekdayOf(p.word(0))
	_, _, date := isoDate(p.word(0))
	switch p.word(0) {
	case "today", "tomorrow", "tonight", "weekday", "weekdays", "weekend", "weekends", "day", "daily":
		return true
	}
	return weekday || date
}

// cron reads "cron …", a macro, or bare fields; is: the text means to be one of these.
func (p *reader) cron() (spec Spec, is bool, err error) {
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
		return Spec{}, false, nil
	}
	fields, spec, err = longestCron(fields)
	if err != nil {
		return Spec{}, true, err
	}
	p.skipTo(fields[len(fields)-1].end)
	return spec, true, nil
}

func (p *reader) macro() (Spec, bool, error) {
	name := p.word(0)
	p.pos++
	if name == "@every" {
		period, ok := p.period()
		if !ok {
			return Spec{}, true, p.unclear("not how often; try @every 30m")
		}
		spec, err := makeEvery(period)
		return spec, true, err
	}
	spec, err := parseMacro([]string{name})
	return spec, true, err
}
