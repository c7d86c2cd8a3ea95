package turn

import (
	"encoding/json"
	"fmt"
	"strings"

	"hob/daemon/sys"
	"hob/tools"
)

// numbered matches what an answer to several questions puts before each part: "2b", "2 b", "2." or "2)".
var numbered = sys.Regexp(`\b(\d)(?:[.):=](?:\s+|$)|\s?([A-Da-d])\b)`)

// answers is the result of a call of the ask tool. An answer to several questions is divided among them, if it says which part is for which.
func answers(args json.RawMessage, text string) string {
	var in struct {
		Questions []struct {
			Question string `json:"question"`
			Options  []struct {
				Label string `json:"label"`
			} `json:"options"`
		} `json:"questions"`
	}
	if _, inner, ok := tools.Inner(args); ok {
		args = inner
	}
	if json.Unmarshal(args, &in) != nil || len(in.Questions) < 2 {
		return "the owner answered: " + text
	}
	parts, ok := divided(text, len(in.Questions))
	if !ok {
		return fmt.Sprintf("the owner answered these %d questions with one text, which does not say which part is for which: %s", len(in.Questions), text)
	}
	lines := []string{"the owner answered: " + text}
	for i, q := range in.Questions {
		var labels []string
		for _, o := range q.Options {
			labels = append(labels, o.Label)
		}
		said := "no answer"
		if parts[i] != "" {
			said = chosen(parts[i], labels)
		}
		lines = append(lines, fmt.Sprintf("%d. %s: %s", i+1, strings.TrimSpace(q.Question), said))
	}
	return strings.Join(lines, "\n")
}

// divided returns the parts of an answer for n questions: after their numbers, in rising order and from the start, or else one on each line or
// between semicolons.
func divided(text string, n int) (parts []string, ok bool) {
	parts = make([]string, n)
	last := 0
	found := numbered().FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		number, begin, end := int(text[at[2]]-'0'), at[1], len(text)
		if at[4] >= 0 {
			begin = at[4] // the letter belongs to the answer
		}
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		if number <= last || number > n || i == 0 && strings.TrimSpace(text[:at[0]]) != "" {
			last = 0
			break
		}
		parts[number-1], last = strings.Trim(text[begin:end], " \t\r\n,;."), number
	}
	if last > 0 {
		return parts, true
	}
	parts = strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' })
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts, len(parts) == n
}

// chosen returns the labels of options that an answer names by their letters, else the answer itself.
func chosen(answer string, labels []string) string {
	var list []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(answer), func(r rune) bool { return strings.ContainsRune(" ,+&/", r) }) {
		if word == "and" {
			continue
		}
		if len(word) != 1 || word[0] < 'a' || int(word[0]-'a') >= len(labels) {
			return answer
		}
		list = append(list, labels[word[0]-'a'])
	}
	return strings.Join(list, ", ")
}
