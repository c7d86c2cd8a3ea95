package scheduler

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const wholeDay = 24 * time.Hour

// unit is the length that a word stands for; zero: it is not a unit.
func unit(word string) time.Duration {
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
	}
	return 0
}

// parsePeriod reads a whole text as a period: "30m", "1h30m", "1d", "2 hours", "1 hour and 30 minutes".
func parsePeriod(text string) (time.Duration, error) {
	p := &reader{text: text, toks: lex(text)}
	period, ok := p.period()
	if !ok || p.more() {
		return 0, fmt.Errorf("%q is not a period: want e.g. 30m, 2h, 1d or 1h30m", text)
	}
	return period, nil
}

// period reads "20 minutes", "1h30m", "an hour", "half an hour", "1 hour and 30 minutes".
func (p *reader) period() (time.Duration, bool) {
	if p.take("half") {
		_ = p.take("an") || p.take("a")
		if p.take("hour") {
			return 30 * time.Minute, true
		}
		return 0, false
	}
	total, ok := p.piece()
	for ok {
		mark := p.pos
		_ = p.take("and") || p.take(",")
		next, more := p.piece()
		if !more || total > longestPeriod {
			p.pos = mark
			break
		}
		total += next
	}
	return total, ok
}

// piece reads a number with its unit, in one word or two.
func (p *reader) piece() (time.Duration, bool) {
	word := p.word(0)
	if word == "a" || word == "an" || word == "one" {
		word = "1"
	}
	if size := unit(p.word(1)); size > 0 {
		if d, ok := times(word, size); ok {
			p.pos += 2
			return d, true
		}
	}
	d, ok := compact(word)
	if ok {
		p.pos++
	}
	return d, ok
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
		d, ok := times(word[:digitsEnd], unit(rest[:unitEnd]))
		if !ok || total > longestPeriod {
			return 0, false
		}
		total += d
		word = rest[unitEnd:]
	}
	return total, true
}

// times multiplies a unit; what is longer than any period allowed is cut to just over the longest.
func times(number string, size time.Duration) (time.Duration, bool) {
	if size == 0 || number == "" || strings.Trim(number, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, false
	}
	if n > float64(longestPeriod/size)+1 {
		return longestPeriod + time.Second, true
	}
	return time.Duration(n*float64(size) + 0.5), true
}
