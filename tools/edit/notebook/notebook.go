// Package notebook changes single cells of Jupyter notebooks (nbformat 4, https://nbformat.readthedocs.io). It replaces
// byte ranges of the JSON and never writes the rest anew. It touches no files.
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

// What can be wrong. Other errors are of notebooks that are none.
var (
	ErrFormat = errors.New("not a notebook of nbformat 4")
	ErrCell   = errors.New("no such cell")
)

// Mode says what is done with a cell.
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
	Cell   string // an id, or a number from 0 ("3", "cell-3"); Insert: after that cell, "" before the first
	Type   string // "code", "markdown" or "raw"; "": as it is, and code for a new cell
	Source string
	ID     string // of a new cell, where the format has ids
}

// Cell is what a cell is called and is.
type Cell struct {
	ID     string // "": it has none
	Type   string
	Source string
	value  span
	fields []field
}

// span is a range of bytes.
type span struct{ from, to int }

// field is a member of an object: the range of its value, and where its name begins.
type field struct {
	name  string
	at    int
	value span
}

// book is a notebook's bytes and what stands where.
type book struct {
	raw   []byte
	list  span // the array of cells, with its brackets
	cells []Cell
	ids   bool // cells have ids: nbformat 4.5
	unit  string
}

// Cells lists the cells of a notebook.
func Cells(raw []byte) ([]Cell, error) {
	b, err := open(raw)
	return b.cells, err
}

// Apply makes a change and returns the new notebook and the number of the cell that it is about, from 0. Every byte
// outside the changed values stays.
func Apply(raw []byte, e Edit) ([]byte, int, error) {
	b, err := open(raw)
	if err != nil {
		return nil, 0, err
	}
	n := -1
	if e.Mode != Insert || e.Cell != "" {
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
	default:
		out, err := b.replace(n, e)
		return out, n, err
	}
}

func open(raw []byte) (book, error) {
	b := book{raw: raw}
	start := len(raw) - len(bytes.TrimPrefix(raw, []byte("\ufeff")))
	if !json.Valid(raw[start:]) {
		return b, fmt.Errorf("%w: it is no JSON", ErrFormat)
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
	b.unit = indentOf(raw, list.at)
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

func cellOf(raw []byte, at span) (Cell, error) {
	if raw[at.from] != '{' {
		return Cell{}, fmt.Errorf("%w: it is no object", ErrFormat)
	}
	all, err := fields(raw, at)
	if err != nil {
		return Cell{}, err
	}
	c := Cell{value: at, fields: all}
	for name, to := range map[string]*string{"id": &c.ID, "cell_type": &c.Type} {
		if f, ok := lookup(all, name); ok {
			if err := json.Unmarshal(raw[f.value.from:f.value.to], to); err != nil {
				return c, fmt.Errorf("%w: its %s is no text", ErrFormat, name)
			}
		}
	}
	if f, ok := lookup(all, "source"); ok {
		c.Source, err = text(raw[f.value.from:f.value.to])
	}
	return c, err
}

// text reads a multi-line string: one text, or a list of texts.
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

// find looks a cell up by its id, else by its number.
func (b book) find(name string) (int, error) {
	if i := slices.IndexFunc(b.cells, func(c Cell) bool { return c.ID != "" && c.ID == name }); i >= 0 {
		return i, nil
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, "cell-"))
	if err != nil || n < 0 || n >= len(b.cells) {
		return 0, fmt.Errorf("%w: %q", ErrCell, name)
	}
	return n, nil
}

func (b book) splice(at span, put string) []byte {
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

// next skips a value and says where it stood.
func next(dec *json.Decoder, base int) (span, error) {
	var value json.RawMessage
	if err := dec.Decode(&value); err != nil && !errors.Is(err, io.EOF) {
		return span{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	end := int(dec.InputOffset()) + base
	return span{end - len(value), end}, nil
}

// lookup finds a member; of two with one name the last one counts, as JSON readers do.
func lookup(all []field, name string) (field, bool) {
	for _, f := range slices.Backward(all) {
		if f.name == name {
			return f, true
		}
	}
	return field{}, false
}

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

// indentOf is the white space between the last line break and a position; "" when something else stands there.
func indentOf(raw []byte, at int) string {
	line := raw[bytes.LastIndexByte(raw[:at], '\n')+1 : at]
	if len(bytes.Trim(line, " \t")) > 0 {
		return ""
	}
	return string(line)
}
