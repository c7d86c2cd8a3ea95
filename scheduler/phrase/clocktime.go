package phrase

import (
	"slices"
	"strings"

	"hob/scheduler/spec"
)

// clockTime is a time of day.
type clockTime struct {
	hour, minute, second int
	midnight             bool // the word midnight was used, which is ambiguous with a single date
	sure                 bool // am, pm, noon or a leading zero: a part of the day cannot change the hour
}

// seconds counts from 0:00 on the clock, as spec.Instant takes it.
func (c clockTime) seconds() int { return c.hour*3600 + c.minute*60 + c.second }

// clocks reads the times of a day: "at 9", "at 5pm", "17:00", "at 9 and 17", "at noon", "at half past 7". It returns none and no
// error when no time comes next.
func (p *reader) clocks() ([]clockTime, error) {
	// A comma or "at" belongs to the time only if a time follows; otherwise it goes back to the rest.
	mark := p.pos
	_ = p.take(",")
	at := p.take("at")
	first, ok, err := p.clock(at)
	if err != nil || !ok {
		p.pos = mark
		return nil, err
	}
	found := []clockTime{first}
	// More times, separated by commas or "and". What is no time belongs to the rest of the phrase.
	for {
		mark = p.pos
		comma, and := p.take(","), p.take("and")
		if !comma && !and {
			break
		}
		_ = p.take("at")
		next, ok, err := p.clock(at)
		if err != nil {
			return nil, err
		}
		if !ok {
			p.pos = mark
			break
		}
		found = append(found, next)
	}
	// "at 5 days" is not a time.
	if spec.Unit(p.word(0)) > 0 {
		return nil, p.unclear("not %q after it; %s", p.word(0), examples)
	}
	return found, nil
}

// clock reads one time of day. With bare, a number alone is an hour.
// Without bare, a number needs minutes, am, pm or o'clock.
func (p *reader) clock(bare bool) (clockTime, bool, error) {
	switch {
	case p.takeAny("noon", "midday"):
		return clockTime{hour: 12, sure: true}, true, nil
	case p.take("midnight"):
		return clockTime{midnight: true, sure: true}, true, nil
	}
	// This comes before numeric, which would read the 20 of "20 past 7" as an hour.
	if c, ok, err := p.beside(); ok || err != nil {
		return c, ok, err
	}
	return p.numeric(bare)
}

// numeric reads "9", "9:15", "09:15:30", "5pm", "5 p.m.", "nine o'clock", "nine thirty".
func (p *reader) numeric(bare bool) (clockTime, bool, error) {
	mark := p.pos
	body, half := splitHalf(p.word(0))
	// Where an hour is expected, 7.30 is a time; elsewhere it may be any number.
	if bare {
		body = dotted(body)
	}
	parts, ok := clockParts(body)
	if !ok {
		return clockTime{}, false, nil
	}
	p.pos++
	// "ten thirty"
	// An hour in letters may be followed by minutes in letters, an hour in digits may not.
	if parts[0] > 0 && len(parts) == 1 && !strings.ContainsAny(body, "0123456789") {
		parts = append(parts, p.minuteWord()...)
	}
	// "10 pm" and "10 p.m.", where am or pm is a word of its own
	// The 1 in front gives splitHalf a body, without which it finds no am or pm.
	if one, next := splitHalf("1" + p.word(0)); half == "" && one == "1" && next != "" {
		half = next
		p.pos++
		// The lexer has made the last full stop of "p.m." a token of its own.
		_ = strings.HasSuffix(p.toks[p.pos-1].text, ".m") && p.take(".")
	}
	oclock := p.takeAny("o'clock", "o’clock", "oclock")
	// A bare number is only a time after "at" or "o'clock".
	if len(parts) == 1 && !bare && !oclock && half == "" {
		p.pos = mark
		return clockTime{}, false, nil
	}
	// The words are certainly meant as a time here, so an impossible one is an error and does not go to the rest.
	c, ok := timeOf(parts, half)
	if !ok {
		p.pos = mark
		return clockTime{}, false, p.unclear("%q is not a time of day; write it as 17:00 or 5pm", strings.TrimSpace(body+half))
	}
	c.sure = half != "" || body[0] == '0'
	return c, true, nil
}

