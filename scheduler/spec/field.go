package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field describes the values that one field of a cron spec takes.
type field struct {
	name     string
	min, max int
	names    []string // names[i] stands for min+i
}

// cronFields returns the six fields of a cron spec with their ranges.
func cronFields() []field {
	return []field{
		{name: "second", max: 59},
		{name: "minute", max: 59},
		{name: "hour", max: 23},
		{name: "day", min: 1, max: 31},
		{name: "month", min: 1, max: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
		{name: "weekday", max: 7, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
	}
}

// Indexes of the fields when there are six.
const (
	dayField     = 3
	monthField   = 4
	weekdayField = 5
)

// lastOf is the place of the last weekday of its kind in a month. The places 1 to 5 are the first to the fifth.
const lastOf = 6

// special holds the days that robfig's parser does not know, because they depend on the length and the first weekday of a month.
type special struct {
	last               bool   // L: the last day of the month
	nth                uint64 // bit 8*w+k: the kth weekday w of a month; k is 1 to 5, or lastOf
	noDays, noWeekdays bool   // the field holds only special days
}

// IsField reports whether a word could be a cron field: digits, signs and names of months and weekdays.
func IsField(word string) bool {
	kinds := cronFields()
	signs := func(r rune) bool { return strings.ContainsRune("0123456789*/,-?#", r) }
	for _, part := range strings.FieldsFunc(strings.ToLower(word), signs) {
		isMonth, isDay := slices.Contains(kinds[monthField].names, part), slices.Contains(kinds[weekdayField].names, strings.TrimSuffix(part, "l"))
		if !isMonth && !isDay && part != "l" {
			return false
		}
	}
	return word != ""
}

// cleanFields checks each field and prepares it for robfig's parser: it moves L and # into more, and writes Sunday as 0, since
// that parser does not know 7. shown are the fields in canonical form, for Spec.String.
func cleanFields(fields []string) (clean, shown []string, more special, err error) {
	kinds := cronFields()
	kinds = kinds[len(kinds)-len(fields):]
	for i, text := range fields {
		var plain, all []string
		for item := range strings.SplitSeq(text, ",") {
			if fixed, ok, err := more.take(kinds[i], item); ok || err != nil {
				if err != nil {
					return nil, nil, special{}, fmt.Errorf("%s %q: %w", kinds[i].name, text, err)
				}
				all = append(all, fixed)
				continue
			}
			fixed, err := kinds[i].clean(item)
			if err != nil {
				return nil, nil, special{}, fmt.Errorf("%s %q: %w", kinds[i].name, text, err)
			}
			plain, all = append(plain, fixed), append(all, item)
		}
		if len(plain) == 0 {
			plain = []string{strconv.Itoa(kinds[i].min)} // a placeholder for the parser; cronOf removes it
			more.noDays = more.noDays || kinds[i].name == "day"
			more.noWeekdays = more.noWeekdays || kinds[i].name == "weekday"
		}
		clean, shown = append(clean, strings.Join(plain, ",")), append(shown, strings.Join(all, ","))
	}
	return clean, shown, more, nil
}

// take reads an item that robfig's parser does not know, and returns its canonical form: "L", "5L", "5#2".
func (s *special) take(f field, item string) (shown string, ok bool, err error) {
	// L is the last day of a month, 5#2 the second Friday, 5L the last one.
	if f.name == "day" && item == "l" {
		s.last = true
		return "L", true, nil
	}
	day, place, numbered := strings.Cut(item, "#")
	body, last := strings.CutSuffix(item, "l")
	switch {
	case f.name != "weekday" || !numbered && !last:
		return "", false, nil
	case body == "":
		return "", false, errors.New("an L alone does not say which day: 6 is Saturday, 6L is the last Saturday of the month")
	case last:
		day, shown = body, body+"L"
	default:
		shown = item
	}
	k := lastOf
	if numbered {
		if k, err = Digits(place); err != nil || k < 1 || k > 5 {
			return "", false, fmt.Errorf("%q: the number after # counts the weekday within the month, 1 to 5", item)
		}
	}
	weekday, err := f.value(day)
	if err != nil {
		return "", false, err
	}
	s.nth |= 1 << (8*(weekday%7) + k)
	return shown, true, nil
}

// clean checks one item of a list: "*", a value or a range, each with an optional step.
// It returns the item for robfig's parser, with weekdays as a list of numbers.
func (f field) clean(item string) (string, error) {
	span, stepText, stepped := strings.Cut(item, "/")
	step := 1
	if stepped {
		var err error
		if step, err = f.step(stepText); err != nil {
			return "", err
		}
	}
	if span == "*" || span == "?" {
		return item, nil
	}
	lowText, highText, ranged := strings.Cut(span, "-")
	low, err := f.value(lowText)
	if err != nil {
		return "", err
	}
	high := low
	if ranged {
		if high, err = f.value(highText); err != nil {
			return "", err
		}
		if high == 0 && low > 0 && f.name == "weekday" {
			high = 7 // fri-sun
		}
	} else if stepped && f.name == "weekday" && low < 7 {
		high = 6 // "1/2" runs to the end of the field
	}
	if low > high {
		return "", fmt.Errorf("%s runs backwards: write it as two ranges with a comma between", span)
	}
	if f.name == "weekday" {
		return weekdays(low, high, step), nil
	}
	return item, nil
}

// step parses the number after a slash.
func (f field) step(text string) (int, error) {
	step, err := Digits(text)
	switch {
	case err != nil || step == 0:
		return 0, fmt.Errorf("the step %q after the slash is not a number above 0", text)
	case step > f.max-f.min+1:
		return 0, fmt.Errorf("the step %d is larger than the field, which ends at %d; for a plain period use \"every\", e.g. every 90m", step, f.max)
	}
	return step, nil
}

// value parses a number, or the name of a month or weekday.
func (f field) value(text string) (int, error) {
	if i := slices.Index(f.names, text); i >= 0 {
		return f.min + i, nil
	}
	v, err := Digits(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not understood: this field takes %s", text, f.hint())
	}
	if v < f.min || v > f.max {
		return 0, fmt.Errorf("%d is out of range: want %d to %d", v, f.min, f.max)
	}
	return v, nil
}

// hint lists what the field takes.
func (f field) hint() string {
	switch f.name {
	case "day":
		return "numbers, L for the last day of the month, * , - and / (there is no W)"
	case "weekday":
		return "numbers, names such as mon, 5#2 for the second Friday of the month, 5L for its last, * , - and /"
	case "month":
		return "numbers, names such as feb, * , - and /"
	}
	return "numbers, * , - and / (L, W and # do not exist here)"
}

// weekdays lists the days of a range, with Sunday as 0.
func weekdays(low, high, step int) string {
	var list []string
	for day := low; day <= high; day += step {
		list = append(list, strconv.Itoa(day%7))
	}
	return strings.Join(list, ",")
}

// Digits reads a short decimal number without a sign. Four digits are enough for a year.
func Digits(text string) (int, error) {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return strconv.Atoi(text)
}
