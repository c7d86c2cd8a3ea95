package scheduler

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// field is what one place of a cron spec takes.
type field struct {
	name     string
	min, max int
	names    []string // names[i] stands for min+i
}

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

// cleanFields checks each field and writes the weekdays without 7, which robfig's parser does not know.
func cleanFields(fields []string) ([]string, error) {
	kinds := cronFields()
	kinds = kinds[len(kinds)-len(fields):]
	clean := slices.Clone(fields)
	for i, text := range fields {
		items := strings.Split(text, ",")
		for n, item := range items {
			fixed, err := kinds[i].clean(item)
			if err != nil {
				return nil, fmt.Errorf("%s %q: %w", kinds[i].name, text, err)
			}
			items[n] = fixed
		}
		clean[i] = strings.Join(items, ",")
	}
	return clean, nil
}

// clean checks one item of a list: "*", a value or a range, each with an optional step.
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
		high = 6 // "1/2" goes on to the end of the field
	}
	if low > high {
		return "", fmt.Errorf("%s runs backwards: write it as two ranges with a comma between", span)
	}
	if f.name == "weekday" {
		return weekdays(low, high, step), nil
	}
	return item, nil
}

func (f field) step(text string) (int, error) {
	step, err := digits(text)
	switch {
	case err != nil || step == 0:
		return 0, fmt.Errorf("the step %q behind the slash is not a number above 0", text)
	case step > f.max-f.min+1:
		return 0, fmt.Errorf("the step %d is larger than the field, which ends at %d; for a plain period use \"every\", e.g. every 90m", step, f.max)
	}
	return step, nil
}

func (f field) value(text string) (int, error) {
	if i := slices.Index(f.names, text); i >= 0 {
		return f.min + i, nil
	}
	v, err := digits(text)
	if err != nil {
		hint := "numbers, * , - and /"
		if f.names != nil {
			hint = "numbers, names such as " + f.names[1] + ", * , - and /"
		}
		return 0, fmt.Errorf("%q is not understood: a field is made of %s (L, W and # do not exist here)", text, hint)
	}
	if v < f.min || v > f.max {
		return 0, fmt.Errorf("%d is out of range: want %d to %d", v, f.min, f.max)
	}
	return v, nil
}

// weekdays writes a range out, with Sunday as 0.
func weekdays(low, high, step int) string {
	var list []string
	for day := low; day <= high; day += step {
		list = append(list, strconv.Itoa(day%7))
	}
	return strings.Join(list, ",")
}

// digits reads a short decimal number without a sign.
func digits(text string) (int, error) {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number", text)
	}
	return strconv.Atoi(text)
}
