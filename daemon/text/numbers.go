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

// Money shows millionths of a currency with all their decimals, and with two at least: 5.00, 0.0125.
func Money(micros int64) string {
	s := fmt.Sprintf("%.6f", float64(micros)/1e6)
	return s[:len(s)-4] + strings.TrimRight(s[len(s)-4:], "0")
}
