// Package phrase turns a schedule in English into a spec. It never guesses: an ambiguous phrase is an error with a reason and
// examples. It is pure: the caller passes the zone and the time.
//
// lex cuts the text into words. The parser tries the forms one after the other (cron, periods, moments, days with times); each
// method steps over the words that it understands. Prefix returns the words that are left, which are the prompt of a job.
package phrase

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/daemon/text"
	"hob/scheduler/spec"
)

// ErrNone means that a text does not begin with a schedule. Other errors of Resolve and Prefix say which part was understood and
// what is wrong with it.
var ErrNone = errors.New("that is not a schedule")

// examples ends an error with a recurring, a dated and a relative phrase.
const examples = `try for example "every weekday at 9", "tomorrow at 17:00" or "in 20 minutes"`

// Resolved is the meaning of a phrase.
type Resolved struct {
	Spec      string      // canonical: "cron …", "every …" or "at …", for spec.Parse
	Recurring bool        // false for a single instant
	Words     string      // the phrase as given
	Next      []time.Time // the next three instants in the given zone, or fewer if there are no more
	Assumed   string      // sentences, one in a line, about what was assumed because the phrase does not say it, "" for nothing
}

// Resolve reads a schedule in words or as a spec: "every weekday at 9", "in 20 minutes", "every other tuesday at 9", "the last day of the
// month at noon", "0 9 * * 1-5", "@daily", "every 30m", "at 2026-12-24 17:00".
//
// Times are in zone. Without am or pm they use the 24-hour clock, unless a part of the day says otherwise: "at 8 in the evening".
// A part of the day without a time stands for an hour: morning is 9:00, afternoon 15:00, evening and night 20:00.
// Recurring days without a time ("every other tuesday") are at 9:00; a single day without a time is an error. Assumed names such an hour,
// and an early one ("at 5") that may be meant for the afternoon.
// "Three times a day" is spread evenly from 9:00 to 21:00, if that gives full hours. "Every other" days, weeks and months are
// counted from the first one that comes. A period starts at now.
//
// A time that has passed and an ambiguous phrase are errors. They quote the part that was understood and give examples.
func Resolve(words string, zone *time.Location, now time.Time) (Resolved, error) {
	r, rest, err := Prefix(words, zone, now)
	if err != nil {
		return Resolved{}, err
	}
	if strings.Trim(rest, ".,;! ") != "" {
		return Resolved{}, fmt.Errorf("schedule %q: understood %q, but not %q; %s", words, r.Words, rest, examples)
	}
	return r, nil
}

// Prefix resolves the longest schedule at the start of text and returns the rest. The rest may begin with ":" or "to ", never
// with a comma, and is empty when the text is only a schedule. A rest that seems to belong to the schedule is an error ("every 2
// weeks", then "on monday at 9 …"). After days without a time, the rest must begin with ":" or "to " ("mondays are hard" is an
// error). If text does not begin with a schedule, the error is ErrNone.
func Prefix(words string, zone *time.Location, now time.Time) (Resolved, string, error) {
	r, rest, err := prefix(words, zone, now)
	if err != nil {
		err = corrected(err, words, zone, now)
	}
	return r, rest, err
}

// names are the words of a schedule that a misspelt word is compared with.
const names = "monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december " +
	"minute minutes hour hours day days week weeks month months year weekday weekdays weekend morning afternoon evening night noon midnight today tonight tomorrow daily weekly monthly hourly every"

// corrected adds to an error the name that was probably meant by a misspelt word, if the text begins with a schedule once it has that name.
func corrected(err error, words string, zone *time.Location, now time.Time) error {
	toks := lex(words)
	for _, t := range toks[:min(len(toks), 12)] { // a text may be long
		for _, name := range strings.Fields(names) {
			// As many letters may differ as in a misspelt command of the interpreter.
			if t.text == name || len(t.text) < 3 || text.Distance(t.text, name) > (len(name)+2)/4 {
				continue
			}
			if _, _, wrong := prefix(words[:t.start]+name+words[t.end:], zone, now); wrong == nil {
				return fmt.Errorf("%w; did you mean %s?", err, name)
			}
		}
	}
	return err
}

// prefix reads a schedule at the start of the words and returns the rest. A schedule without a time gets the usual hour, which the result
// reports.
func prefix(words string, zone *time.Location, now time.Time) (Resolved, string, error) {
	zone = cmp.Or(zone, time.UTC)
	in := &reader{text: words, toks: lex(words)}
	p := &parser{in: in, days: dayReader{in}, zone: zone, now: now.In(zone)}
	if len(p.in.toks) == 0 {
		return Resolved{}, "", fmt.Errorf("%w: it is empty; %s", ErrNone, examples)
	}
	// Read the schedule, then make sure that what follows does not belong to it.
	s, err := p.schedule()
	if err != nil {
		return Resolved{}, "", err
	}
	if err := p.dangling(); err != nil {
		return Resolved{}, "", err
	}
	if p.in.timeless && !p.days.ends() {
		return Resolved{}, "", p.in.unclearEnd(atWhatTime)
	}
	r := Resolved{Spec: s.String(), Recurring: s.Recurring(), Words: p.in.understood(), Next: spec.Preview(s, zone, now, now, 3)}
	r.Assumed = strings.Join(p.in.assumed, "\n")
	if len(r.Next) == 0 {
		return Resolved{}, "", fmt.Errorf("schedule %q: no such time comes any more; %s", words, examples)
	}
	_ = p.in.take(",")
	return r, p.in.rest(), nil
}

