package phrase

import (
	"fmt"
	"strings"
	"time"

	"hob/scheduler/spec"
)

// date reads one day: "tomorrow", "next friday", "on 2026-12-24", "24 december". A date and time in one word
// ("2026-12-24T17:00") is split, and the time is read next.
// It returns false and leaves all words when no day comes next.
func (p *parser) date() (day, bool, error) {
	mark := p.in.pos
	_ = p.in.takeAny("on", "at")
	switch {
	case p.in.take("today"):
		d := p.today(0)
		d.current = true
		return d, true, nil
	case p.in.word(0) == "yesterday" && p.days.yesterday():
		return day{}, false, p.in.unclear("yesterday has passed; give a later time, e.g. tomorrow at 17:00")
	case p.in.word(0) == "next" && (p.in.word(1) == "week" || p.in.word(1) == "month" || p.in.word(1) == "year"),
		p.in.word(0) == "this" && (p.in.word(1) == "week" || p.in.word(1) == "weekend" || p.in.word(1) == "month"):
		p.in.pos += 2
		return day{}, false, p.in.unclear("not on which day; name one, e.g. next monday at 9")
	case p.in.take("tonight"):
		d := p.today(0)
		d.tonight = true
		return d, true, nil
	case p.thisPart():
		return p.today(0), true, nil
	case p.in.take("tomorrow"):
		return p.today(1), true, nil
	case p.in.take("the", "day", "after", "tomorrow"), p.in.take("day", "after", "tomorrow"):
		return p.today(2), true, nil
	}
	// Only when no relative day fits, try weekdays and dates.
	if d, ok := p.weekday(); ok {
		return d, true, nil
	}
	if d, ok, err := p.numericDate(); ok || err != nil {
		return d, ok, err
	}
	if d, ok, err := p.namedDate(); ok || err != nil {
		return d, ok, err
	}
	p.in.pos = mark
	return day{}, false, nil
}

// thisPart reads "this" before a part of the day: "this evening".
func (p *parser) thisPart() bool {
	_, part := partOf(p.in.word(1))
	return part && p.in.take("this")
}

// weekday reads "friday", "this friday" and "next friday". All mean the first Friday that comes; only "next" excludes today.
func (p *parser) weekday() (day, bool) {
	mark := p.in.pos
	next := p.in.take("next")
	this := !next && p.in.takeAny("this", "coming")
	wanted, ok := weekdayOf(p.in.word(0))
	if !ok || pluralDay(p.in.word(0)) {
		p.in.pos = mark
		return day{}, false
	}
	p.in.pos++
	// The wanted weekday is 0 to 6 days ahead.
	ahead := (wanted - int(p.now.Weekday()) + 7) % 7
	if next && ahead == 0 {
		ahead = 7
	}
	d := p.today(ahead)
	if next && ahead < 7 {
		p.in.assumed = append(p.in.assumed, fmt.Sprintf("the next %s is assumed, %d %s; for a later one write its date", time.Weekday(wanted), d.day, d.month))
	}
	// If the time of day has passed, single adds these days. With "this" the passed time is an error.
	if !this {
		d.days = 7
	}
	return d, true
}

// numericDate reads 2026-12-24. It reads 24.12.2026 and 12/24/2026 because one number cannot be a month; 05/06/2026 is ambiguous.
func (p *parser) numericDate() (day, bool, error) {
	if d, ok := splitDay(p.in.word(0)); ok {
		p.in.pos++
		if d.day > spec.MonthDays(d.year, int(d.month)) {
			return day{}, false, p.in.unclear("%s %d has no day %d", d.month, d.year, d.day)
		}
		return d, true, nil
	}
	if d, ok, err := shortDate(p); ok || err != nil {
		return d, ok, err
	}
	date, _, ok := isoDate(p.in.word(0))
	if !ok {
		return day{}, false, p.days.unclearDate()
	}
	// A time after a T becomes the next word, which the caller reads as the time of day.
	p.splitDate()
	p.in.pos++
	y, m, d := date.Date()
	return day{year: y, month: m, day: d, named: true}, true, nil
}

// unclearDate refuses a date that does not exist, and a date whose day and month are ambiguous.
// It returns nil for a word that does not look like a date.
func (p dayReader) unclearDate() error {
	word := p.in.word(0)
	// The words are in lower case, so the T of RFC 3339 is a t here.
	date, _, _ := strings.Cut(word, "t")
	y, rest, _ := strings.Cut(date, "-")
	m, d, dashed := strings.Cut(rest, "-")
	year, yearErr := digits(y)
	month, monthErr := digits(m)
	day, dayErr := digits(d)
	switch {
	case dashed && len(y) == 4 && yearErr == nil && monthErr == nil && dayErr == nil:
		p.in.pos++
		if len(m) == 2 && len(d) == 2 && month >= 1 && month <= 12 && day > spec.MonthDays(year, month) {
			return p.in.unclear("%s %d has no day %d", time.Month(month), year, day)
		}
		return p.in.unclear("that is not a date: write it as 2026-12-24")
	case strings.Trim(word, "0123456789/") == "" && strings.Count(word, "/") == 2, strings.Trim(word, "0123456789.") == "" && strings.Count(word, ".") == 2:
		p.in.pos++
		if noMonth(word) {
			return p.in.unclear("that is not a date: write it as 2026-12-24")
		}
		return p.in.unclear("not which is the day and which the month: write dates as 2026-12-24")
	}
	return nil
}

