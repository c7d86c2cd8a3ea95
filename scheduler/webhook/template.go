package webhook

import (
	"errors"
	"fmt"
	"strings"
)

// Template is the owner's prompt with fields of the payload: {{.pull_request.title}}, {{.items.0.name}}, {{.body}},
// {{.header.X-GitHub-Event}}. It contains no code: no conditions, loops or calls.
type Template struct {
	pieces []piece
	says   bool
}

// piece is a text, followed by the path of a field.
type piece struct {
	text string
	path []string
}

// mostFields limits the fields of one template.
const mostFields = 64

// Parse parses a template. Its errors name the wrong field.
func Parse(text string) (Template, error) {
	t := Template{says: strings.HasPrefix(strings.TrimSpace(text), "say:")}
	for {
		before, rest, open := strings.Cut(text, "{{")
		if !open {
			t.pieces = append(t.pieces, piece{text: before})
			return t, nil
		}
		field, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return t, errors.New(`a field is opened with {{ and not closed with }}`)
		}
		path, err := fieldPath(field)
		if err != nil {
			return t, err
		}
		if len(t.pieces) == mostFields {
			return t, fmt.Errorf("it has more than %d fields", mostFields)
		}
		t.pieces = append(t.pieces, piece{before, path})
		text = after
	}
}

// fieldPath parses ".pull_request.title".
func fieldPath(field string) ([]string, error) {
	name, ok := strings.CutPrefix(strings.TrimSpace(field), ".")
	path := strings.Split(name, ".")
	for _, p := range path {
		if p == "" || clean(p, mostValue) != p || strings.ContainsAny(p, " {}|()\"'`") {
			ok = false
		}
	}
	if !ok {
		return nil, fmt.Errorf("{{%s}} is no field: want {{.name}}, {{.list.0.name}}, {{.body}} or {{.header.NAME}}", field)
	}
	return path, nil
}

// Says reports whether the text is sent unchanged, without a model.
func (t Template) Says() bool { return t.says }

// mostValue is the longest value in a prompt, in characters.
const mostValue = 500

// Render inserts a payload's values, each cleaned and cut to 500 characters. In a prompt they are quoted, so that the model does not take
// them for the owner's words; in a text that is delivered directly they are not. missing names the fields that the payload does not have;
// they are empty.
func (t Template) Render(p Payload) (text string, missing []string) {
	var b strings.Builder
	for i, piece := range t.pieces {
		b.WriteString(piece.text)
		// The last piece has no field.
		if i == len(t.pieces)-1 {
			break
		}
		value, ok := p.field(piece.path)
		if !ok {
			missing = append(missing, strings.Join(piece.path, "."))
		}
		value = clean(value, mostValue)
		if !t.says {
			value = quoted(value)
		}
		b.WriteString(value)
	}
	return strings.TrimSpace(b.String()), missing
}

// quoted quotes a value so that it cannot end its own quotes.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
