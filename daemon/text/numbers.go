package text

import (
	"fmt"
	"strconv"
	"strings"
)

// Thousands groups digits: 2,000,000.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if s[0] == '-' {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Count returns a number with its noun: 2,000 lines. Both nouns of "file or folder" get the plural.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Thousands(int64(n)) + " " + strings.ReplaceAll(noun, " or ", "s or ") + "s"
}

// Money shows millionths of a currency with all their decimals, and with two at least: 5.00, 0.0125.
func Money(micros int64) string {
	s := fmt.Sprintf("%.6f", float64(micros)/1e6)
	return s[:len(s)-4] + strings.TrimRight(s[len(s)-4:], "0")
}

// Size formats a number of bytes for people.
func Size(n int64) string {
	const unit = 1024
	if n < unit {
		return Count(int(n), "byte")
	}
	// The unit symbols have powers of 1024, not of 1000.
	f, i := float64(n)/unit, 0
	for ; f >= unit && i < 4; i++ {
		f /= unit
	}
	return fmt.Sprintf("%.1f %cB", f, "KMGTP"[i])
}
