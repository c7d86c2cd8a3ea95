package scheduler

import (
	"fmt"
	"strings"
	"time"
)

// spoken formats a duration in its two largest units: "2 h 5 min", "3 days".
func spoken(d time.Duration) string {
	if d < time.Second {
		return "less than 1 s"
	}
	s := int(d / time.Second)
	parts := []string{}
	for _, u := range []struct {
		size int
		name string
	}{{86400, "day"}, {3600, "h"}, {60, "min"}, {1, "s"}} {
		n := s / u.size
		s %= u.size
		switch {
		case n == 0:
		case u.name == "day" && n > 1:
			parts = append(parts, fmt.Sprintf("%d days", n))
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, u.name))
		}
	}
	return strings.Join(parts[:min(len(parts), 2)], " ")
}
