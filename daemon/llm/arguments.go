package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// Arguments reads the arguments of a call that are not one JSON object, where exactly one reading is possible: an object in a fence of Markdown, an object
// as a JSON text, an object that is almost JSON (see tidied), or several objects, which are several calls. It returns nil when there
// is no such reading: an object that is cut off, for example. how says what was read, for people.
func Arguments(text string) (objects []json.RawMessage, how string) {
	return arguments(strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF")), "", true)
}

func arguments(text, how string, wrapped bool) ([]json.RawMessage, string) {
	if list := several(text); list != nil {
		if len(list) > 1 {
			return list, "several objects as several calls"
		}
		return list, how
	}
	var inner string
	switch inside, fenced := unfenced(text); {
	case wrapped && fenced:
		return arguments(inside, "an object in a fence", false)
	case wrapped && json.Unmarshal([]byte(text), &inner) == nil && inner != "":
		return arguments(strings.TrimSpace(inner), "an object as a text", false)
	}
	for strings.HasPrefix(text, "{{") && strings.HasSuffix(text, "}}") { // models that were refused once add braces
		text = text[1 : len(text)-1]
	}
	if list := several(tidied(text)); len(list) == 1 {
		return list, "an object that is almost JSON"
	}
	return nil, ""
}

// several reads JSON objects that follow one another; nil if there is anything else.
func several(text string) (list []json.RawMessage) {
	d := json.NewDecoder(strings.NewReader(text))
	for {
		var one json.RawMessage
		err := d.Decode(&one)
		switch {
		case errors.Is(err, io.EOF):
			return list
		case err != nil || !bytes.HasPrefix(one, []byte("{")):
			return nil
		}
		list = append(list, one)
	}
}

// unfenced returns what a fence of Markdown holds, if there is nothing else.
func unfenced(text string) (inside string, ok bool) {
	inside, ok = strings.CutPrefix(text, "```")
	if !ok {
		return "", false
	}
	inside, ok = strings.CutSuffix(inside, "```")
	kind, rest, line := strings.Cut(inside, "\n")
	if !ok || !line || strings.ContainsAny(kind, "{[\"`") || strings.Contains(rest, "```") {
		return "", false
	}
	return strings.TrimSpace(rest), true
}

// tidied writes as JSON what is almost JSON: it drops commas before a closing bracket, escapes line breaks and tabs inside of texts, and reads bare
// keys, single quotes, equal signs behind keys, and the values True, False and None (Python, JavaScript). Anything else stays as it is, so that it is no JSON then.
func tidied(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		rest := text[i:]
		n := 1
		switch b := text[i]; {
		case b == '"' || b == '\'' && opens(out.String()):
			var quoted string
			quoted, n = requoted(rest)
			out.WriteString(quoted)
		case wordAt(rest) > 0:
			n = wordAt(rest)
			next := strings.TrimLeft(rest[n:], " \t\r\n")
			equal := strings.HasPrefix(next, "=")
			key := equal || strings.HasPrefix(next, ":")
			if value := map[string]string{"True": "true", "False": "false", "None": "null"}[rest[:n]]; value != "" && !key {
				out.WriteString(value)
			} else if key && opens(out.String()) {
				out.WriteString(`"` + rest[:n] + `"`)
				if equal {
					out.WriteByte(':')
					n = len(rest) - len(next) + 1
				}
			} else {
				out.WriteString(rest[:n])
			}
		case b == ',' && strings.IndexAny(strings.TrimLeft(rest[1:], " \t\r\n"), "}]") == 0:
		default:
			out.WriteByte(b)
		}
		i += n
	}
	return out.String()
}

// opens reports whether a key or a value may follow a text of JSON.
func opens(before string) bool {
	before = strings.TrimRight(before, " \t\r\n")
	return before != "" && strings.IndexByte("{[,:", before[len(before)-1]) >= 0
}

// wordAt returns the length of the word that a text begins with.
func wordAt(text string) int {
	letter := func(r rune) bool { return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	return len(text) - len(strings.TrimLeftFunc(text, func(r rune) bool { return letter(r) || r >= '0' && r <= '9' && letter(rune(text[0])) }))
}

// requoted returns the text in quotes that s begins with as JSON has it, and its length in s. One without an end stays as it is.
func requoted(s string) (string, int) {
	var out strings.Builder
	for i := 1; i < len(s); i++ {
		b := s[i]
		switch {
		case b == s[0]:
			return `"` + out.String() + `"`, i + 1
		case b == '\\' && i+1 < len(s):
			if i++; s[i] != '\'' {
				out.WriteByte(b)
			}
			out.WriteByte(s[i])
		case b == '"':
			out.WriteString(`\"`)
		case b == '\n' || b == '\r' || b == '\t':
			out.WriteString(map[byte]string{'\n': `\n`, '\r': `\r`, '\t': `\t`}[b])
		default:
			out.WriteByte(b)
		}
	}
	return s, len(s)
}
