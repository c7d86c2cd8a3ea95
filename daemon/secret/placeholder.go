package secret

import (
	"bytes"
	"slices"

	"hob/daemon/sys"
)

// mark matches the text that a Redactor writes in place of a value.
var mark = sys.Regexp(`\[secret [^\]\s]{1,200}\]`)

// Placeholders lists the placeholders of secrets in a text, each once, in the order in which they appear.
func Placeholders(text []byte) []string {
	// The plain search is much faster than the pattern, and most texts have no placeholder.
	if !bytes.Contains(text, []byte("[secret ")) {
		return nil
	}
	var list []string
	for _, m := range mark().FindAll(text, -1) {
		if !slices.Contains(list, string(m)) {
			list = append(list, string(m))
		}
	}
	return list
}

// Placeholder returns a placeholder that the new text has more often than the old one; "": none. Written or sent, such a text would
// overwrite the secret itself.
func Placeholder(was, now []byte) string {
	for _, m := range Placeholders(now) {
		if bytes.Count(now, []byte(m)) > bytes.Count(was, []byte(m)) {
			return m
		}
	}
	return ""
}
