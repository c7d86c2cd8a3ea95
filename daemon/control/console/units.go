package console

import (
	"fmt"
	"strconv"
	"time"
)

// Clock shows an instant in the local zone; "-" when there is none.
func Clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// Plural counts things: "1 job", "2 jobs".
func Plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + one + "s"
}

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

// Size shows bytes.
func Size(n int64) string {
	switch {
	case n < 1<<10:
		return Plural(n, "byte")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}

// Money shows millionths of the budget's currency.
func Money(micros int64) string { return fmt.Sprintf("%.2f", float64(micros)/1e6) }

// Span shows milliseconds.
func Span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Second {
		return d.String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// OrDash stands in for a text that is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
