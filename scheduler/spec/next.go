package spec

import (
	"cmp"
	"math"
	"time"
)

// A wall time is the local time that a clock on the wall shows, in seconds since 1970-01-01 00:00 on that clock. Instants are
// Unix seconds. When clocks go forward, some wall times never occur (a gap); when they go back, some occur twice (a fold). The
// rules for both follow from two definitions:
//
//	high(t)  = the latest wall time shown at any instant up to t
//	reach(w) = the first instant at which the wall shows w or later
//
// A fixed wall time w fires at reach(w): for a time in a gap, that is the first instant after the gap; for a time in a fold, its
// first occurrence. It has fired by instant t exactly if w <= high(t). So the next slot after t is reach(m), where m is the
// first match above high(t). A schedule of elapsed time ("*" in the hour field) fires whenever the wall shows a match: twice in
// a fold, never in a gap.

const (
	lastYear = 9999      // RFC 3339 has no fifth digit
	farthest = 16 * 3600 // no zone has ever been farther from UTC than 15:56 h (Manila until 1844)
	deepest  = 32 * 3600 // so no fold reaches back farther than this
	forever  = math.MaxInt64 / 4
)

// Next returns the first slot strictly after `after`, in UTC. It returns false when there is none: an "at" that has passed, or
// the year 9999 is over. zone is the time zone of cron fields; nil means UTC. anchor is the start of an "every": its slots are
// anchor + k periods for k ≥ 1, in whole seconds.
func (s Spec) Next(after time.Time, zone *time.Location, anchor time.Time) (time.Time, bool) {
	zone = cmp.Or(zone, time.UTC)
	var t int64
	ok := false
	switch s.kind {
	case kindAt:
		if s.at.After(after) {
			return s.at, true
		}
	case kindEvery:
		t, ok = s.nextPeriod(after.Unix(), anchor.Unix())
	case kindCron:
		if s.elapsed {
			t, ok = s.nextElapsed(zone, after.Unix())
		} else {
			t, ok = s.nextFixed(zone, after.Unix())
		}
	}
	if !ok {
		return time.Time{}, false
	}
	next := time.Unix(t, 0).UTC()
	return next, next.Year() <= lastYear
}

// Preview returns the first n slots after `after`, in zone.
func Preview(s Spec, zone *time.Location, after, anchor time.Time, n int) []time.Time {
	var list []time.Time
	for len(list) < n {
		next, ok := s.Next(after, zone, anchor)
		if !ok {
			break
		}
		list = append(list, next.In(zone))
		after = next
	}
	return list
}

// nextPeriod returns the first anchor + k periods after `after`, for k ≥ 1.
func (s *Spec) nextPeriod(after, anchor int64) (int64, bool) {
	period := int64(s.period / time.Second)
	k := max(floorDiv(after-anchor, period)+1, 1)
	return anchor + k*period, true
}

// nextFixed returns the next slot of a schedule by local time: it finds the next matching local time, and then the instant when clocks
// reach it.
func (s *Spec) nextFixed(zone *time.Location, after int64) (int64, bool) {
	wall, ok := s.match(high(zone, after) + 1)
	if !ok {
		return 0, false
	}
	// No zone is farther ahead of UTC than farthest, so the wall shows this time nowhere earlier.
	return reach(zone, max(after+1, wall-farthest), wall), true
}

// nextElapsed returns the next slot of a schedule by elapsed time. A match beyond the end of a stretch is searched again with the next
// offset.
func (s *Spec) nextElapsed(zone *time.Location, after int64) (int64, bool) {
	for t := after + 1; ; {
		st := stretchAt(zone, t)
		wall, ok := s.match(t + st.offset)
		if !ok {
			return 0, false
		}
		if at := wall - st.offset; at < st.until {
			return at, true
		}
		t = st.until
	}
}

// stretch is a range of instants, from ≤ t < until, with one offset from UTC in seconds.
type stretch struct{ from, until, offset int64 }

// stretchAt returns the period around t in which the zone's offset does not change.
func stretchAt(zone *time.Location, t int64) stretch {
	at := time.Unix(t, 0).In(zone)
	_, offset := at.Zone()
	start, end := at.ZoneBounds()
	st := stretch{from: -forever, until: forever, offset: int64(offset)}
	if !start.IsZero() {
		st.from = min(start.Unix(), t)
	}
	if !end.IsZero() {
		st.until = end.Unix()
	}
	if st.until <= t {
		// For instants after the end of its table, Go's time package takes every year to have 365 days. For 31 December of a leap year it
		// therefore returns the end of 30 December. The end of the year in UTC is the correct one.
		st.until = time.Date(at.UTC().Year()+1, time.January, 1, 0, 0, 0, 0, time.UTC).Unix()
	}
	return st
}

// high returns the latest wall time shown up to t; see the top of the file.
func high(zone *time.Location, t int64) int64 {
	st := stretchAt(zone, t)
	top := t + st.offset
	// Shortly after a fold, the latest wall time is the one that was shown before it.
	for st.from > t-deepest {
		edge := st.from
		st = stretchAt(zone, edge-1)
		top = max(top, edge-1+st.offset)
	}
	return top
}

// reach returns the first instant, not before from, at which the wall shows wall or later.
func reach(zone *time.Location, from, wall int64) int64 {
	for t := from; ; {
		st := stretchAt(zone, t)
		if at := max(wall-st.offset, t); at < st.until {
			return at
		}
		t = st.until
	}
}

// Instant returns the instant at which a clock in zone first shows the given date and time. For a time in a gap, it is the first
// instant after the gap; for a time in a fold, the first occurrence.
func Instant(zone *time.Location, year int, month time.Month, day, second int) time.Time {
	wall := time.Date(year, month, day, 0, 0, second, 0, time.UTC).Unix()
	return time.Unix(reach(zone, wall-farthest, wall), 0).In(zone)
}

// floorDiv divides and rounds down, also below 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
