package notebook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// replace gives a cell a new source and, if requested, a new type. The source keeps its JSON form:
// a string or a list of strings.
func (b document) replace(n int, e Edit) ([]byte, error) {
	c := b.cells[n]
	source, ok := lookup(c.fields, "source")
	if !ok {
		return nil, fmt.Errorf("%w: the cell has no source", ErrFormat)
	}
	put, err := b.source(e.Source, b.raw[source.value.from] == '[', indentOf(b.raw, source.at))
	if err != nil {
		return nil, err
	}
	// The outputs stay: they are those of the old source until the cell runs again, as in Jupyter.
	out := b.splice(source.value, put)
	if e.Type == "" || e.Type == c.Type {
		return out, nil
	}
	return retype(out, n, e.Type)
}

// retype changes the type of a cell. Only code cells have outputs and an execution count, and they
// must have both.
func retype(raw []byte, n int, kind string) ([]byte, error) {
	b, err := open(raw)
	if err != nil {
		return nil, err
	}
	c := b.cells[n]
	f, ok := lookup(c.fields, "cell_type")
	if !ok {
		return nil, fmt.Errorf("%w: the cell has no type", ErrFormat)
	}
	quoted, err := encode(kind)
	if err != nil {
		return nil, err
	}
	if kind == "code" {
		// The new members come directly after the type, with the separators of the cell.
		quoted += b.between(c) + `"execution_count": null` + b.between(c) + `"outputs": []`
	}
	raw = b.splice(f.value, quoted)
	if kind == "code" {
		return raw, nil
	}
	// Each removal moves the positions of what follows, so the notebook is parsed again.
	for _, name := range []string{"outputs", "execution_count"} {
		if b, err = open(raw); err != nil {
			return nil, err
		}
		raw = b.drop(b.cells[n], name)
	}
	return raw, nil
}

// between returns the text between two members of a cell: a comma and white space.
func (b document) between(c Cell) string {
	if len(c.fields) < 2 {
		return ", "
	}
	return string(b.raw[c.fields[0].value.to:c.fields[1].at])
}

// drop removes a member from a cell, together with a comma.
func (b document) drop(c Cell, name string) []byte {
	i := slices.IndexFunc(c.fields, func(f field) bool { return f.name == name })
	switch {
	case i < 0:
		return b.raw
	// From the end of the member before it to its own end: the comma in front goes with it.
	case i > 0:
		return b.splice(span{c.fields[i-1].value.to, c.fields[i].value.to}, "")
	case len(c.fields) > 1:
		return b.splice(span{c.fields[0].at, c.fields[1].at}, "")
	}
	return b.splice(span{c.fields[0].at, c.fields[0].value.to}, "")
}

// remove removes a cell, together with a comma.
func (b document) remove(n int) []byte {
	switch last := len(b.cells) - 1; {
	// From this cell to the next one: the comma after it goes with it.
	case n < last:
		return b.splice(span{b.cells[n].value.from, b.cells[n+1].value.from}, "")
	// The last cell goes together with the comma before it.
	case n > 0:
		return b.splice(span{b.cells[n-1].value.to, b.cells[n].value.to}, "")
	default:
		return b.splice(b.list, "[]")
	}
}

// insert inserts a new cell before the nth one, formatted like its neighbours.
func (b document) insert(n int, e Edit) ([]byte, error) {
	lead := b.lead()
	cell, err := b.fresh(e, lead)
	if err != nil {
		return nil, err
	}
	switch {
	case len(b.cells) == 0:
		return b.splice(b.list, "["+lead+cell+b.tail()+"]"), nil
	case n < len(b.cells):
		// The white space before the old nth cell now precedes the new one; lead separates the two.
		at := b.cells[n].value.from
		return b.splice(span{at, at}, cell+","+orSpace(lead)), nil
	}
	at := b.cells[n-1].value.to
	return b.splice(span{at, at}, ","+orSpace(lead)+cell), nil
}

// lead returns the white space before a cell: a line break and its indentation, or nothing.
func (b document) lead() string {
	if len(b.cells) > 0 {
		return string(b.raw[b.list.from+1 : b.cells[0].value.from])
	}
	if b.unit == "" {
		return ""
	}
	return b.lineBreak() + b.unit + b.unit
}

// tail returns the white space between the last cell and the closing bracket.
func (b document) tail() string {
	if b.unit == "" {
		return ""
	}
	return b.lineBreak() + b.unit
}

// lineBreak returns the line ending of the notebook, taken from its first line.
func (b document) lineBreak() string {
	if i := bytes.IndexByte(b.raw, '\n'); i > 0 && b.raw[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// orSpace returns the separator after a comma: lead, or a space on the same line.
func orSpace(lead string) string {
	return cmp.Or(lead, " ")
}

// fresh formats a new cell with its members in alphabetical order, like Jupyter.
func (b document) fresh(e Edit, lead string) (string, error) {
	kind := cmp.Or(e.Type, "code")
	members := []string{`"cell_type": "` + kind + `"`}
	if kind == "code" {
		members = append(members, `"execution_count": null`)
	}
	// nbformat 4.5 requires an id; older versions do not permit one.
	if b.ids {
		id, err := encode(e.ID)
		if err != nil {
			return "", err
		}
		members = append(members, `"id": `+id)
	}
	members = append(members, `"metadata": {}`)
	if kind == "code" {
		members = append(members, `"outputs": []`)
	}
	// The members are one level deeper than the brace, whose indentation ends lead.
	indent := ""
	if i := strings.LastIndexByte(lead, '\n'); i >= 0 {
		indent = lead[i+1:] + orUnit(b.unit)
	}
	source, err := b.source(e.Source, b.lists(), indent)
	if err != nil {
		return "", err
	}
	members = append(members, `"source": `+source)
	if indent == "" {
		return "{" + strings.Join(members, ", ") + "}", nil
	}
	nl := b.lineBreak()
	return "{" + nl + indent + strings.Join(members, ","+nl+indent) + lead + "}", nil
}

// orUnit returns the indentation unit, or one space.
func orUnit(unit string) string {
	return cmp.Or(unit, " ")
}

// lists reports whether the notebook stores sources as lists of lines, as Jupyter does.
func (b document) lists() bool {
	for _, c := range b.cells {
		if f, ok := lookup(c.fields, "source"); ok {
			return b.raw[f.value.from] == '['
		}
	}
	return true
}

// source formats the source of a cell, as one string or as a list of lines that keep their line
// breaks. indent is the indentation of the member's name; "" puts everything on one line.
func (b document) source(text string, list bool, indent string) (string, error) {
	if !list {
		return encode(text)
	}
	var lines []string
	for line := range strings.Lines(text) {
		quoted, err := encode(line)
		if err != nil {
			return "", err
		}
		lines = append(lines, quoted)
	}
	if len(lines) == 0 {
		return "[]", nil
	}
	if indent == "" {
		return "[" + strings.Join(lines, ", ") + "]", nil
	}
	nl := b.lineBreak()
	deeper := nl + indent + orUnit(b.unit)
	return "[" + deeper + strings.Join(lines, ","+deeper) + nl + indent + "]", nil
}

// encode formats a text as a JSON string with as few escapes as possible.
func encode(text string) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	// Jupyter writes <, > and & as they are.
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return "", fmt.Errorf("write the source: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
