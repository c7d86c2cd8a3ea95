package scheduler

import (
	"slices"
	"strings"
	"time"
)

// dayset is days that come again, as the last three fields of a cron spec.
type dayset struct{ dom, month, dow string }

func (d dayset) String() string {
	text := ""
	for _, f := range []string{d.dom, d.month, d.dow} {
		if f == "" {
			f = "*"
		}
		text += " " + f
	}
	return text
}

// dayReader reads the names of days.
type dayReader struct{ *reader }

// recurring reads days that come again: "every weekday", "daily", "mondays and thursdays", "every month on the 1st".
// Nil and no error: none stand here.
func (p dayReader) recurring() (*dayset, error) {
	mark := p.pos
	every := p.takeAny("every", "each")
	if !every {
		_ = p.take("on")
	}
	set := p.commonDays(every)
	switch {
	case set != nil:
	case every && p.take("week") || p.take("weekly"):
		set = p.namedDays(p.take("on"))
	case every && p.take("month") || p.take("monthly"):
		set = p.monthDays(p.take("on"))
	case every && p.take("year") || p.takeAny("yearly", "annually"):
		set = p.yearDay(p.take("on"))
	default:
		set = p.daysByName(every)
	}
	switch {
	case set != nil:
		return set, nil
	case p.pos == mark || !every && p.pos == mark+1 && p.toks[mark].text == "on":
		p.pos = mark
		return nil, nil
	case !p.more():
		return nil, p.unclear("not which day; %s", examples)
	}
	return nil, p.unclear("not %q; %s", p.rest(), examples)
}

func (p dayReader) commonDays(every bool) *dayset {
	switch {
	case every && p.take("day"), !every && p.take("daily"):
		return &dayset{}
	case every && p.takeAny("weekday", "workday"), p.takeAny("weekdays", "workdays"):
		return &dayset{dow: "1-5"}
	case every && p.take("weekend"), p.take("weekends"):
		return &dayset{dow: "0,6"}
	}
	return nil
}

// daysByName reads what needs "every" or a plural: weekdays, "1st of every month", "every 24 december".
func (p dayReader) daysByName(every bool) *dayset {
	mark := p.pos
	if set := p.namedDays(every || pluralDay(p.word(0)) || p.rangeOfDays()); set != nil {
		return set
	}
	if set := p.yearDay(every); set != nil {
		return set
	}
	_ = p.take("the")
	set := p.monthDays(true)
	ofMonth := p.take("of", "every", "month") || p.take("of", "each", "month") || every && p.take("of", "the", "month")
	if set == nil || !ofMonth && !every {
		p.pos = mark
		return nil
	}
	return set
}

// rangeOfDays reports whether "mon-fri" or "monday to friday" comes next, which can only come again.
func (p dayReader) rangeOfDays() bool {
	mark := p.pos
	defer func() { p.pos = mark }()
	days := numbers{}
	return p.dayRange(&days) && len(days) > 1
}

// namedDays reads "monday", "mon-fri", "monday to friday", "monday, wednesday and friday".
func (p dayReader) namedDays(wanted bool) *dayset {
	if !wanted {
		return nil
	}
	days := numbers{}
	for {
		mark := p.pos
		if len(days) > 0 {
			comma, and := p.take(","), p.take("and")
			if !comma && !and {
				break
			}
			_ = p.takeAny("on", "every")
		}
		if !p.dayRange(&days) {
			p.pos = mark
			break
		}
	}
	if len(days) == 0 {
		return nil
	}
	return &dayset{dow: days.String()}
}

// dayRange reads one weekday, or a range of them, which may run over Sunday.
func (p dayReader) dayRange(days *numbers) bool {
	low, high, ranged := strings.Cut(p.word(0), "-")
	from, ok := weekdayOf(low)
	if !ok {
		return false
	}
	to := from
	if ranged {
		if to, ok = weekdayOf(high); !ok {
			return false
		}
	}
	p.pos++
	if mark := p.pos; !ranged && p.takeAny("to", "through", "till", "until", "-", "–") {
		if to, ok = weekdayOf(p.word(0)); ok {
			p.pos++
		} else {
			p.pos, to = mark, from
		}
	}
	for day := from; ; day = (day + 1) % 7 {
		days.add(day)
		if day == to {
			return true
		}
	}
}

// monthDays reads "the 1st", "1st and 15th".
func (p dayReader) monthDays(wanted bool) *dayset {
	if !wanted {
		return nil
	}
	days := numbers{}
	for {
		mark := p.pos
		if len(days) > 0 {
			comma, and := p.take(","), p.take("and")
			if !comma && !and {
				break
			}
		}
		_ = p.take("the")
		day, ok := ordinal(p.word(0))
		if !ok {
			p.pos = mark
			break
		}
		p.pos++
		days.add(day)
	}
	if len(days) == 0 {
		return nil
	}
	return &dayset{dom: days.String()}
}

func (p dayReader) yearDay(wanted bool) *dayset {
	if !wanted {
		return nil
	}
	day, month, ok := p.monthDay()
	if !ok {
		return nil
	}
	return &dayset{dom: numbers{day}.String(), month: numbers{month}.String()}
}

// monthDay reads "24 december", "24th of dec", "december 24th".
func (p dayReader) monthDay() (day, month int, ok bool) {
	mark := p.pos
	_ = p.take("the")
	if month = monthOf(p.word(0)); month > 0 {
		p.pos++
		day, ok = dayNumber(p.word(0))
	} else if day, ok = dayNumber(p.word(0)); ok {
		p.pos++
		_ = p.take("of")
		month = monthOf(p.word(0))
	}
	if !ok || month == 0 {
		p.pos = mark
		return 0, 0, false
	}
	p.pos++
	return day, month, true
}

// ordinal reads "1st" to "31st".
func ordinal(word string) (int, bool) {
	if len(word) < 3 {
		return 0, false
	}
	n, err := digits(word[:len(word)-2])
	suffix := "th"
	if n%100/10 != 1 && n%10 >= 1 && n%10 <= 3 {
		suffix = []string{"st", "nd", "rd"}[n%10-1]
	}
	return n, err == nil && n >= 1 && n <= 31 && strings.HasSuffix(word, suffix)
}

func dayNumber(word string) (int, bool) {
	if n, err := digits(word); err == nil {
		return n, len(word) <= 2 && n >= 1 && n <= 31
	}
	return ordinal(word)
}

// monthOf is the number of a month's name, 0 for other words.
func monthOf(word string) int {
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		if word == name || word == name[:3] || word == "sept" && m == time.September {
			return int(m)
		}
	}
	return 0
}

// weekdayOf is the number of a weekday's name, short or long, also in the plural.
func weekdayOf(word string) (int, bool) {
	short := []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
	other := map[string]int{"tues": 2, "weds": 3, "thur": 4, "thurs": 4}
	if day, ok := other[word]; ok {
		return day, true
	}
	if day := slices.Index(short, word); day >= 0 {
		return day, true
	}
	for d := time.Sunday; d <= time.Saturday; d++ {
		if name := strings.ToLower(d.String()); word == name || word == name+"s" {
			return int(d), true
		}
	}
	return 0, false
}

func pluralDay(word string) bool {
	_, ok := weekdayOf(word)
	return ok && strings.HasSuffix(word, "days")
}
