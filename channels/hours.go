package channels

import (
	"fmt"
	"strings"
	"time"
)

// Hours are the quiet hours of a day, by the clock on somebody's wall; they may cross midnight. The zero Hours are none.
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

// End is when the quiet hours that t falls into are over, zero when it falls into none. It goes minute by minute through what the wall shows,
// so that it is right on the days on which an hour is skipped or comes twice.
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