// minuteWord reads the minutes of "nine thirty".
func (p *reader) minuteWord() []int {
	// At most one of the words comes next, so the order of the map does not matter.
	for word, minutes := range map[string]int{"fifteen": 15, "thirty": 30, "forty-five": 45} {
		if p.take(word) {
			return []int{minutes}
		}
	}
	return nil
}

// beside reads a time by its distance from a full hour: "half past 7", "quarter to 8", "20 minutes past 7", "20 past 7". It does
// not read "5 to 9", which may mean two hours, and "half 7", which means different times in different countries.
func (p *reader) beside() (clockTime, bool, error) {
	mark := p.pos
	half := p.take("half")
	minutes, counted, ok := p.pastMinutes(half)
	past := p.take("past")
	to := !past && counted && !half && p.take("to")
	if !ok || !past && !to {
		// This is no distance from the hour: give the words back. Only "half 7" is an error, because it looks like one.
		p.pos = mark
		if _, hour := spec.Number(p.word(1)); half && hour {
			return clockTime{}, false, p.unclear("not whether %q is before or after the hour: write it as 6:30", p.word(0)+" "+p.word(1))
		}
		return clockTime{}, false, nil
	}
	// The hour must be full: "half past 7:15" has no meaning.
	c, ok, err := p.numeric(true)
	if !ok || err != nil || c.minute > 0 {
		p.pos = mark
		return clockTime{}, false, err
	}
	// "quarter to 8" counts back from the hour, also over midnight.
	if to {
		c.hour, minutes = (c.hour+23)%24, 60-minutes
	}
	c.minute = minutes
	return c, true, nil
}

// pastMinutes reads the distance from the full hour in minutes. counted is true for words that can only mean minutes.
// half says that the caller has read that word already.
func (p *reader) pastMinutes(half bool) (minutes int, counted, ok bool) {
	_ = !half && p.take("a")
	if half || p.take("quarter") {
		return map[bool]int{true: 30, false: 15}[half], true, true
	}
	n, ok := spec.Number(p.word(0))
	if !ok || n < 1 || n > 59 {
		return 0, false, false
	}
	p.pos++
	return n, p.takeAny("minutes", "minute", "min"), true
}

// splitHalf removes am or pm from a word.
func splitHalf(word string) (body, half string) {
	for suffix, half := range map[string]string{"am": "am", "a.m": "am", "pm": "pm", "p.m": "pm"} {
		if body, ok := strings.CutSuffix(word, suffix); ok && body != "" {
			return body, half
		}
	}
	return word, ""
}

// dotted rewrites "7.30" as "7:30".
func dotted(body string) string {
	if hour, minute, ok := strings.Cut(body, "."); ok && len(hour) <= 2 && len(minute) == 2 {
		return hour + ":" + minute
	}
	return body
}

// clockParts reads "9", "nine", "9:15" or "9:15:30".
func clockParts(body string) ([]int, bool) {
	// An hour in letters. Digits follow below, as one to three groups.
	if n, ok := spec.Number(body); ok && n <= 24 && strings.Trim(body, "abcdefghijklmnopqrstuvwxyz") == "" {
		return []int{n}, true
	}
	var parts []int
	// The range is not checked here: timeOf refuses 25:00, so that the error can quote it.
	for i, text := range strings.Split(body, ":") {
		n, err := digits(text)
		if err != nil || len(text) > 2 || i > 2 || (i > 0 && len(text) != 2) {
			return nil, false
		}
		parts = append(parts, n)
	}
	return parts, true
}

// timeOf returns the time of hours, minutes and seconds, with am or pm; false if there is no such time.
func timeOf(parts []int, half string) (clockTime, bool) {
	// Minutes and seconds that are not given are 0.
	parts = append(slices.Clone(parts), 0, 0)
	c := clockTime{hour: parts[0], minute: parts[1], second: parts[2]}
	if half != "" {
		if c.hour < 1 || c.hour > 12 {
			return c, false
		}
		// 12 am is midnight and 12 pm is noon.
		c.hour %= 12
		if half == "pm" {
			c.hour += 12
		}
	}
	return c, c.hour < 24 && c.minute < 60 && c.second < 60
}
