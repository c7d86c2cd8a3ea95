package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// JSON applies hide to each text of a valid document, keys too, as a reader decodes it. So the result is valid whatever a secret looks like, and a
// value that is written with escapes is found. A number that hide would change becomes null.
func JSON(raw []byte, hide func(string) string) ([]byte, error) {
	if bytes.IndexByte(raw, '\\') < 0 && hide(string(raw)) == string(raw) {
		return raw, nil // without escapes nothing is hidden in a part that is not in the whole
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		n := token(raw)
		part, err := hidden(raw[:n], hide)
		if err != nil {
			return nil, err
		}
		out, raw = append(out, part...), raw[n:]
	}
	return out, nil
}

// token returns the length of the text, the number or name, or the single character at the start of a valid document.
func token(raw []byte) int {
	if raw[0] != '"' {
		if n := bytes.IndexAny(raw, "{}[]:,\" \t\r\n"); n >= 0 {
			return max(1, n)
		}
		return len(raw)
	}
	for i := 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// hidden returns one part of a document without secrets.
func hidden(part []byte, hide func(string) string) ([]byte, error) {
	if len(part) == 1 { // of the structure, or one digit
		return part, nil
	}
	text, isText := string(part), part[0] == '"'
	if isText {
		if err := json.Unmarshal(part, &text); err != nil {
			return nil, fmt.Errorf("hide secrets in JSON: %w", err)
		}
	}
	clean := hide(text)
	switch {
	case clean == text:
		return part, nil
	case !isText:
		return []byte("null"), nil
	}
	return json.Marshal(clean)
}
