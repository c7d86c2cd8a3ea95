package importer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"hob/daemon/sys"
)

// parseJSON5 reads a document of JSON5 (https://spec.json5.org): JSON with comments, commas after the last value, names without quotes,
// strings in single quotes, and more forms of numbers. Objects become maps, numbers float64.
func parseJSON5(text []byte) (any, error) {
	p := &json5{whole: string(text), rest: string(text)}
	v := p.value(0)
	if p.space(); p.rest != "" {
		p.fail("there is something after its end")
	}
	return v, p.err
}

// json5 is a parser. After an error no text is left, so each method comes to its end.
type json5 struct {
	whole, rest string
	err         error // the first one
}

// deepest is how far objects and arrays may be nested.
const deepest = 100

// fail notes an error where the text that is left begins.
func (p *json5) fail(why string) {
	if p.err == nil {
		line := 1 + strings.Count(p.whole[:len(p.whole)-len(p.rest)], "\n")
		p.err = fmt.Errorf("line %d: %s", line, why)
	}
	p.rest = ""
}

// What comes next in a text. A number has the form of section 6 of the specification, but Infinity and NaN are not among them, because
// JSON cannot carry them on. White space and comments are those of sections 7 and 8.
var (
	blank    = sys.Regexp(`^([\s\v\x{85}\p{Z}\x{feff}]|//[^\n\r\x{2028}\x{2029}]*|/\*(?s:.*?)\*/)*`)
	word     = sys.Regexp(`^[\p{L}\p{Nd}_$+.-]*`) // a name without quotes, or a number
	numeral  = sys.Regexp(`^[+-]?(0[xX][0-9a-fA-F]+|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)$`)
	unicodes = sys.Regexp(`^(\\u[0-9a-fA-F]{4})+`) // characters that are written as \uXXXX
)

// next removes what matches.
func (p *json5) next(expr *regexp.Regexp) (text string) {
	text = expr.FindString(p.rest)
	p.rest = p.rest[len(text):]
	return text
}

// space skips white space and comments.
func (p *json5) space() {
	if p.next(blank()); strings.HasPrefix(p.rest, "/*") {
		p.fail("a comment does not end")
	}
}

// take removes a mark if it comes next.
func (p *json5) take(mark string) (ok bool) {
	p.rest, ok = strings.CutPrefix(p.rest, mark)
	return ok
}

// value reads any value.
func (p *json5) value(depth int) any {
	p.space()
	switch {
	case depth > deepest:
		p.fail("it is nested too deeply")
	case p.rest == "":
		p.fail("a value is missing")
	case p.take("{"):
		object := map[string]any{}
		p.members("}", func() {
			name := p.name()
			object[name] = p.value(depth + 1)
		})
		return object
	case p.take("["):
		list := []any{}
		p.members("]", func() { list = append(list, p.value(depth+1)) })
		return list
	case p.quoted():
		return p.text()
	default:
		return p.scalar()
	}
	return nil
}

// members reads values with commas between them, up to a closing mark. A comma may come after the last one.
func (p *json5) members(end string, one func()) {
	for p.space(); !p.take(end) && p.err == nil; p.space() {
		one()
		if p.space(); !p.take(",") && !strings.HasPrefix(p.rest, end) {
			p.fail("a comma or " + end + " is missing")
		}
	}
}

// name reads the name of a member, and the colon after it.
func (p *json5) name() (name string) {
	if p.quoted() {
		name = p.text()
	} else if name = p.next(word()); name == "" {
		p.fail("a name is missing")
	}
	if p.space(); !p.take(":") {
		p.fail("a colon is missing")
	}
	return name
}

// scalar reads a number, true, false or null.
func (p *json5) scalar() any {
	text := p.next(word())
	switch {
	case text == "true", text == "false":
		return text == "true"
	case text == "null":
		return nil
	case !numeral().MatchString(text):
		p.fail("a value is not understood")
		return nil
	}
	digits := strings.TrimLeft(text, "+-")
	n, err := strconv.ParseFloat(digits, 64)
	if whole, not := strconv.ParseUint(digits, 0, 64); not == nil { // it may be hexadecimal
		n, err = float64(whole), nil
	}
	if err != nil {
		p.fail("a number is too large")
	}
	if text[0] == '-' {
		n = -n
	}
	return n
}

// quoted reports whether a string comes next.
func (p *json5) quoted() bool {
	return strings.HasPrefix(p.rest, `"`) || strings.HasPrefix(p.rest, "'")
}

// text reads a string in either quotes (section 5).
func (p *json5) text() string {
	quote, rest := p.rest[0], p.rest[1:]
	var b strings.Builder
	for rest != "" && p.err == nil {
		switch c := rest[0]; {
		case c == quote:
			p.rest = rest[1:]
			return b.String()
		case c == '\n' || c == '\r':
			p.fail("a text does not end in its line")
		case c == '\\':
			rest = p.unescape(&b, rest)
		default:
			b.WriteByte(c)
			rest = rest[1:]
		}
	}
	p.fail("a text does not end")
	return ""
}

// unescape writes what the backslash at the start of a text stands for, and returns the text after it.
func (p *json5) unescape(b *strings.Builder, text string) (after string) {
	c, size := utf8.DecodeRuneInString(text[1:])
	after = text[1+size:]
	switch {
	case strings.ContainsRune("bfnrtvx", c):
		r, _, tail, err := strconv.UnquoteChar(text, 0)
		if err != nil {
			p.fail(`a text has a wrong \x`)
		}
		b.WriteRune(r)
		return tail
	case c == 'u':
		// JSON's own decoder joins the two halves of a rune beyond 16 bits.
		codes := unicodes().FindString(text)
		var runes string
		if codes == "" || json.Unmarshal([]byte(`"`+codes+`"`), &runes) != nil {
			p.fail(`a text has a wrong \u`)
		}
		b.WriteString(runes)
		return text[len(codes):]
	case c == '0' && strings.IndexAny(after, "0123456789") != 0:
		b.WriteByte(0)
	case '0' <= c && c <= '9':
		p.fail("a text has a digit after a backslash")
	case c == '\r':
		// The line goes on; the mark of its end may have two bytes.
		return strings.TrimPrefix(after, "\n")
	case strings.ContainsRune("\n\u2028\u2029", c):
		// The line goes on.
	default:
		b.WriteString(text[1 : 1+size]) // any other character stands for itself
	}
	return after
}
