// Package notebook changes single cells of Jupyter notebooks (nbformat 4,
// https://nbformat.readthedocs.io). It finds the byte ranges of the JSON values and replaces only
// those, so that all other bytes, and with them the format of the file, stay. It touches no files.
package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The errors of this package.
var (
	ErrFormat = errors.New("not a notebook of nbformat 4")
	ErrCell   = errors.New("no such cell")
)

// Mode says what to do with a cell.
type Mode string

// The modes.
const (
	Replace Mode = "replace"
	Insert  Mode = "insert"
	Delete  Mode = "delete"
)

// Edit is one change.
type Edit struct {
	Mode   Mode
	Cell   string // an id, or a number from 0 ("3", "cell-3"); Insert: the cell before the new one, "" for the beginning
	Type   string // "code", "markdown" or "raw"; "": unchanged, code for a new cell
	Source string
	ID     string // id of a new cell, if the format has ids
}

// Cell is one cell of a notebook.
type Cell struct {
	ID     string // "": it has none
	Type   string
	Source string
	value  span
	fields []field
}

// span is a range of bytes.
type span struct{ from, to int }

// field is a member of a JSON object: the range of its value, and the offset of its name.
type field struct {
	name  string
	at    int
	value span
}

// document is a notebook with the positions of its parts.
type document struct {
	raw   []byte
	list  span // the array of cells, with its brackets
	cells []Cell
	ids   bool   // cells have ids (nbformat 4.5 or later)
	unit  string // one level of indentation
}

// Cells lists the cells of a notebook.
func Cells(raw []byte) ([]Cell, error) {
	b, err := open(raw)
	return b.cells, err
}

// Apply makes one change. It returns the new notebook and the number, from 0, of the changed cell.
// All bytes outside the changed values stay the same.
func Apply(raw []byte, e Edit) ([]byte, int, error) {
	b, err := open(raw)
	if err != nil {
		return nil, 0, err
	}
	n := -1
	if e.Mode != Insert || e.Cell != "" {
		// Only an insertion at the beginning needs no cell.
		if n, err = b.find(e.Cell); err != nil {
			return nil, 0, err
		}
	}
	switch e.Mode {
	case Insert:
		out, err := b.insert(n+1, e)
		return out, n + 1, err
	case Delete:
		return b.remove(n), n, nil
	}
	out, err := b.replace(n, e)
	return out, n, err
}

// open parses a notebook and records the positions of its cells.
func open(raw []byte) (document, error) {
	b := document{raw: raw}
	// The decoder refuses a byte order mark. Positions still count from the beginning of the file.
	start := len(raw) - len(bytes.TrimPrefix(raw, []byte("\ufeff")))
	// Check the whole text once. The functions below then need not handle broken JSON.
	if !json.Valid(raw[start:]) {
		return b, fmt.Errorf("%w: it is not JSON", ErrFormat)
	}
	top, err := fields(raw, span{start, len(raw)})
	if err != nil {
		return b, err
	}
	list, ok := lookup(top, "cells")
	if !ok || raw[list.value.from] != '[' {
		return b, fmt.Errorf("%w: it has no list of cells", ErrFormat)
	}
	b.list = list.value
	// The members of the outermost object are indented by exactly one level.
	b.unit = indentOf(raw, list.at)
	// Older formats have their cells in worksheets; Jupyter converts such a notebook when it opens it.
	major, minor := number(raw, top, "nbformat"), number(raw, top, "nbformat_minor")
	if major != 4 {
		return b, fmt.Errorf("%w: nbformat is %d", ErrFormat, major)
	}
	b.ids = minor >= 5
	items, err := elements(raw, b.list)
	if err != nil {
		return b, err
	}
	for i, at := range items {
		c, err := cellOf(raw, at)
		if err != nil {
			return b, fmt.Errorf("cell %d: %w", i, err)
		}
		b.cells = append(b.cells, c)
	}
	return b, nil
}

