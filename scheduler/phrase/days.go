package phrase

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"hob/scheduler/spec"
)

// dayset is a set of recurring days: the last three fields of a cron spec and, for "every other", the distance.
// An empty field stands for all values.
type dayset struct {
	dom, month, dow string
	every           int    // every so many units; 0 means all days
	unit            string // days, weeks or months
}

// String returns the three fields.
func (d dayset) String() string {
	text := ""
	for _, f := range []string{d.dom, d.month, d.dow} {
		f = cmp.Or(f, "*")
		text += " " + f
	}
	return text
}

// dayReader reads the names of days.
// Unlike parser it needs neither zone nor time.
type dayReader struct{ in *reader }

// recurring reads recurring days: "every weekday", "daily", "mondays and thursdays", "every month on the 1st", "every other day".
// It returns nil and no error when none come next.
func (p dayReader) recurring() (*dayset, error) {
	mark := p.in.pos
	// "Biweekly" means twice a week as well as every two weeks.
	if p.in.takeAny("biweekly", "bi-weekly", "bimonthly", "bi-monthly", "semiweekly", "semi-weekly", "semimonthly", "semi-monthly") {
		return nil, p.in.unclear("not whether it is twice in that time or every other one: say e.g. %q", "every other week on monday at 9")
	}
	if p.in.take("quarterly") || p.in.take("every", "quarter") {
		return nil, p.in.unclear("not on which day; try %q", "every 3 months on the 1st at 9")
	}
	every := p.every()
	if !every {
		_ = p.in.takeAny("on", "from")
	}
	set, err := p.anyDays(every)
	switch {
	case set != nil || err != nil:
		return set, err
	// Only "on" or "from" was read, or nothing: the words belong to another form.
	case p.in.pos == mark || !every && p.in.pos == mark+1 && (p.in.toks[mark].text == "on" || p.in.toks[mark].text == "from"):
		p.in.pos = mark
		return nil, nil
	// "every" or the like was read, but no day.
	case !p.in.more():
		return nil, p.in.unclear("not which day; try %q", fuller(p.in.toks[p.in.pos-1].text))
	}
	return nil, p.in.unclear("not %q; %s", p.in.rest(), examples)
}

// fuller completes a phrase that leaves the day open, as an example in an error.
func fuller(last string) string {
	switch last {
	case "month", "monthly":
		return "every month on the 1st at 9"
	case "year", "yearly", "annually":
		return "every year on december 24 at 9"
	case "week", "weekly":
		return "every monday at 9"
	}
	return "every weekday at 9"
}

// every reads "every", "each" or "once a".
func (p dayReader) every() bool {
	if p.in.takeAny("every", "each") {
		return true
	}
	mark := p.in.pos
	if p.in.take("once") && p.in.takeAny("a", "per", "every", "each") {
		switch p.in.word(0) {
		case "day", "week", "month", "year":
			return true
		}
	}
	p.in.pos = mark
	return false
}

// anyDays reads the days of a recurring schedule, from the most common forms to names of days.
func (p dayReader) anyDays(every bool) (*dayset, error) {
	if set := p.commonDays(every); set != nil {
		return set, nil
	}
	if set, err := p.spacedDays(every); set != nil || err != nil {
		return set, err
	}
	switch {
	case every && p.in.take("week") || p.in.take("weekly"):
		return p.namedDays(p.in.take("on")), nil
	case every && p.in.take("month") || p.in.take("monthly"):
		return p.monthPlaces(p.in.take("on")), nil
	case every && p.in.take("year") || p.in.takeAny("yearly", "annually"):
		return p.yearDay(p.in.take("on")), nil
	}
	return p.daysByName(every)
}

// commonDays reads every day, weekdays and weekends.
func (p dayReader) commonDays(every bool) *dayset {
	_, part := partOf(p.in.word(0))
	plural := pluralPart(p.in.word(1))
	switch {
	case every && (part || p.in.word(0) == "noon" || p.in.word(0) == "midday" || p.in.word(0) == "midnight"),
		!every && pluralPart(p.in.word(0)):
		return &dayset{} // the hour is read later, with the times
	case every && p.in.take("day"), !every && p.in.take("daily"):
		return &dayset{}
	// In "weekday mornings" the plural of the part makes the days recur, so "every" is not needed.
	case (every || plural) && p.in.takeAny("weekday", "workday"), p.in.takeAny("weekdays", "workdays"):
		return &dayset{dow: "1-5"}
	case (every || plural) && p.in.take("weekend"), p.in.take("weekends"):
		return &dayset{dow: "0,6"}
	}
	return nil
}

