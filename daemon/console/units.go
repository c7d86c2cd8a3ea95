package console

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"hob/daemon/text"
)

// Clock formats an instant in this machine's time zone, with the zone's name; "-" for none.
func Clock(t time.Time) string { return InZone(t, time.Local, false) }

// InZone formats an instant in a time zone, with the name of its time: "2026-11-21 09:00 CET".
func InZone(t time.Time, zone *time.Location, seconds bool) string {
	return text.InZone(t, zone, seconds)
}

// Period shortens a duration as Go formats it: "30m0s" becomes "30m", "2h0m0s" becomes "2h". A word before it, and any other text, stays.
func Period(text string) string {
	word, last := "", text
	if i := strings.LastIndexByte(text, ' '); i >= 0 {
		word, last = text[:i+1], text[i+1:]
	}
	if d, err := time.ParseDuration(last); err != nil || d.String() != last {
		return text
	}
	if short, ok := strings.CutSuffix(last, "m0s"); ok {
		last = short + "m"
	}
	if short, ok := strings.CutSuffix(last, "h0m"); ok {
		last = short + "h"
	}
	return word + last
}

// ToYou addresses the owner, who reads the text, as "you".
func ToYou(text string) string { return strings.ReplaceAll(text, "by the owner", "by you") }

// Plural formats a count: "1 job", "2 jobs".
func Plural[N int | int64](n N, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + one + "s"
}

// Thousands groups digits: 2,000,000.
func Thousands[N int | int64](n N) string { return text.Thousands(int64(n)) }

// Size formats a number of bytes.
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

// Money formats millionths of the budget's currency.
func Money(micros int64) string { return fmt.Sprintf("%.2f", float64(micros)/1e6) }

// Span formats milliseconds.
func Span(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Second {
		return d.String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// OrDash returns "-" for an empty text.
func OrDash(s string) string {
	return cmp.Or(s, "-")
}
