package spec

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// interval selects every nth day, week or month, counted from a day, and nothing before that day. The zero interval selects all days.
type interval struct {
	n    int64
	unit string // days, weeks or months
	from int64  // days since 1970-01-01
}

// longest returns the largest n for a unit, about ten years, as for periods. It returns 0 for a word that is not a unit.
func longest(unit string) int64 {
	switch unit {
	case "days":
		return 3650
	case "weeks":
		return 520
	case "months":
		return 120
	}
	return 0
}

// String returns the last part of a spec's text: "every 2 weeks from 2026-11-24".
func (t interval) String() string {
	return fmt.Sprintf("every %d %s from %s", t.n, t.unit, time.Unix(t.from*daySecs, 0).UTC().Format(time.DateOnly))
}

// setInterval reads "every N UNIT from DATE" in lower case, the last part of a cron spec.
func (s *Spec) setInterval(words []string) error {
	if len(words) != 5 || words[0] != "every" || words[3] != "from" {
		return fmt.Errorf("%q is not understood: want it as in every 2 weeks from 2026-11-24", strings.Join(words, " "))
	}
	n, err := Digits(words[1])
	// "week" means the same as "weeks".
	unit := strings.TrimSuffix(words[2], "s") + "s"
	most := longest(unit)
	switch {
	case most == 0:
		return fmt.Errorf("every %s %s: want days, weeks or months", words[1], words[2])
	case err != nil || n < 2 || int64(n) > most:
		return fmt.Errorf("every %s %s: want a number from 2 to %d", words[1], words[2], most)
	}
	from, err := time.Parse(time.DateOnly, words[4])
	if err != nil {
		return fmt.Errorf("from %q: want a date such as 2026-11-24", words[4])
	}
	s.interval = interval{n: int64(n), unit: unit, from: floorDiv(from.Unix(), daySecs)}
	s.text += " " + s.interval.String()
	return s.checkInterval()
}

// checkInterval refuses fields that restrict the same days as the interval.
func (s *Spec) checkInterval() error {
	anyDay, anyWeekday := s.bits.Dom&star != 0, s.bits.Dow&star != 0
	anyMonth := s.bits.Month&star != 0
	switch {
	case !anyMonth:
		return fmt.Errorf("%s goes through all months: the month must be *", s.interval)
	case s.interval.unit != "months" && !anyDay:
		return fmt.Errorf("%s goes through all days of the month: the day must be *", s.interval)
	case s.interval.unit == "days" && !anyWeekday:
		return errors.New("every so many days goes through all weekdays: the weekday must be *; for every other Tuesday take weeks")
	}
	return nil
}

// days returns the selected days of a month as a bit set, with bit 1 for the first day. first is the day number of the first day.
func (t *interval) days(year, month int, first int64) uint64 {
	length := int64(MonthDays(year, month))
	// The count begins after this month.
	if first+length <= t.from {
		return 0
	}
	var mask uint64
	switch t.unit {
	case "days":
		for day := first + mod(t.from-first, t.n); day < first+length; day += t.n {
			mask |= 1 << (day - first + 1)
		}
	case "weeks":
		for day := first; day < first+length; day++ {
			if mod(week(day)-week(t.from), t.n) == 0 {
				mask |= 1 << (day - first + 1)
			}
		}
	case "months":
		y, m, _ := date(t.from)
		if mod(int64(12*(year-y)+month-m), t.n) == 0 {
			mask = monthMask(year, month)
		}
	}
	// Days before the start do not count.
	if before := t.from - first; before > 0 {
		mask = mask >> (before + 1) << (before + 1)
	}
	return mask
}

// week returns the number of a day's week. Weeks begin on Monday; 1970-01-01 was a Thursday.
func week(day int64) int64 { return floorDiv(day+3, 7) }

// mod returns the remainder of a division that rounds down, so it is never below 0.
func mod(a, b int64) int64 { return a - floorDiv(a, b)*b }
