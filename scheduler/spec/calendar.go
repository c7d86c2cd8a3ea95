package spec

import (
	"math/bits"
	"time"
)

// This file is plain calendar arithmetic over robfig's bit sets, on wall times: no zones here.

const (
	star      = 1 << 63 // robfig's mark of a field that does not restrict
	daySecs   = 86400
	hourMask  = 1<<24 - 1
	sixtyMask = 1<<60 - 1
)

// match returns the first matching wall time that is not before wall, and false when there is none until the year 9999.
func (s *Spec) match(wall int64) (int64, bool) {
	if s.interval.n > 0 {
		wall = max(wall, s.interval.from*daySecs)
	}
	days := floorDiv(wall, daySecs)
	year, month, day := date(days)
	// The mask keeps the matching days from the current one on.
	mask := s.days(year, month, days-int64(day)+1) >> day << day
	if mask>>day&1 == 1 {
		// The current day counts only if one of its times is still ahead.
		if second, ok := s.timeOfDay(int(wall - days*daySecs)); ok {
			return days*daySecs + int64(second), true
		}
		mask &^= 1 << day
	}
	first := days - int64(day) + 1 // the first of the month
	// The following months are searched one by one.
	for mask == 0 {
		first += int64(MonthDays(year, month))
		if month++; month > 12 {
			year, month = year+1, 1
		}
		if year > lastYear {
			return 0, false
		}
		mask = s.days(year, month, first)
	}
	second, ok := s.timeOfDay(0)
	return (first+int64(bits.TrailingZeros64(mask))-1)*daySecs + int64(second), ok
}

// days returns the matching days of a month as a bit set, with bit 1 for the first day. first is the day number of the first day,
// counted from 1970-01-01. If day and weekday are both restricted, either matches, as in crontab(5). A field that contains "*" does
// not restrict, but "*/2" does, as in robfig/cron. An interval then selects among the matching days.
func (s *Spec) days(year, month int, first int64) uint64 {
	if s.bits.Month>>month&1 == 0 {
		return 0
	}
	weekday := int((first%7 + 11) % 7) // 1970-01-01 was a Thursday
	week := s.bits.Dow & 0x7f
	// The weekdays are rotated so that bit 0 is the weekday of the first day, and then repeated for five weeks.
	week = (week>>weekday | week<<(7-weekday)) & 0x7f
	byWeekday, byDay := (week|week<<7|week<<14|week<<21|week<<28)<<1, s.bits.Dom
	if s.more.last {
		byDay |= 1 << MonthDays(year, month)
	}
	if s.more.nth != 0 {
		byWeekday |= s.more.days(weekday, MonthDays(year, month))
	}
	both := byWeekday & byDay
	if s.bits.Dom&star == 0 && s.bits.Dow&star == 0 {
		both = byWeekday | byDay
	}
	if s.interval.n > 0 {
		both &= s.interval.days(year, month, first)
	}
	return both & monthMask(year, month)
}

// days returns the days that nth selects in a month, as a bit set. The month begins on weekday and has length days.
func (s *special) days(weekday, length int) uint64 {
	var mask uint64
	for left := s.nth; left != 0; left &= left - 1 {
		bit := bits.TrailingZeros64(left)
		day := 1 + (bit/8-weekday+7)%7 // the first of them
		if k := bit % 8; k == lastOf {
			day += (length - day) / 7 * 7
		} else {
			day += (k - 1) * 7
		}
		mask |= 1 << day // a fifth that does not exist is after the month's end; Spec.days masks it out
	}
	return mask
}

// timeOfDay returns the first matching second of a day that is not before second, and false when there is none.
func (s *Spec) timeOfDay(second int) (int, bool) {
	h, m, sec := second/3600, second/60%60, second%60
	hours, minutes, seconds := s.bits.Hour&hourMask, s.bits.Minute&sixtyMask, s.bits.Second&sixtyMask
	if hours>>h&1 == 1 {
		if minutes>>m&1 == 1 {
			if rest := seconds >> sec; rest != 0 {
				return second + bits.TrailingZeros64(rest), true
			}
		}
		if rest := minutes >> (m + 1); rest != 0 {
			m += 1 + bits.TrailingZeros64(rest)
			return h*3600 + m*60 + bits.TrailingZeros64(seconds), true
		}
		// No time is left in this hour: take the first one in a later hour.
		h++
	}
	rest := hours >> h
	if rest == 0 {
		return 0, false
	}
	h += bits.TrailingZeros64(rest)
	return h*3600 + bits.TrailingZeros64(minutes)*60 + bits.TrailingZeros64(seconds), true
}

// between counts the matching wall times w with from ≤ w < until.
func (s *Spec) between(from, until int64) int64 {
	if from >= until {
		return 0
	}
	a, b := floorDiv(from, daySecs), floorDiv(until, daySecs)
	// Count whole days first, then correct the first and the last one.
	n := s.countDays(a, b) * int64(s.countBefore(daySecs))
	if s.countDays(a, a+1) == 1 {
		n -= int64(s.countBefore(int(from - a*daySecs)))
	}
	if s.countDays(b, b+1) == 1 {
		n += int64(s.countBefore(int(until - b*daySecs)))
	}
	return n
}

// countDays counts the matching days d with a ≤ d < b, in days since 1970-01-01.
func (s *Spec) countDays(a, b int64) int64 {
	year, month, day := date(a)
	first := a - int64(day) + 1
	n := 0
	for first < b && year <= lastYear {
		mask := s.days(year, month, first)
		// Days before a and from b on do not count.
		if first < a {
			mask = mask >> day << day
		}
		if left := b - first; left < 31 {
			mask &= 1<<(left+1) - 1
		}
		n += bits.OnesCount64(mask)
		first += int64(MonthDays(year, month))
		if month++; month > 12 {
			year, month = year+1, 1
		}
	}
	return int64(n)
}

// countBefore counts the matching seconds of a day before second.
func (s *Spec) countBefore(second int) int {
	h, m, sec := second/3600, second/60%60, second%60
	hours, minutes, seconds := s.bits.Hour&hourMask, s.bits.Minute&sixtyMask, s.bits.Second&sixtyMask
	perMinute := bits.OnesCount64(seconds)
	n := bits.OnesCount64(hours&(1<<h-1)) * bits.OnesCount64(minutes) * perMinute
	if hours>>h&1 == 0 {
		return n
	}
	n += bits.OnesCount64(minutes&(1<<m-1)) * perMinute
	if minutes>>m&1 == 0 {
		return n
	}
	return n + bits.OnesCount64(seconds&(1<<sec-1))
}

func date(days int64) (year, month, day int) {
	y, m, d := time.Unix(days*daySecs, 0).UTC().Date()
	return y, int(m), d
}

// monthMask has bit d set for each day d that the month has.
func monthMask(year, month int) uint64 { return 1<<(MonthDays(year, month)+1) - 2 }

// MonthDays returns the number of days in a month; month 1 is January.
func MonthDays(year, month int) int {
	switch {
	case month == 4 || month == 6 || month == 9 || month == 11:
		return 30
	case month != 2:
		return 31
	case year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	}
	return 28
}