// spacedDays reads days with a distance: "other day", "2nd day", "3 days", "other tuesday", "2 weeks on monday", "3 months on the 1st".
func (p dayReader) spacedDays(every bool) (*dayset, error) {
	mark := p.in.pos
	n, unit := p.spacing(every)
	var set *dayset
	switch {
	case unit == "days":
		set = &dayset{}
	case unit == "weeks":
		// In "every other tuesday" the weekday follows at once; after "2 weeks" there may be an "on".
		named := n == 2 && p.in.toks[p.in.pos-1].text == "other"
		_ = !named && p.in.take("on")
		if set = p.namedDays(true); set == nil {
			return nil, p.in.unclearEnd("on which day; try every other tuesday at 9")
		}
	case unit == "months":
		if set = p.monthPlaces(p.in.take("on")); set == nil {
			return nil, p.in.unclearEnd("on which day; try every 3 months on the 1st at 9")
		}
	// No interval comes next: give the words back.
	default:
		p.in.pos = mark
		return nil, nil
	}
	set.every, set.unit = n, unit
	return set, nil
}

// spacing reads a number and a unit. Of "other tuesday" it leaves the weekday to be read next.
// It returns 0 and "" when there is none, or when the number is below 2.
func (p dayReader) spacing(every bool) (n int, unit string) {
	if p.in.take("fortnightly") || every && p.in.take("fortnight") {
		return 2, "weeks"
	}
	if !every {
		return 0, ""
	}
	n, ok := p.howMany()
	_, weekday := weekdayOf(p.in.word(0))
	switch {
	case !ok || n < 2:
	case p.in.takeAny("day", "days"):
		return n, "days"
	case p.in.takeAny("week", "weeks"):
		return n, "weeks"
	case p.in.takeAny("month", "months"):
		return n, "months"
	case weekday && p.in.toks[p.in.pos-1].text == "other":
		return n, "weeks"
	}
	return 0, ""
}

// howMany reads "other", "2nd", "second", "2" or "two".
func (p dayReader) howMany() (int, bool) {
	n, ok := ordinal(p.in.word(0))
	if !ok {
		n, ok = spec.Number(p.in.word(0))
	}
	if p.in.word(0) == "other" {
		n, ok = 2, true
	}
	if ok {
		p.in.pos++
	}
	return n, ok
}

// daysByName reads days that recur only with "every" or a plural: weekdays, "1st of every month", "every 24 december".
func (p dayReader) daysByName(every bool) (*dayset, error) {
	if set := p.namedDays(every || pluralDay(p.in.word(0)) || pluralPart(p.in.word(1)) || p.rangeOfDays()); set != nil {
		return set, nil
	}
	if set := p.yearDay(every); set != nil {
		return set, nil
	}
	return p.daysOfMonth(every)
}

// rangeOfDays reports whether "mon-fri", "monday to friday" or "sat and sun" comes next. Such days always recur.
// It only looks ahead.
func (p dayReader) rangeOfDays() bool {
	mark := p.in.pos
	defer func() { p.in.pos = mark }()
	set := p.namedDays(true)
	return set != nil && len(set.dow) > 1
}

// namedDays reads "monday", "mon-fri", "monday to friday", "monday, wednesday and friday", "monday wednesday friday".
// Without wanted it reads nothing, because a single "monday" may be a date.
func (p dayReader) namedDays(wanted bool) *dayset {
	if !wanted {
		return nil
	}
	days := numbers{}
	for {
		mark := p.in.pos
		if len(days) > 0 {
			comma, and := p.in.take(","), p.in.take("and")
			if _, weekday := weekdayOf(p.in.word(0)); !comma && !and && !weekday {
				break
			}
			_ = p.in.takeAny("on", "every")
		}
		if !p.dayRange(&days) {
			p.in.pos = mark
			break
		}
	}
	if len(days) == 0 {
		return nil
	}
	return &dayset{dow: days.String()}
}

