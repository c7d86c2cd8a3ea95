package channels

import (
	"fmt"
	"strings"
	"time"
)

// Hours are daily quiet hours in local time. They may cross midnight. The zero value has none.
type Hours struct{ from, to int } // minutes after midnight

// ParseHours reads "22:00-07:00"; "" is none.
func ParseHours(text string) (Hours, error) {
	if text == "" {
		return Hours{}, nil
	}
	first, last, _ := strings.Cut(text, "-")
	from, err := time.Parse("15:04", first)
	to, wrong := time.Parse("15:04", last)
	if err != nil || wrong != nil || from.Equal(to) {
		return Hours{}, fmt.Errorf("quiet hours %q: want two times of the day, like 22:00-07:00", text)
	}
	return Hours{minutes(from), minutes(to)}, nil
}

// End returns when the quiet hours around t end, or zero if t is outside them. It steps through local time
// minute by minute, so that it is right on days on which an hour is skipped or repeated.
func (h Hours) End(t time.Time, zone *time.Location) time.Time {
	if !h.has(t.In(zone)) {
		return time.Time{}
	}
	end := t.Truncate(time.Minute)
	for h.has(end.In(zone)) {
		end = end.Add(time.Minute)
	}
	return end
}

func (h Hours) has(local time.Time) bool {
	m := minutes(local)
	if h.from <= h.to {
		return h.from <= m && m < h.to
	}
	return m >= h.from || m < h.to
}

func minutes(t time.Time) int { return t.Hour()*60 + t.Minute() }
