package phrase

import (
	"slices"
	"strconv"
	"strings"
)

// lastPlace stands for "last" in a list of places within a month.
const lastPlace = -1

// daysOfMonth reads "the 1st and 15th of the month", "the last friday of every month", "the end of the month". Two numbered days
// always recur. One numbered day may be a single date, and a numbered weekday may mean "every other".
// every says that the caller has read that word.
func (p dayReader) daysOfMonth(every bool) (*dayset, error) {
	mark := p.in.pos
	_ = p.in.takeAny("on", "at")
	if p.in.take("the", "end") || p.in.take("end") {
		if p.ofMonth() || p.in.take("of", "month") || p.in.take("of", "this", "month") {
			return &dayset{dom: "L"}, nil
		}
		// "at the end" without a month is not a schedule.
		p.in.pos = mark
		return nil, nil
	}
	start := p.in.pos
	on := start > mark || start > 0 && p.in.toks[start-1].text == "on"
	// Counting working days would need the holidays of the country.
	if len(p.places()) > 0 && p.in.takeAny("weekday", "workday") {
		return nil, p.in.unclear("working days are not counted; name a day, e.g. the last friday of the month")
	}
	p.in.pos = start
	set := p.monthPlaces(true)
	if set == nil {
		p.in.pos = mark
		return nil, nil
	}
	// "every second monday" may count weeks or the days of a month: ask.
	_, part := partOf(p.in.word(0))
	switch named := p.ofMonth(); {
	case part && every && !named:
		return nil, p.in.unclear(`not whether that is every other %s or one in each month: say "every other day at 9" or "the %s of the month at 9"`,
			p.in.word(0), p.in.text[p.in.toks[mark].start:p.in.toks[p.in.pos-1].end])
	// "of the month" makes it clear, and so does "every" or more than one numbered day.
	case named, set.dow == "" && (every || strings.ContainsAny(set.dom, ",-")):
		return set, nil
	case set.dow != "" && every:
		return nil, p.in.unclear(`not whether that is every other one or one in each month: say "every other %s" or "the %s of the month"`,
			p.in.toks[p.in.pos-1].text, p.in.text[p.in.toks[mark].start:p.in.toks[p.in.pos-1].end])
	// "on the 1st at 9" may be one date or monthly.
	case set.dow == "" && (p.timeFollows() || on && p.ends()):
		return nil, p.in.unclear(`not whether it is once or every month: say "on the 1st of every month at 9", or a date such as 2026-12-01`)
	}
	// The words may be a single date instead, which date reads.
	p.in.pos = mark
	return nil, nil
}

// yesterday reports whether "yesterday" is meant as a time: nothing or a time follows.
func (p dayReader) yesterday() bool {
	p.in.pos++
	found := p.ends() || p.timeFollows()
	p.in.pos--
	return found
}

// timeFollows reports whether a time of day comes next, which shows that the words before it mean a day.
func (p dayReader) timeFollows() bool {
	mark := p.in.pos
	defer func() { p.in.pos = mark }()
	found, err := p.in.clocks()
	return err == nil && found != nil
}

// ofMonth reads "of the month", "of every month", "each month".
func (p dayReader) ofMonth() bool {
	mark := p.in.pos
	if of := p.in.takeAny("of", "in"); p.in.takeAny("every", "each") || of && p.in.take("the") {
		if p.in.take("month") {
			return true
		}
	}
	p.in.pos = mark
	return false
}

// monthPlaces reads days of a month: "the 1st", "1st and 15th", "the first and the last day", "last friday", "2nd and 4th tuesday".
func (p dayReader) monthPlaces(wanted bool) *dayset {
	mark := p.in.pos
	if !wanted {
		return nil
	}
	places := p.places()
	weekday, isWeekday := weekdayOf(p.in.word(0))
	switch {
	case len(places) == 0:
	case isWeekday && !pluralDay(p.in.word(0)):
		// No month has a weekday six times.
		if slices.Max(places) > 5 {
			break
		}
		p.in.pos++
		return &dayset{dow: written(places, strconv.Itoa(weekday)+"#", strconv.Itoa(weekday)+"L")}
	// A number is enough alone; "last" needs "day" after it.
	case p.in.takeAny("day", "days"), !slices.Contains(places, lastPlace):
		return &dayset{dom: written(places, "", "L")}
	}
	p.in.pos = mark
	return nil
}

// places reads "the 1st", "first and last".
func (p dayReader) places() []int {
	var found []int
	for {
		mark := p.in.pos
		if len(found) > 0 {
			comma, and := p.in.take(","), p.in.take("and")
			if !comma && !and {
				return found
			}
			_ = p.in.take("on")
		}
		_ = p.in.take("the")
		place, ok := ordinal(p.in.word(0))
		if p.in.word(0) == "last" {
			place, ok = lastPlace, true
		}
		if !ok {
			p.in.pos = mark
			return found
		}
		p.in.pos++
		found = append(found, place)
	}
}

// written lists places as in cron, with a text before each number and another text for the last place.
func written(places []int, before, last string) string {
	days := numbers{}
	for _, place := range places {
		if place != lastPlace {
			days.add(place)
		}
	}
	var items []string
	// Days can be written as a range. Cron has no ranges of numbered weekdays: each is written out.
	if before == "" && len(days) > 0 {
		items = append(items, days.String())
	} else {
		for _, day := range days {
			items = append(items, before+strconv.Itoa(day))
		}
	}
	if slices.Contains(places, lastPlace) {
		items = append(items, last)
	}
	return strings.Join(items, ",")
}

// ordinal reads "1st" to "31st", and "first" to "tenth".
func ordinal(word string) (int, bool) {
	names := []string{"first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"}
	if i := slices.Index(names, word); i >= 0 {
		return i + 1, true
	}
	if len(word) < 3 {
		return 0, false
	}
	n, err := digits(word[:len(word)-2])
	suffix := "th"
	// 11th, 12th and 13th end in th.
	if n%100/10 != 1 && n%10 >= 1 && n%10 <= 3 {
		suffix = []string{"st", "nd", "rd"}[n%10-1]
	}
	return n, err == nil && n >= 1 && n <= 31 && strings.HasSuffix(word, suffix)
}
