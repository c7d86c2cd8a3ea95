package markup

import (
	"strings"
	"unicode/utf8"
)

// textBytes is the size of platforms that count bytes.
func textBytes(p Piece) int { return len(p.Text) }

// extraLine is the extra cost in bytes of each further line on platforms that send each line as a message.
const extraLine = 24

// lineBytes is IRC's size: the bytes, and extraLine for each line but the first.
func lineBytes(p Piece) int {
	said := 0
	for line := range strings.Lines(p.Text) {
		if line != "\n" {
			said++
		}
	}
	return len(p.Text) + extraLine*max(0, said-1)
}

// units returns the length in UTF-16 code units.
func units(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// shownUnits returns the UTF-16 length of HTML as shown: tags count nothing, a character reference counts
// one.
func shownUnits(html string) int {
	n := 0
	for html != "" {
		i := strings.IndexAny(html, "<&")
		if i < 0 {
			return n + units(html)
		}
		n += units(html[:i])
		end := ">"
		if html[i] == '&' {
			end = ";"
			n++
		}
		_, html, _ = strings.Cut(html[i:], end)
	}
	return n
}

// jsonBytes returns the length of a JSON string, with an encoder that also escapes HTML characters.
func jsonBytes(s string) int {
	n := len(s) + len(`""`)
	for _, r := range s {
		switch {
		case r == '<' || r == '>' || r == '&':
			n += len(`\u003c`) - 1
		case r == '"' || r == '\\' || r == '\n' || r == '\t':
			n++
		case r < ' ' || r == '\u2028' || r == '\u2029':
			n += len(`\u2028`) - utf8.RuneLen(r)
		}
	}
	return n
}
