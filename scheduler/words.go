package scheduler

import (
	"fmt"
	"strings"
	"time"
)

// count writes a number with its noun: "1 field", "3 fields".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// spoken writes a length of time as people say it, in its two largest units: "2 h 5 min", "3 days".
func spoken(d time.Duration) string {
	if d < time.Second {
		return "less than 1 s"
	}
	s := int(d / time.Second)
	parts := []string{}
	for _, u := range []struct {
		size int
		name string
	}{{daySecs, "day"}, {3600, "h"}, {60, "min"}, {1, "s"}} {
		n := s / u.size
		s %= u.size
		switch {
		case n == 0:
		case u.name == "day":
			parts = append(parts, count(n, "day"))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
		}
	}
	return strings.Join(parts[:min(len(parts), 2)], " ")
}
