package spec

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const wholeDay = 24 * time.Hour

// Unit returns the length of a unit of time, 0 for a word that is not a unit.
func Unit(word string) time.Duration {
	switch word {
	case "ms", "millisecond", "milliseconds":
		return time.Millisecond
	case "s", "sec", "secs", "second", "seconds":
		return time.Second
	case "m", "min", "mins", "minute", "minutes":
		return time.Minute
	case "h", "hr", "hrs", "hour", "hours":
		return time.Hour
	case "d", "day", "days":
		return wholeDay
	case "w", "wk", "wks", "week", "weeks":
		return 7 * wholeDay
	case "fortnight", "fortnights":
		return 14 * wholeDay
	}
	return 0
}

// Plain writes a period without trailing zero units: "30m" and not "30m0s", "1h" and not "1h0m0s".
func Plain(period time.Duration) string {
	text := period.String()
	for _, unit := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, unit) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// ParsePeriod reads a whole text as a period: "30m", "1h30m", "1d", "2 hours", "1 hour and 30 minutes".
func ParsePeriod(text string) (time.Duration, error) {
	words := strings.Fields(strings.ReplaceAll(strings.ToLower(text), ",", " , "))
	period, n := ReadPeriod(words)
	if n == 0 || n < len(words) {
		return 0, fmt.Errorf("%q is not a period: want e.g. 30m, 2h, 1d or 1h30m", text)
	}
	return period, nil
}

// ReadPeriod reads the longest period at the start of words, which must be in lower case, and returns how many words it has:
// "20 minutes", "1h30m", "an hour and a half", "a quarter of an hour", "1 hour and 30 minutes". A comma is a word. n is 0 when
// there is no period.
func ReadPeriod(words []string) (period time.Duration, n int) {
	if period, n = fraction(words); n > 0 {
		return period, n
	}
	period, n = piece(words)
	for n > 0 && period <= LongestPeriod {
		// "and a half" means half of the unit before it.
		if size := Unit(words[n-1]); size > time.Second && begin(words[n:], "and", "a", "half") {
			return period + size/2, n + 3
		}
		// "and" or a comma belongs to the period only if another piece follows.
		from := n
		if next := word(words, n); next == "and" || next == "," {
			from++
		}
		more, size := piece(words[min(from, len(words)):])
		if size == 0 {
			break
		}
		period += more
		n = from + size
	}
	return period, n
}

// fraction reads a part of an hour or a day: "half an hour", "half a day", "quarter hour", "a quarter of an hour".
func fraction(words []string) (period time.Duration, n int) {
	if begin(words, "a") {
		n++
	}
	parts := map[string]time.Duration{"half": 2, "quarter": 4}[word(words, n)]
	if parts == 0 {
		return 0, 0
	}
	n++
	if begin(words[n:], "of") {
		n++
	}
	if next := word(words, n); next == "a" || next == "an" {
		n++
	}
	switch word(words, n) {
	case "hour":
		return time.Hour / parts, n + 1
	case "day":
		return 24 * time.Hour / parts, n + 1
	}
	return 0, 0
}

// word returns words[i], "" after the end.
func word(words []string, i int) string {
	if i >= len(words) {
		return ""
	}
	return words[i]
}

// begin reports whether words start with the words in with.
func begin(words []string, with ...string) bool {
	return len(words) >= len(with) && slices.Equal(words[:len(with)], with)
}

// Number reads a small whole number in digits or as a word: "7", "seven".
func Number(word string) (int, bool) {
	names := strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty")
	if i := slices.Index(names, word); i >= 0 {
		return i, true
	}
	if i := slices.Index(strings.Fields("thirty forty fifty sixty seventy eighty ninety"), word); i >= 0 {
		return 30 + 10*i, true
	}
	n, err := Digits(word)
	return n, err == nil
}

// piece reads a number and its unit, in one or two words.
func piece(words []string) (period time.Duration, n int) {
	number := word(words, 0)
	if number == "a" || number == "an" {
		number = "1"
	}
	if v, ok := Number(number); ok {
		number = strconv.Itoa(v)
	}
	if size := Unit(word(words, 1)); size > 0 {
		if d, ok := times(number, size); ok {
			return d, 2
		}
	}
	if d, ok := compact(number); ok {
		return d, 1
	}
	return 0, 0
}

// compact reads "1h30m", "2d", "1.5h".
func compact(word string) (time.Duration, bool) {
	if word == "" {
		return 0, false
	}
	var total time.Duration
	for word != "" {
		digitsEnd := strings.IndexFunc(word, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if digitsEnd <= 0 {
			return 0, false
		}
		rest := word[digitsEnd:]
		unitEnd := strings.IndexFunc(rest, func(r rune) bool { return r >= '0' && r <= '9' })
		if unitEnd < 0 {
			unitEnd = len(rest)
		}
		d, ok := times(word[:digitsEnd], Unit(rest[:unitEnd]))
		if !ok || total > LongestPeriod {
			return 0, false
		}
		total += d
		word = rest[unitEnd:]
	}
	return total, true
}

// times multiplies a unit by a number. It caps the result just above LongestPeriod, so that nothing overflows.
func times(number string, size time.Duration) (time.Duration, bool) {
	if size == 0 || number == "" || strings.Trim(number, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	if n > float64(LongestPeriod/size)+1 {
		return LongestPeriod + time.Second, true
	}
	return time.Duration(n*float64(size) + 0.5), true
}
