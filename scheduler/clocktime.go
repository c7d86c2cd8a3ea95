package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// clockTime is a time of day. midnight: that word was used, which is not certain beside a single date.
type clockTime struct {
	hour, minute, second int
	midnight             bool
}

func (c clockTime) seconds() int { return c.hour*3600 + c.minute*60 + c.second }

// clocks reads the times of a day: "at 9", "at 5pm", "17:00", "at 9 and 17", "at noon". None and no error: no time stands here.
func (p *reader) clocks() ([]clockTime, error) {
	mark := p.pos
	_ = p.take(",")
	at := p.take("at")
	first, ok, err := p.clock(at)
	if err != nil || !ok {
		p.pos = mark
		return nil, err
	}
	found := []clockTime{first}
	for {
		mark = p.pos
		comma, and := p.take(","), p.take("and")
		if !comma && !and {
			break
		}
		_ = p.take("at")
		next, ok, err := p.clock(at)
		if err != nil {
			return nil, err
		}
		if !ok {
			p.pos = mark
			break
		}
		found = append(found, next)
	}
	if unit(p.word(0)) > 0 {
		return nil, p.unclear("not %q behind it; %s", p.word(0), examples)
	}
	return found, nil
}

// clock reads one time of day. bare: a number alone is an hour.
func (p *reader) clock(bare bool) (clockTime, bool, error) {
	switch p.word(0) {
	case "noon", "midday":
		p.pos++
		return clockTime{hour: 12}, true, nil
	case "midnight":
		p.pos++
		return clockTime{midnight: true}, true, nil
	}
	mark := p.pos
	body, half := cutHalf(p.word(0))
	parts, ok := clockParts(body)
	if !ok {
		return clockTime{}, false, nil
	}
	p.pos++
	if one, next := cutHalf("1" + p.word(0)); half == "" && one == "1" && next != "" {
		half = next
		p.pos++
		_ = strings.HasSuffix(p.toks[p.pos-1].text, ".m") && p.take(".")
	}
	oclock := p.takeAny("o'clock", "o’clock", "oclock")
	if len(parts) == 1 && !bare && !oclock && half == "" {
		p.pos = mark
		return clockTime{}, false, nil
	}
	c, ok := timeOf(parts, half)
	if !ok {
		p.pos = mark
		return clockTime{}, false, p.unclear("%q is not a time of day; write it as 17:00 or 5pm", strings.TrimSpace(body+half))
	}
	return c, true, nil
}

// cutHalf takes am or pm off a word.
func cutHalf(word string) (body, half string) {
	for suffix, half := range map[string]string{"am": "am", "a.m": "am", "pm": "pm", "p.m": "pm"} {
		if body, ok := strings.CutSuffix(word, suffix); ok && body != "" {
			return body, half
		}
	}
	return word, ""
}

// clockParts reads "9", "9:15" or "9:15:30".
func clockParts(body string) ([]int, bool) {
	var parts []int
	for i, text := range strings.Split(body, ":") {
		n, err := digits(text)
		if err != nil || len(text) > 2 || i > 2 || (i > 0 && len(text) != 2) {
			return nil, false
		}
		parts = append(parts, n)
	}
	return parts, true
}

func timeOf(parts []int, half string) (clockTime, bool) {
	parts = append(slices.Clone(parts), 0, 0)
	c := clockTime{hour: parts[0], minute: parts[1], second: parts[2]}
	if half != "" {
		if c.hour < 1 || c.hour > 12 {
			return c, false
		}
		c.hour %= 12
		if half == "pm" {
			c.hour += 12
		}
	}
	return c, c.hour < 24 && c.minute < 60 && c.second < 60
}

// cronTimes writes times of day as the first fields of a cron spec; false: one spec cannot say them all.
func cronTimes(times []clockTime) (string, bool) {
	hours, minutes := numbers{}, numbers{}
	for _, c := range times {
		if c.second != times[0].second {
			return "", false
		}
		hours.add(c.hour)
		minutes.add(c.minute)
	}
	if len(hours) > 1 && len(minutes) > 1 {
		return "", false
	}
	text := fmt.Sprintf("%v %v", minutes, hours)
	if s := times[0].second; s != 0 {
		text = fmt.Sprintf("%d %s", s, text)
	}
	return text, true
}

// numbers is a sorted set, written as cron writes one: "1-5", "0,6".
type numbers []int

func (n *numbers) add(v int) {
	if i, found := slices.BinarySearch(*n, v); !found {
		*n = slices.Insert(*n, i, v)
	}
}

// String writes runs of three and more as ranges.
func (n numbers) String() string {
	var items []string
	for i := 0; i < len(n); {
		j := i
		for j+1 < len(n) && n[j+1] == n[j]+1 {
			j++
		}
		if j-i >= 2 {
			items = append(items, fmt.Sprintf("%d-%d", n[i], n[j]))
			i = j + 1
			continue
		}
		items = append(items, strconv.Itoa(n[i]))
		i++
	}
	return strings.Join(items, ",")
}
