package caldav

import (
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-ical"

	"hob/daemon/sys"
)

// length is how long an event lasts: first days of the calendar, of which one may have 23 or 25 hours, then exact time (RFC 5545, section 3.3.6).
type length struct {
	days  int
	exact time.Duration
}

// most is a length that the event does not exceed.
func (l length) most() time.Duration { return time.Duration(l.days)*25*time.Hour + l.exact }

// durationForm is P1W, P1DT2H or PT30M. Some programs write weeks together with days.
var durationForm = sys.Regexp(`^\+?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,7})M)?(?:(\d{1,9})S)?)?$`)

// durationOf reads a DURATION. A negative one is no length of an event.
func durationOf(text string) (length, bool) {
	m := durationForm().FindStringSubmatch(strings.ToUpper(strings.TrimSpace(text)))
	if m == nil || strings.Join(m[1:], "") == "" {
		return length{}, false
	}
	n := func(i int) int { v, _ := strconv.Atoi(m[i]); return v } // no digits are 0
	exact := time.Duration(n(3))*time.Hour + time.Duration(n(4))*time.Minute + time.Duration(n(5))*time.Second
	return length{7*n(1) + n(2), exact}, true
}

// length reads how long an event lasts. The time from DTSTART to DTEND is exact in each repetition (section 3.8.5.3).
func (o object) length(c *ical.Component, start stamp, z zone) length {
	l := length{}
	if end, endZone, err := o.stampOf(c, ical.PropDateTimeEnd); err == nil && end.day == start.day {
		if !start.day {
			return length{exact: max(0, endZone.at(end.time).Sub(z.at(start.time)))}
		}
		l.exact = end.time.Sub(start.time)
	} else if p := c.Props.Get(ical.PropDuration); p != nil {
		l, _ = durationOf(p.Value)
	}
	if start.day {
		return length{days: max(1, l.days+int(l.exact/(24*time.Hour)))}
	}
	return l
}