// noMonth reports whether neither of the first two numbers of a date with a year can be its month.
func noMonth(word string) bool {
	parts := strings.FieldsFunc(word, func(r rune) bool { return r == '.' || r == '/' })
	if len(parts) != 3 || len(parts[2]) != 4 {
		return false
	}
	first, err := digits(parts[0])
	second, err2 := digits(parts[1])
	return err != nil || err2 != nil || first < 1 || second < 1 || first > 12 && second > 12
}

// splitDay reads a day, a month and a year separated by full stops or slashes, in the only possible order. The month may have no such day.
func splitDay(word string) (day, bool) {
	sign := "/"
	if strings.Contains(word, ".") {
		sign = "."
	}
	parts := strings.Split(word, sign)
	if len(parts) != 3 || len(parts[0]) > 2 || len(parts[1]) > 2 || len(parts[2]) != 4 {
		return day{}, false
	}
	first, err := digits(parts[0])
	second, err2 := digits(parts[1])
	year, err3 := digits(parts[2])
	// A number above 12 can only be the day. If both may be months, they must be equal.
	if second > 12 {
		first, second = second, first
	}
	if err != nil || err2 != nil || err3 != nil || first <= 12 && first != second || second < 1 || second > 12 {
		return day{}, false
	}
	return day{year: year, month: time.Month(second), day: first, named: true}, true
}

// shortDate reads "24/12", "12/24", "24.12." and "24.12", the next such day, if a time follows. One number must be above 12. Without a time
// the word may be anything else ("24/7").
func shortDate(p *parser) (day, bool, error) {
	sign := "/"
	if strings.Contains(p.in.word(0), ".") {
		sign = "."
	}
	first, second, ok := strings.Cut(p.in.word(0), sign)
	a, err := digits(first)
	b, err2 := digits(second)
	if !ok || err != nil || err2 != nil || a < 1 || b < 1 || a > 31 || b > 31 || a > 12 && b > 12 {
		return day{}, false, nil
	}
	mark := p.in.pos
	p.in.pos++
	_ = sign == "." && p.in.take(".")
	switch {
	case !p.days.timeFollows():
		p.in.pos = mark
		return day{}, false, nil
	case a <= 12 && b <= 12 && a != b && sign == "/":
		return day{}, false, p.in.unclear("not which is the day and which the month: write the date as 24 december or 2026-12-24")
	case b > 12 && sign == "/":
		a, b = b, a
	}
	if b > 12 {
		p.in.pos = mark
		return day{}, false, nil
	}
	d, err := thisYear(p, a, b)
	return d, err == nil, err
}

// leapYear is any year with a 29 February.
const leapYear = 2028

// splitDate cuts a date and a time that are joined by a T into two words.
func (p *parser) splitDate() {
	tok := p.in.toks[p.in.pos]
	if len(tok.text) <= 10 {
		return
	}
	// Both words keep their positions in the text, for quotes in errors and for the rest.
	first := token{tok.text[:10], tok.start, tok.start + 10}
	second := token{tok.text[11:], tok.start + 11, tok.end}
	// The first slice has no spare capacity, so append copies it and does not overwrite the words that follow.
	p.in.toks = append(p.in.toks[:p.in.pos:p.in.pos], append([]token{first, second}, p.in.toks[p.in.pos+1:]...)...)
}

// isoDate reads a date and, after a T, a time.
func isoDate(word string) (time.Time, string, bool) {
	if len(word) < 10 || len(word) > 10 && (word[10] != 't' || len(word) == 11) {
		return time.Time{}, "", false
	}
	t, err := time.Parse(time.DateOnly, word[:10])
	return t, word[10:], err == nil
}

// namedDate reads "24 december 2026". Without a year it means the next such day.
// If the day has passed this year, single moves it on.
func (p *parser) namedDate() (day, bool, error) {
	d, m, ok := p.days.monthDay()
	if !ok {
		return day{}, false, nil
	}
	mark := p.in.pos
	_ = p.in.take(",")
	if year, err := digits(p.in.word(0)); err == nil && len(p.in.word(0)) == 4 {
		p.in.pos++
		if d > spec.MonthDays(year, m) {
			return day{}, false, p.in.unclear("%s %d has no day %d", time.Month(m), year, d)
		}
		return day{year: year, month: time.Month(m), day: d, named: true}, true, nil
	}
	p.in.pos = mark
	date, err := thisYear(p, d, m)
	return date, err == nil, err
}

// thisYear returns the next such day of a month. If its time has passed today, single moves it on. The year in which the month comes next decides
// whether 29 February exists.
func thisYear(p *parser, d, m int) (day, error) {
	if d > spec.MonthDays(leapYear, m) {
		return day{}, p.in.unclear("%s has no day %d", time.Month(m), d)
	}
	date := day{year: p.now.Year(), month: time.Month(m), day: d, years: 1, named: true}
	if date.month < p.now.Month() {
		date.year++
	}
	return date, leapDay(p, date.year, date)
}

// leapDay refuses 29 February in a year without one, and names the next.
func leapDay(p *parser, year int, d day) error {
	next := year
	for d.day > spec.MonthDays(next, int(d.month)) {
		next++
	}
	if next == year {
		return nil
	}
	return p.in.unclear("%s %d has no day %d; the next one is in %d: write %d-%02d-%02d", d.month, year, d.day, next, next, d.month, d.day)
}
