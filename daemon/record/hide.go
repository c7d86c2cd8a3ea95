package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hob/daemon/secret"
	"hob/daemon/sys"
)

// credential finds values that are secret by their name, in JSON, in addresses and in forms: hob may not know them yet, such as the answer of a
// sign-in.
var credential = sys.Regexp(`(?i)("(?:access_token|refresh_token|id_token|client_secret|api_?key|password|authorization)"\s*:\s*")(?:\\.|[^"\\])+` +
	`|((?:^|[?&])(?:access_token|refresh_token|id_token|client_secret|password|api_?key|key|token|ticket|sig|signature)=)[^"&\s]+`)

// hidden returns a text without secrets: as they stand, written with escapes in JSON, or in pieces over the events of a stream.
func (r *Recorder) hidden(text string) string {
	text = credential().ReplaceAllString(r.Hide(text), "${1}${2}[secret]")
	if clean, err := secret.JSON([]byte(text), r.Hide); err == nil && json.Valid([]byte(text)) {
		return string(clean)
	}
	lines := strings.SplitAfter(text, "\n")
	pieces := map[string][]*string{} // the texts of the events, by their place in each
	events := map[int]any{}
	for i, line := range lines {
		_, value, _ := inLine(line)
		if !strings.HasPrefix(value, "{") || !json.Valid([]byte(value)) {
			continue
		}
		d := json.NewDecoder(strings.NewReader(value))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil {
			events[i] = collect(v, "", pieces)
		}
	}
	if !r.joined(pieces) {
		return strings.Join(lines, "")
	}
	for i, v := range events {
		head, _, end := inLine(lines[i])
		lines[i] = head + written(v) + end
	}
	return strings.Join(lines, "")
}

// inLine returns the parts of a line of a stream: "data: ", the document, and the end of the line.
func inLine(line string) (head, document, end string) {
	rest := strings.TrimRight(line, "\r\n")
	document = strings.TrimLeft(strings.TrimPrefix(rest, "data:"), " ")
	return rest[:len(rest)-len(document)], document, line[len(rest):]
}

// collect returns a document with its texts as pointers, and adds those to the pieces.
func collect(v any, at string, pieces map[string][]*string) any {
	switch v := v.(type) {
	case string:
		pieces[at] = append(pieces[at], &v)
		return &v
	case []any:
		for i := range v {
			v[i] = collect(v[i], at+fmt.Sprintf("[%d]", i), pieces)
		}
	case map[string]any:
		at += fmt.Sprint("#", v["index"]) // of several calls that come side by side
		for _, key := range slices.Sorted(maps.Keys(v)) {
			v[key] = collect(v[key], at+"."+key, pieces)
		}
	}
	return v
}

// joined reports whether pieces hold a secret together. Then the first one has all of them, without it.
func (r *Recorder) joined(pieces map[string][]*string) (found bool) {
	for _, list := range pieces {
		var all strings.Builder
		for _, p := range list {
			all.WriteString(*p)
		}
		if clean := r.Hide(all.String()); clean != all.String() {
			found = true
			for _, p := range list {
				*p = ""
			}
			*list[0] = clean
		}
	}
	return found
}

func written(v any) string {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	if to.Encode(v) != nil {
		return "{}" // nothing that was decoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}
