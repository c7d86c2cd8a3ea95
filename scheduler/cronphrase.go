package scheduler

import (
	"fmt"
	"strings"
)

// looksLikeCron reports whether a text means to be cron fields: a first field made of their signs, and a star among the first five, or
// five fields in all.
func looksLikeCron(fields []token) bool {
	if zoned(fields[0].text) {
		return true
	}
	if strings.Trim(fields[0].text, "0123456789*/,-?") != "" {
		return false
	}
	if cronLength(fields) >= 5 {
		return true
	}
	for _, f := range fields[:min(len(fields), 5)] {
		if f.text[0] == '*' {
			return true
		}
	}
	return false
}

// zoned reports whether a first field names a zone, as some cron programs have it.
func zoned(field string) bool {
	field = strings.ToLower(field)
	return strings.HasPrefix(field, "tz=") || strings.HasPrefix(field, "cron_tz=")
}

// cronLength counts the fields, at most six, that could be cron's.
func cronLength(fields []token) int {
	n := 0
	for n < len(fields) && n < 6 && cronSigns(fields[n].text) {
		n++
		if strings.HasSuffix(fields[n-1].text, ":") {
			break
		}
	}
	return n
}

// cronSigns reports whether a word is made of digits, signs and names of months and weekdays.
func cronSigns(word string) bool {
	word = strings.ToLower(strings.TrimSuffix(word, ":"))
	kinds := cronFields()
	for _, part := range strings.FieldsFunc(word, func(r rune) bool { return strings.ContainsRune("0123456789*/,-?", r) }) {
		_, isMonth := indexOf(kinds[4].names, part)
		_, isDay := indexOf(kinds[5].names, part)
		if !isMonth && !isDay {
			return false
		}
	}
	return word != ""
}

// longestCron reads six fields if they are a spec, else five. Six that would be one as five too, with a text
// behind, are not certain.
func longestCron(fields []token) ([]token, Spec, error) {
	n := cronLength(fields)
	if n < 5 {
		n = min(len(fields), 5) // whatever it is, the error names it
	}
	if n == 6 && len(fields) == 7 && cronSigns(fields[6].text) {
		n = 7
	}
	long, err := cronTokens(fields[:n])
	if n != 6 {
		if err != nil {
			return nil, Spec{}, err
		}
		return endOfCron(fields[:n]), long, nil
	}
	short, shortErr := cronTokens(fields[:5])
	switch {
	case err != nil && shortErr != nil:
		return nil, Spec{}, err
	case err != nil:
		return endOfCron(fields[:5]), short, nil
	case shortErr == nil && len(fields) > 6 && !strings.HasSuffix(fields[5].text, ":"):
		return nil, Spec{}, fmt.Errorf("cron spec: it is not clear whether %q belongs to it; put a colon behind the last field", fields[5].text)
	}
	return endOfCron(fields[:6]), long, nil
}

func cronTokens(fields []token) (Spec, error) {
	words := make([]string, len(fields))
	for i, f := range fields {
		words[i] = strings.TrimSuffix(f.text, ":")
	}
	return parseCron(strings.Join(words, " "))
}

// endOfCron leaves the colon behind the last field to the rest of the text.
func endOfCron(fields []token) []token {
	last := &fields[len(fields)-1]
	if strings.HasSuffix(last.text, ":") {
		last.end--
	}
	return fields
}

func indexOf(list []string, word string) (int, bool) {
	for i, w := range list {
		if w == word {
			return i, true
		}
	}
	return 0, false
}
