package llm

import (
	"encoding/json"
	"strings"

	"hob/daemon/sys"
)

// written matches the beginning of a call as a model writes it in a text: read(path="a.txt") (Llama 4, LFM 2, Olmo 3), call:read{path:…} (Gemma 4) or
// read[ARGS]{…} (Mistral, with the mark [TOOL_CALLS] before each call but the first).
var written = sys.Regexp(`^[\s,;]*(?:\[TOOL_CALLS\]|call:)?\s*([A-Za-z_][\w.:-]*)(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*([({])`)

// WrittenCalls reads calls that are written one after another or in a list, each with its arguments in brackets. ok is false when anything in the text
// cannot be read.
func WrittenCalls(text string) (calls []Call, ok bool) {
	parts := strings.Split(text, `<|"|>`) // Gemma's quotes
	for i := 1; i < len(parts); i += 2 {
		quoted, _ := json.Marshal(parts[i]) // a string has no error
		parts[i] = string(quoted)
	}
	text = strings.TrimSpace(strings.Join(parts, ""))
	if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
		text = text[1 : len(text)-1]
	}
	for strings.Trim(text, " \t\r\n,;") != "" {
		m := written().FindStringSubmatch(text)
		if m == nil {
			return nil, false
		}
		text = text[len(m[0]):]
		end := bracketEnd(text)
		if end < 0 {
			return nil, false
		}
		list, _ := Arguments("{" + text[:end] + "}")
		if len(list) != 1 {
			return nil, false
		}
		calls = append(calls, Call{Name: m[1], Args: list[0]})
		text = text[end+1:]
	}
	return calls, len(calls) > 0 && len(parts)%2 == 1
}

// bracketEnd returns the place of the bracket that closes what text is within, or -1. Brackets in quotes do not count.
func bracketEnd(text string) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch b := text[i]; {
		case b == '"' || b == '\'':
			_, n := requoted(text[i:])
			i += n - 1
		case strings.IndexByte("([{", b) >= 0:
			depth++
		case strings.IndexByte(")]}", b) >= 0 && depth == 0:
			return i
		case strings.IndexByte(")]}", b) >= 0:
			depth--
		}
	}
	return -1
}
