package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hob/daemon/sys"
)

// parseJSON5 reads a document of JSON5 (https://spec.json5.org): JSON with comments, commas after the last value, names without quotes,
// strings in single quotes, and more forms of numbers. Objects become maps, numbers float64.
func parseJSON5(text []byte) (any, error) {
	p := &json5{rest: string(text)}
	v, err := p.value(0)
	if err == nil {
		if err = p.space(); err == nil && p.rest != "" {
			err = errors.New("there is something after its end")
		}
	}
	if err != nil {
		line := 1 + strings.Count(string(text[:len(text)-len(p.rest)]), "\n")
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return v, nil
}

// json5 is a parser with the text that is left.
type json5 struct{ rest string }

// deepest is how far objects and arrays may be nested.
const deepest = 100

// space skips white space and comments (sections 7 and 8 of the specification).
func (p *json5) space() error {
	for {
		p.rest = strings.TrimLeftFunc(p.rest, func(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' })
		switch {
		case strings.HasPrefix(p.rest, "//"):
			p.rest = strings.TrimLeftFunc(p.rest, func(r rune) bool { return !strings.ContainsRune("\n\r\u2028\u2029", r) })
		case strings.HasPrefix(p.rest, "/*"):
			_, after, ok := strings.Cut(p.rest[2:], "*/")
			if !ok {
				return errors.New("a comment does not end")
			}
			p.rest = after
		default:
			return nil
		}
	}
}

// take removes a mark if it comes next.
func (p *json5) take(mark string) bool {
	after, ok := strings.CutPrefix(p.rest, mark)
	p.rest = after
	return ok
}

// value reads any value.
func (p *json5) value(depth int) (any, error) {
	if err := p.space(); err != nil {
		return nil, err
	}
	switch {
	case depth > deepest:
		return nil, errors.New("it is nested too deeply")
	case p.rest == "":
		return nil, errors.New("a value is missing")
	case p.take("{"):
		object := map[string]any{}
		return object, p.members("}", func() error { return p.member(object, depth) })
	case p.take("["):
		list := []any{}
		err := p.members("]", func() error {
			v, err := p.value(depth + 1)
			list = append(list, v)
			return err
		})
		return list, err
	case p.rest[0] == '"' || p.rest[0] == '\'':
		return p.text()
	}
	switch word := p.word(); word {
	case "true", "false":
		return word == "true", nil
	case "null":
		return nil, nil //nolint:nilnil // the value is null
	default:
		return number(word)
	}
}

// numeral is a number of JSON5 (section 6), without its sign. Infinity and NaN are not among them, because JSON cannot carry them on.
var numeral = sys.Regexp(`^(0[xX][0-9a-fA-F]+|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)$`)

// number reads a number.
func number(word string) (any, error) {
	digits := strings.TrimPrefix(word, "-")
	if digits == word {
		digits = strings.TrimPrefix(word, "+")
	}
	if !numeral().MatchString(digits) {
		return nil, errors.New("a value is not understood")
	}
	n, err := strconv.ParseFloat(digits, 64)
	if len(digits) > 2 && (digits[1] == 'x' || digits[1] == 'X') {
		var whole uint64
		whole, err = strconv.ParseUint(digits[2:], 16, 64)
		n = float64(whole)
	}
	if err != nil {
		return nil, errors.New("a number is too large")
	}
	if word[0] == '-' {
		n = -n
	}
	return n, nil
}

// members reads values with commas between them, up to a closing mark. A comma may come after the last one.
func (p *json5) members(end string, one func() error) error {
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.take(end) {
			return nil
		}
		if err := one(); err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		if !p.take(",") && !strings.HasPrefix(p.rest, end) {
			return fmt.Errorf("a comma or %s is missing", end)
		}
	}
}

// member reads a name and its value into an object.
func (p *json5) member(object map[string]any, depth int) error {
	var name string
	var err error
	if strings.HasPrefix(p.rest, `"`) || strings.HasPrefix(p.rest, "'") {
		name, err = p.text()
	} else if name = p.word(); name == "" {
		err = errors.New("a name is missing")
	}
	if err == nil {
		err = p.space()
	}
	if err == nil && !p.take(":") {
		err = errors.New("a colon is missing")
	}
	if err != nil {
		return err
	}
	object[name], err = p.value(depth + 1)
	return err
}

// word reads a name without quotes, or a number.
func (p *json5) word() string {
	end := strings.IndexFunc(p.rest, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_$+-.", r)
	})
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}

// text reads a string in either quotes (section 5).
func (p *json5) text() (string, error) {
	quote := p.rest[0]
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == quote:
			p.rest = p.rest[i+1:]
			return b.String(), nil
		case c == '\n' || c == '\r':
			return "", errors.New("a text does not end in its line")
		case c != '\\':
			b.WriteByte(c)
		case i+1 == len(p.rest):
			return "", errors.New("a text does not end")
		default:
			i++
			n, err := unescape(&b, p.rest[i:])
			if err != nil {
				return "", err
			}
			i += n
		}
	}
	return "", errors.New("a text does not end")
}

// unicodes are the characters that are written as \uXXXX, up to the first other one, without the first backslash.
var unicodes = sys.Regexp(`^u[0-9a-fA-F]{4}(\\u[0-9a-fA-F]{4})*`)

// unescape writes what the text after a backslash stands for, and returns how many bytes beyond the first it took.
func unescape(b *strings.Builder, after string) (more int, err error) {
	switch after[0] {
	case 'b', 'f', 'n', 'r', 't', 'v':
		b.WriteByte(map[byte]byte{'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}[after[0]])
	case '\n':
		// The line goes on.
	case '\r':
		// The line goes on; the mark of its end may have two bytes.
		if strings.HasPrefix(after, "\r\n") {
			return 1, nil
		}
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		if after[0] != '0' || len(after) > 1 && after[1] >= '0' && after[1] <= '9' {
			return 0, errors.New("a text has a digit after a backslash")
		}
		b.WriteByte(0)
	case 'x':
		code, err := strconv.ParseUint(after[1:min(3, len(after))], 16, 8)
		if err != nil || len(after) < 3 {
			return 0, errors.New(`a text has a wrong \x`)
		}
		b.WriteRune(rune(code))
		return 2, nil
	case 'u':
		// JSON's own decoder joins the two halves of a rune beyond 16 bits.
		codes := unicodes().FindString(after)
		var text string
		if codes == "" || json.Unmarshal([]byte(`"\`+codes+`"`), &text) != nil {
			return 0, errors.New(`a text has a wrong \u`)
		}
		b.WriteString(text)
		return len(codes) - 1, nil
	default:
		// Any other character stands for itself, but U+2028 and U+2029 end a line, which then goes on.
		r, size := utf8.DecodeRuneInString(after)
		if r != '\u2028' && r != '\u2029' {
			b.WriteString(after[:size])
		}
		return size - 1, nil
	}
	return 0, nil
}
