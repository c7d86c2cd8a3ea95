package secret

import (
	"bytes"
	"regexp"
	"slices"
)

// mark is what a Redactor writes in the place of a value.
var mark = regexp.MustCompile(`\[secret [^\]\s]{1,200}\]`)

// Placeholders lists what stands in a text for values of secrets, each once, in the order in which they come.
func Placeholders(text []byte) []string {
	if !bytes.Contains(text, []byte("[secret ")) {
		return nil
	}
	var list []string
	for _, m := range mark.FindAll(text, -1) {
		if !slices.Contains(list, string(m)) {
			list = append(list, string(m))
		}
	}
	return list
}

// Placeholder names what stands for the value of a secret more often in a new text than in the old one, "" when nothing does: written
// out or sent, it would take the place of the secret itself.
func Placeholder(was, now []byte) string {
	for _, m := range Placeholders(now) {
		if bytes.Count(now, []byte(m)) > bytes.Count(was, []byte(m)) {
			return m
		}
	}
	return ""
}