// cellOf parses the cell at a range.
func cellOf(raw []byte, at span) (Cell, error) {
	if raw[at.from] != '{' {
		return Cell{}, fmt.Errorf("%w: it is not an object", ErrFormat)
	}
	all, err := fields(raw, at)
	if err != nil {
		return Cell{}, err
	}
	c := Cell{value: at, fields: all}
	// Unknown members are not examined; they stay in the file as they are.
	for name, to := range map[string]*string{"id": &c.ID, "cell_type": &c.Type} {
		if f, ok := lookup(all, name); ok {
			if err := json.Unmarshal(raw[f.value.from:f.value.to], to); err != nil {
				return c, fmt.Errorf("%w: its %s is not a string", ErrFormat, name)
			}
		}
	}
	if f, ok := lookup(all, "source"); ok {
		c.Source, err = text(raw[f.value.from:f.value.to])
	}
	return c, err
}

// text decodes a multi-line string: one string, or a list of strings.
func text(raw []byte) (string, error) {
	var whole string
	if json.Unmarshal(raw, &whole) == nil {
		return whole, nil
	}
	var parts []string
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", fmt.Errorf("%w: its source is neither a text nor a list of texts", ErrFormat)
	}
	return strings.Join(parts, ""), nil
}

// find returns the index of the cell with an id, or else with a number.
func (b document) find(name string) (int, error) {
	if i := slices.IndexFunc(b.cells, func(c Cell) bool { return c.ID != "" && c.ID == name }); i >= 0 {
		return i, nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, "cell-"))
	if err != nil || n < 0 || n >= len(b.cells) {
		return 0, fmt.Errorf("%w: %q", ErrCell, name)
	}
	return n, nil
}

// splice replaces a range of the notebook.
func (b document) splice(at span, put string) []byte {
	return slices.Concat(b.raw[:at.from], []byte(put), b.raw[at.to:])
}

// fields lists the members of the object at a range.
func fields(raw []byte, at span) ([]field, error) {
	dec := json.NewDecoder(bytes.NewReader(raw[at.from:at.to]))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return nil, fmt.Errorf("%w: want an object", ErrFormat)
	}
	var all []field
	for dec.More() {
		// The offset is after the last token. The first quotation mark from there on begins the name.
		before := int(dec.InputOffset()) + at.from
		tok, err := dec.Token()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
		name, ok := tok.(string)
		if !ok {
			return nil, fmt.Errorf("%w: want a name", ErrFormat)
		}
		value, err := next(dec, at.from)
		if err != nil {
			return nil, err
		}
		all = append(all, field{name, before + bytes.IndexByte(raw[before:], '"'), value})
	}
	return all, nil
}

// elements lists the items of the array at a range.
func elements(raw []byte, at span) ([]span, error) {
	dec := json.NewDecoder(bytes.NewReader(raw[at.from:at.to]))
	if tok, err := dec.Token(); err != nil || tok != json.Delim('[') {
		return nil, fmt.Errorf("%w: want a list", ErrFormat)
	}
	var all []span
	for dec.More() {
		value, err := next(dec, at.from)
		if err != nil {
			return nil, err
		}
		all = append(all, value)
	}
	return all, nil
}

// next skips a value and returns its range.
func next(dec *json.Decoder, base int) (span, error) {
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
		return span{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	// RawMessage holds the value without the white space around it, so its length gives the start.
	end := int(dec.InputOffset()) + base
	return span{end - len(value), end}, nil
}

// lookup finds a member. Of several with the same name the last one counts, as in other JSON
// readers.
func lookup(all []field, name string) (field, bool) {
	for _, f := range slices.Backward(all) {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

// number returns an integer member, or 0.
func number(raw []byte, all []field, name string) int {
	f, ok := lookup(all, name)
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(string(raw[f.value.from:f.value.to]))
	if err != nil {
		return 0
	}
	return n
}

// indentOf returns the white space between the last line break and a position, or "" if there is
// anything else.
func indentOf(raw []byte, at int) string {
	line := raw[bytes.LastIndexByte(raw[:at], '\n')+1 : at]
	if len(bytes.Trim(line, " \t")) > 0 {
		return ""
	}
	return string(line)
}