// parser reads a text as a schedule, at a given time in a given zone.
type parser struct {
	in   *reader
	days dayReader
	zone *time.Location
	now  time.Time
}

// usualHour is the hour of recurring days without a time. It is the same as that of a morning.
const usualHour = 9

// atWhatTime names what is missing in a day without a time, for errors.
const atWhatTime = `at what time; add one, e.g. "at 9" or "at 17:30"`

// schedule reads a schedule of any kind.
func (p *parser) schedule() (spec.Spec, error) {
	if s, is, err := p.in.cron(); is {
		return s, err
	}
	// Each form begins at the first word. The first that matches or returns an error decides.
	for _, read := range []func() (spec.Spec, bool, error){p.every, p.after, p.dated} {
		p.in.pos = 0
		if s, is, err := read(); is || err != nil {
			return s, err
		}
	}
	return spec.Spec{}, p.in.unknown()
}

// dangling refuses a rest that also speaks about time.
func (p *parser) dangling() error {
	mark := p.in.pos
	// The position is restored: this only looks ahead.
	defer func() { p.in.pos = mark }()
	if err := p.days.unsayable(); err != nil {
		return err
	}
	if err := p.zoned(); err != nil {
		return err
	}
	// Words that would continue a schedule, but were not understood, must not be dropped silently.
	_, weekday := weekdayOf(p.in.word(0))
	switch p.in.word(0) {
	case "at", "on", "and", "or", "in", "from", "for", "every", "each", ",", "next":
	case "weekdays", "workdays", "weekends", "daily", "today", "tomorrow":
		weekday = true
	default:
		if !weekday {
			return nil
		}
	}
	// A day here certainly belongs to the schedule. The other words do so only before a time or a day.
	if weekday {
		return p.in.unclear("not %q; %s", p.in.rest(), examples)
	}
	rest := p.in.rest()
	p.in.pos++
	_ = p.in.takeAny("at", "on", "the", "every", "each")
	if !p.aboutTime() {
		return nil
	}
	p.in.pos = mark
	return p.in.unclear("not %q; %s", rest, examples)
}

// unsayable refuses phrases that no schedule can express, and suggests others.
func (p dayReader) unsayable() error {
	advice := ""
	switch p.in.word(0) {
	case "except", "but", "excluding":
		// "but" may also begin a prompt.
		if p.in.word(0) == "but" && !p.butDays() {
			return nil
		}
		advice = `; name the days that count, e.g. "monday to saturday at 9"`
	case "between", "during":
		advice = `; the fields of cron can say hours, e.g. "*/15 9-16 * * 1-5"`
	case "until", "till", "starting", "beginning":
	default:
		return nil
	}
	return p.in.unclear("not %q: that cannot be said in a schedule%s", p.in.rest(), advice)
}

// butDays reports whether "but sunday", "but not on sundays" or the like comes next.
func (p dayReader) butDays() bool {
	mark := p.in.pos
	defer func() { p.in.pos = mark }()
	p.in.pos++
	_ = p.in.take("not")
	_ = p.in.take("on")
	_, weekday := weekdayOf(p.in.word(0))
	return weekday || p.in.word(0) == "weekends" || p.in.word(0) == "weekdays"
}

// aboutTime reports whether a time, a period or a day comes next.
// It may step over words; callers restore the position.
func (p *parser) aboutTime() bool {
	if _, clock, err := p.in.clock(true); clock || err != nil {
		return true
	}
	if _, period := p.in.period(); period {
		return true
	}
	_, weekday := weekdayOf(p.in.word(0))
	_, _, date := isoDate(p.in.word(0))
	_, part := partOf(p.in.word(0))
	_, numbered := ordinal(p.in.word(0))
	switch p.in.word(0) {
	case "today", "tomorrow", "weekday", "weekdays", "weekend", "weekends", "day", "daily", "hour", "last":
		return true
	}
	return weekday || date || part || numbered
}

// cron reads "cron …", a macro, or bare fields. is reports whether the text is meant as one of these.
func (p *reader) cron() (s spec.Spec, is bool, err error) {
	first := p.word(0)
	if strings.HasPrefix(first, "@") {
		return p.macro()
	}
	// The lexer would cut "mon,fri" at the comma, so fields are separated by white space only.
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
	// Go on with the words of the lexer after the last field.
	p.skipTo(fields[len(fields)-1].end)
	return s, true, nil
}

// macro reads a schedule that begins with @.
// The names are those of crontab(5) without @reboot; @every is robfig/cron's.
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
