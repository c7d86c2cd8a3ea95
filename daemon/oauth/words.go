package oauth

import (
	"encoding/json"
	"strings"
	"unicode"
)

// maxWords is how many characters of a server's message are kept.
const maxWords = 200

// Said returns the code and the message of an error: {"error": code, "error_description": text} (RFC 6749, section 5.2), {"error": {"code",
// "message"}}, or the inner object alone.
func Said(body []byte) (code, words string) {
	type plain struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	var frame struct {
		plain
		Error json.RawMessage `json:"error"`
		Words string          `json:"error_description"`
	}
	if json.Unmarshal(body, &frame) != nil {
		return "", ""
	}
	// The standard's form comes first: error is a text. In the next form error is an object, and in the last one it is missing.
	var inner plain
	if json.Unmarshal(frame.Error, &code) == nil && code != "" {
		return code, frame.Words
	}
	if json.Unmarshal(frame.Error, &inner) == nil && inner != (plain{}) {
		return inner.Code, inner.Message
	}
	return frame.Code, frame.Message
}

// Clean makes a foreign text safe to show: valid UTF-8, short, on one line, without control characters.
func Clean(words string) string {
	words = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(words, "\uFFFD"))
	words = strings.Join(strings.Fields(words), " ")
	if runes := []rune(words); len(runes) > maxWords {
		words = string(runes[:maxWords])
	}
	return words
}