// dayRange reads one weekday, or a range of them, which may run over Sunday.
// The days are added to a set, so overlapping ranges count once.
func (p dayReader) dayRange(days *numbers) bool {
	low, high, ranged := strings.Cut(p.in.word(0), "-")
	from, ok := weekdayOf(low)
	to := from
	// "mon-fri" is one word; "monday to friday" are three.
	if ranged {
		from, ok = shortDay(low)
		// Both sides of the hyphen must be days: "mon-ish" is not one.
		if to, ranged = shortDay(high); !ranged {
			return false
		}
	}
	if !ok {
		return false
	}
	p.in.pos++
	if mark := p.in.pos; !ranged && p.in.takeAny("to", "through", "till", "until", "-", "–") {
		if to, ok = weekdayOf(p.in.word(0)); ok {
			p.in.pos++
		} else {
			// No weekday follows: "to" begins the prompt, as in "every monday to read".
			p.in.pos, to = mark, from
		}
	}
	// The range may pass the end of the week.
	for day := from; ; day = (day + 1) % 7 {
		days.add(day)
		if day == to {
			return true
		}
	}
}

// yearDay reads the day of a yearly schedule.
// wanted is as in namedDays.
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
// The callers check whether the month has that day.
func (p dayReader) monthDay() (day, month int, ok bool) {
	mark := p.in.pos
	if day, month = holiday(p.in); month > 0 {
		return day, month, true
	}
	_ = p.in.take("the")
	if month = monthOf(p.in.word(0)); month > 0 {
		p.in.pos++
		day, ok = dayNumber(p.in.word(0))
	} else if day, ok = dayNumber(p.in.word(0)); ok {
		p.in.pos++
		_ = p.in.take("of")
		month = monthOf(p.in.word(0))
	}
	if !ok || month == 0 {
		p.in.pos = mark
		return 0, 0, false
	}
	p.in.pos++
	return day, month, true
}

// holiday reads holidays that fall on the same date each year. month is 0 when none comes next.
func holiday(p *reader) (day, month int) {
	year := ""
	if p.word(0) == "new" {
		year = p.word(1)
	}
	switch {
	// The apostrophe may be a typewriter's or a typographic one, or be missing.
	case (year == "year's" || year == "year’s" || year == "years") && p.take("new", year, "eve"):
		return 31, 12
	case year != "" && p.take("new", year, "day"):
		return 1, 1
	case p.take("christmas", "eve"):
		return 24, 12
	case p.take("christmas", "day"), p.take("christmas"):
		return 25, 12
	case p.take("halloween"):
		return 31, 10
	case p.take("valentine's", "day"), p.take("valentine’s", "day"), p.take("valentines", "day"):
		return 14, 2
	}
	return 0, 0
}

// dayNumber reads the day of a month: "24", "24th", "first".
func dayNumber(word string) (int, bool) {
	if n, err := digits(word); err == nil {
		return n, len(word) <= 2 && n >= 1 && n <= 31
	}
	return ordinal(word)
}

// monthOf returns the number of a month's name, 0 for other words.
func monthOf(word string) int {
	for m := time.January; m <= time.December; m++ {
		name := strings.ToLower(m.String())
		if word == name || word == name[:3] || word == "sept" && m == time.September {
			return int(m)
		}
	}
	return 0
}

// weekdayOf returns the number of a weekday's name, short or long, also in the plural.
// Sunday is 0, as in cron.
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

// shortDay is weekdayOf for the two-letter names in ranges, English and German: "mo-fr".
// They are accepted only around a hyphen, because "so", "do" and "we" are English words.
func shortDay(word string) (int, bool) {
	letters := map[string]int{"su": 0, "so": 0, "mo": 1, "tu": 2, "di": 2, "we": 3, "mi": 3, "th": 4, "do": 4, "fr": 5, "sa": 6}
	if day, ok := letters[word]; ok {
		return day, true
	}
	return weekdayOf(word)
}

// pluralDay reports whether a word is the plural of a weekday, which always recurs.
func pluralDay(word string) bool {
	_, ok := weekdayOf(word)
	return ok && strings.HasSuffix(word, "days")
}
