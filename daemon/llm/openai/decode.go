package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"hob/daemon/sys"
)

// The types of this file decode what servers send in place of the type that the protocol names.

// optional is a value that hob can do without. One of another JSON type counts as missing: it never costs the answer.
type optional[T any] struct{ value T }

// UnmarshalJSON never fails.
func (o *optional[T]) UnmarshalJSON(b []byte) error {
	var v T
	if json.Unmarshal(b, &v) == nil {
		o.value = v
	}
	return nil
}

// number is a number. Some gateways write it as a text.
type number float64

// UnmarshalJSON takes a number, a text that holds one, or null, which is 0.
func (n *number) UnmarshalJSON(b []byte) error {
	if b[0] == 'n' {
		return nil
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(strings.Trim(string(b), `"`)), 64)
	if err != nil {
		return fmt.Errorf("number: %w", err)
	}
	*n = number(f)
	return nil
}

// reason is the reason that an answer ended. Some gateways write an object with a type.
type reason string

// UnmarshalJSON takes a text or an object; any other value is no reason.
func (r *reason) UnmarshalJSON(b []byte) error {
	var object struct{ Type, Reason optional[string] }
	if b[0] == '"' {
		return json.Unmarshal(b, (*string)(r))
	}
	if json.Unmarshal(b, &object) == nil {
		*r = reason(cmp.Or(object.Type.value, object.Reason.value))
	}
	return nil
}

// few is a list of limited length. A short JSON text can hold very many empty elements, and each would take memory.
type few[T any] []T

// most is the longest list that is accepted; no answer needs more.
const most = 4096

// UnmarshalJSON decodes a list of at most most elements. A single object is a list of one; a text, a number or null is an empty list.
func (f *few[T]) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '{':
		b = slicesOfOne(b)
	case '[':
	default:
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("list: %w", err)
	}
	for d.More() {
		if len(*f) == most {
			return fmt.Errorf("a list of more than %d elements", most)
		}
		var v T
		if err := d.Decode(&v); err != nil {
			return fmt.Errorf("element of a list: %w", err)
		}
		*f = append(*f, v)
	}
	return nil
}

func slicesOfOne(b []byte) []byte { return append(append([]byte{'['}, b...), ']') }

// words is a text that some servers send as another type: a tool's arguments as an object, for example.
type words string

// UnmarshalJSON takes a string or null. Any other value is kept as its JSON text.
func (w *words) UnmarshalJSON(b []byte) (err error) {
	switch b[0] {
	case '"':
		var s string
		s, err = unquoted(b)
		*w = words(s)
	case 'n':
	default:
		*w = words(b)
	}
	return err
}

// contents is the text of a message. Some servers send it as a list of parts, with reasoning among them.
type contents struct {
	said    words
	thought thought
}

// UnmarshalJSON takes a list of {"text"} and {"thinking"} parts, ignoring others, or a value that words takes.
func (c *contents) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return c.said.UnmarshalJSON(b)
	}
	var parts few[struct {
		Text     words   `json:"text"`
		Thinking thought `json:"thinking"`
	}]
	if err := json.Unmarshal(b, &parts); err != nil {
		return fmt.Errorf("parts of a text: %w", err)
	}
	for _, p := range parts {
		c.said += p.Text
		c.thought += p.Thinking
	}
	return nil
}

// thought is a text of reasoning.
type thought string

// UnmarshalJSON takes a string or a list of parts with a text or a summary. It ignores other values: they are not meant for reading.
func (t *thought) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		s, err := unquoted(b)
		*t = thought(s)
		return err
	case '[':
		var parts few[struct {
			Text    string `json:"text"`
			Summary string `json:"summary"`
		}]
		if json.Unmarshal(b, &parts) != nil {
			return nil
		}
		for _, p := range parts {
			*t += thought(p.Text + p.Summary)
		}
	}
	return nil
}

// unquoted decodes a JSON string. A half of a surrogate pair stays as three bytes (as in WTF-8, https://wtf-8.codeberg.page), because its
// other half may be the beginning of the next chunk; joint puts them together.
func unquoted(b []byte) (string, error) {
	var out strings.Builder
	start := 1
	flush := func(end int) error {
		var s string
		err := json.Unmarshal(append(append([]byte{'"'}, b[start:end]...), '"'), &s)
		out.WriteString(s)
		return err
	}
	for _, at := range escapes().FindAllIndex(b, -1) {
		half, err := strconv.ParseUint(string(b[at[0]+2:at[1]]), 16, 16)
		if err != nil || at[1]-at[0] < len(`\ud83d`) {
			continue // a pair, or another escape
		}
		if err := flush(at[0]); err != nil {
			return "", fmt.Errorf("text: %w", err)
		}
		out.Write([]byte{0xE0 | byte(half>>12), 0x80 | byte(half>>6)&0x3F, 0x80 | byte(half)&0x3F}) // #nosec G115 -- 16 bits
		start = at[1]
	}
	if err := flush(len(b) - 1); err != nil {
		return "", fmt.Errorf("text: %w", err)
	}
	return out.String(), nil
}

// escapes matches the escapes of a JSON string: a surrogate pair, a half of one, or another one.
var escapes = sys.Regexp(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.`)

// joint joins the pieces of a text, and puts together the two halves of a surrogate pair that came apart.
type joint struct{ held string }

// take returns the text up to here. It holds back the first half of a pair at the end of s.
func (j *joint) take(s string) string {
	if j.held == "" && utf8.ValidString(s) {
		return s
	}
	s = j.held + s
	j.held = ""
	var out strings.Builder
	for s != "" {
		first, second := halfOf(s), rune(0)
		if first != 0 {
			second = halfOf(s[3:])
		}
		switch r, size := utf8.DecodeRuneInString(s); {
		case first == 0:
			out.WriteRune(r)
			s = s[size:]
		case utf16.DecodeRune(first, second) != utf8.RuneError:
			out.WriteRune(utf16.DecodeRune(first, second))
			s = s[6:]
		case len(s) == 3 && first < 0xDC00:
			j.held, s = s, ""
		default:
			out.WriteRune(utf8.RuneError)
			s = s[3:]
		}
	}
	return out.String()
}

// rest returns what is held back at the end.
func (j *joint) rest() string {
	if j.held == "" {
		return ""
	}
	j.held = ""
	return string(utf8.RuneError)
}

// halfOf returns the half of a surrogate pair that s begins with, 0 for none.
func halfOf(s string) rune {
	if len(s) < 3 || s[0] != 0xED || s[1] < 0xA0 {
		return 0
	}
	return rune(s[0]&0x0F)<<12 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
}
