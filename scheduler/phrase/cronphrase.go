package phrase

import (
	"fmt"
	"slices"
	"strings"

	"hob/scheduler/spec"
)

// looksLikeCron reports whether a text is meant as cron fields: the first word could be a field, and there is a star among the
// first five words or there are five fields in all.
func looksLikeCron(fields []token) bool {
	if spec.Zoned(fields[0].text) {
		return true
	}
	// Names such as mon are also English, so a first field counts only if it is made of digits and signs.
	if strings.Trim(fields[0].text, "0123456789*/,-?") != "" {
		return false
	}
	return cronLength(fields) >= 5 || slices.ContainsFunc(fields[:min(len(fields), 5)], func(f token) bool { return f.text[0] == '*' })
}

// cronLength counts the words that could be cron fields, at most six.
// A colon ends the count, because the prompt may begin after it.
func cronLength(fields []token) int {
	n := 0
	for n < len(fields) && n < 6 && spec.IsField(strings.TrimSuffix(fields[n].text, ":")) {
		n++
		if strings.HasSuffix(fields[n-1].text, ":") {
			break
		}
	}
	return n
}

// longestCron reads six fields if they are a spec, otherwise five, and then "every N … from DATE". It is ambiguous and an error
// if both five and six fields are a spec and text follows.
func longestCron(fields []token) ([]token, spec.Spec, error) {
	n := cronLength(fields)
	if len(fields) > 0 && spec.Zoned(fields[0].text) {
		n = len(fields) // so that the error quotes all of it
	}
	if n < 5 {
		n = min(len(fields), 5) // so that the error of the parser names the fault
	}
	// An interval after the fields belongs to the spec, so both are parsed together.
	if intervalFollows(fields[n:]) {
		s, err := cronTokens(fields[:n+turnLength])
		return endOfCron(fields[:n+turnLength]), s, err
	}
	// With exactly seven fields the last one is no prompt: the parser gets all of them, and its error gives their number.
	if n == 6 && len(fields) == 7 && spec.IsField(strings.TrimSuffix(fields[6].text, ":")) {
		n = 7
	}
	long, err := cronTokens(fields[:n])
	if n != 6 {
		if err != nil {
			return nil, spec.Spec{}, err
		}
		return endOfCron(fields[:n]), long, nil
	}
	// Six fields may be a spec with seconds, or five fields and a prompt whose first word looks like a field.
	short, shortErr := cronTokens(fields[:5])
	switch {
	case err != nil && shortErr != nil:
		return nil, spec.Spec{}, err
	case err != nil:
		return endOfCron(fields[:5]), short, nil
	case shortErr == nil && len(fields) > 6 && !strings.HasSuffix(fields[5].text, ":"):
		return nil, spec.Spec{}, fmt.Errorf("cron spec: it is not clear whether %q belongs to it; put a colon after the last field", fields[5].text)
	}
	return endOfCron(fields[:6]), long, nil
}

const turnLength = 5

// intervalFollows reports whether "every 2 weeks from 2026-11-24" comes next.
func intervalFollows(fields []token) bool {
	if len(fields) < turnLength || !strings.EqualFold(fields[0].text, "every") || !strings.EqualFold(fields[3].text, "from") {
		return false
	}
	_, err := digits(fields[1].text)
	return err == nil
}

// cronTokens parses tokens as the fields of a cron spec.
func cronTokens(fields []token) (spec.Spec, error) {
	words := make([]string, len(fields))
	for i, f := range fields {
		words[i] = strings.TrimSuffix(f.text, ":")
	}
	return spec.Parse("cron " + strings.Join(words, " "))
}

// endOfCron leaves a colon after the last field to the rest of the text.
// The end of the token moves back, so that skipTo leaves the colon as the next word.
func endOfCron(fields []token) []token {
	last := &fields[len(fields)-1]
	if strings.HasSuffix(last.text, ":") {
		last.end--
	}
	return fields
}
