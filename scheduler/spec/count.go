package spec

import "time"

// tally counts the slots t of a recurring spec with after < t ≤ until by arithmetic. A long outage of a schedule that fires every
// second would otherwise take millions of steps.
func (s *Spec) tally(after, until time.Time, zone *time.Location, anchor time.Time) int64 {
	a, b := after.Unix(), until.Unix()
	switch {
	case a >= b:
		return 0
	case s.kind == kindEvery:
		period := int64(s.period / time.Second)
		passed := func(t int64) int64 { return max(floorDiv(t-anchor.Unix(), period), 0) }
		return passed(b) - passed(a)
	case s.kind != kindCron:
		return 0
	case s.elapsed:
		return s.tallyElapsed(zone, a, b)
	}
	// Count the wall times that have been passed, without those that fire together with another one.
	return s.between(high(zone, a)+1, high(zone, b)+1) - s.collapsed(zone, a, b)
}

// tallyElapsed counts the slots of a schedule by elapsed time, one stretch with the same offset at a time.
func (s *Spec) tallyElapsed(zone *time.Location, after, until int64) int64 {
	var n int64
	for t := after + 1; t <= until; {
		st := stretchAt(zone, t)
		end := min(st.until, until+1)
		n += s.between(t+st.offset, end+st.offset)
		t = end
	}
	return n
}

// collapsed counts the wall times that fire at the same instant as another one: all those in a gap fire right after it.
func (s *Spec) collapsed(zone *time.Location, after, until int64) int64 {
	var n int64
	for st := stretchAt(zone, after); st.until <= until; {
		edge := st.until
		before := high(zone, edge-1)
		st = stretchAt(zone, edge)
		shown := edge + st.offset
		// The times in the gap, and the first one after it if it matches, are one slot.
		if lost := s.between(before+1, shown); lost > 0 {
			n += lost + s.between(shown, shown+1) - 1
		}
	}
	return n
}

// Overdue lists the slots from first up to now, oldest first. If there are more than limit, it lists only the newest ones and
// returns the number of the older ones.
func (s *Spec) Overdue(first, now time.Time, zone *time.Location, anchor time.Time, limit int64) (list []time.Time, older int64) {
	from := first
	if total := s.tally(first, now, zone, anchor); total >= limit {
		older = total + 1 - limit
		lo, hi := first.Unix(), now.Unix() // tally(lo) > limit-1 or hi is the answer
		for lo < hi {
			mid := lo + (hi-lo)/2
			if s.tally(time.Unix(mid, 0), now, zone, anchor) > limit {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		from = time.Unix(lo, 0)
	} else {
		list = append(list, first)
	}
	for {
		next, ok := s.Next(from, zone, anchor)
		if !ok || next.After(now) {
			return list, older
		}
		list = append(list, next)
		from = next
	}
}
