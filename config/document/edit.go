package document

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"hob/config"
)

// ErrByHand is a change that cannot be made without touching its neighbours.
var ErrByHand = errors.New("the place of this key is written in a way that only a person should change")

// editDocument sets a key at path to value (TOML), or removes the key if value is "". All other bytes stay: comments, order, blank lines,
// and the form of other values. doc must be TOML without a byte order mark.
//
// The edit works on bytes, because TOML libraries rewrite a document and lose comments and layout. To make that safe, the result is parsed
// and compared: if another key has changed, or the result is not TOML, the error is ErrByHand.
func editDocument(doc []byte, path []string, value string) ([]byte, error) {
	before, err := Parse(doc)
	if err != nil {
		return nil, err
	}
	// The same change is made twice, to the bytes and to the tree. The trees of both must be equal afterwards.
	next := rewriteDocument(doc, path, value)
	after, err := Parse(next)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrByHand, err)
	}
	var want any
	if value != "" {
		alone, err := Parse([]byte("x = " + value + "\n"))
		if err != nil {
			return nil, err
		}
		want = alone["x"]
	}
	// %#v sorts the keys of maps and shows types, so that 1 and 1.0 differ.
	if !putValue(before, path, want) || fmt.Sprintf("%#v", dropEmptyTables(before)) != fmt.Sprintf("%#v", dropEmptyTables(after)) {
		return nil, ErrByHand
	}
	return next, nil
}

// Remove removes a section with its subsections and comments. It checks the result like editDocument.
func Remove(doc []byte, path []string) ([]byte, error) {
	want, err := Parse(doc)
	if err != nil {
		return nil, err
	}
	next := rewriteDocument(doc, path, "") // it may be a pair of an inline table
	all := parseStatements(next)
	for to := len(all) - 1; to >= 0; to-- {
		if !hasPrefix(all[to].path, path) {
			continue
		}
		from := to
		for from > 0 && hasPrefix(all[from-1].path, path) {
			from--
		}
		r := lineRange(next, all[from].key, all[to].end)
		if eol := lineEnding(next); bytes.HasSuffix(next[:r.from], []byte(eol+eol)) {
			r.from -= len(eol) // the blank line before it
		}
		next, to = removeRange(next, r), from
	}
	got, err := Parse(next)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrByHand, err)
	}
	if !putValue(want, path, nil) || fmt.Sprintf("%#v", dropEmptyTables(want)) != fmt.Sprintf("%#v", dropEmptyTables(got)) {
		return nil, ErrByHand
	}
	return next, nil
}

// Parse reads a document into plain maps.
func Parse(doc []byte) (map[string]any, error) {
	var tree map[string]any
	if err := toml.Unmarshal(doc, &tree); err != nil {
		return nil, err
	}
	if tree == nil {
		tree = map[string]any{}
	}
	return tree, nil
}

// putValue sets a value in a tree, or removes it if value is nil. It returns false if a part of the path is not a table.
func putValue(tree map[string]any, path []string, value any) bool {
	for _, name := range path[:len(path)-1] {
		if tree[name] == nil {
			tree[name] = map[string]any{}
		}
		inner, ok := tree[name].(map[string]any)
		if !ok {
			return false
		}
		tree = inner
	}
	name := path[len(path)-1]
	if value == nil {
		delete(tree, name)
	} else {
		tree[name] = value
	}
	return true
}

// dropEmptyTables removes empty tables, because an empty table means the same as none.
func dropEmptyTables(tree map[string]any) map[string]any {
	for name, v := range tree {
		if inner, ok := v.(map[string]any); ok && len(dropEmptyTables(inner)) == 0 {
			delete(tree, name)
		}
	}
	return tree
}

// rewriteDocument makes the edit; editDocument checks its result.
func rewriteDocument(doc []byte, path []string, value string) []byte {
	all := parseStatements(doc)
	for i, s := range all {
		// A key of an array of tables has no unique place, so a new one is never put there.
		if s.header || s.array || !hasPrefix(path, s.path) {
			continue
		}
		// A removed key takes the comment on its line with it.
		if len(s.path) == len(path) && value == "" {
			return removeRange(doc, lineRange(doc, s.key, s.end))
		}
		// Only the value is replaced. A comment after it stays.
		if len(s.path) == len(path) {
			return splice(doc, byteRange{s.value, s.end}, value)
		}
		// The statement is a part of the path: the key is inside its inline table.
		return editInline(doc, all[i], path, value)
	}
	if value == "" {
		return doc
	}
	return insertKey(doc, all, path, value)
}

// insertKey adds a new key: after the other keys of its section, else below the header of the section, else with a new header at the end.
func insertKey(doc []byte, all []tomlStatement, path []string, value string) []byte {
	eol := lineEnding(doc)
	section := path[:len(path)-1]
	for _, s := range slices.Backward(all) {
		// The new key follows the last key of the section and takes over its indentation.
		if !s.header && !s.array && len(s.section) <= len(section) && hasPrefix(s.path, section) && len(s.path) > len(section) {
			indent := doc[lineRange(doc, s.key, s.end).from:s.key]
			if len(bytes.TrimLeft(indent, " \t")) > 0 {
				indent = nil
			}
			return insertLineAfter(doc, s.end, string(indent)+config.KeyText(path[len(s.section):])+" = "+value, eol)
		}
	}
	// The section has a header but no key yet.
	for _, s := range all {
		if s.header && !s.array && slices.Equal(s.path, section) {
			return insertLineAfter(doc, s.end, config.KeyText(path[len(path)-1:])+" = "+value, eol)
		}
	}
	// The section is new. A blank line separates it from what is above it.
	text := "[" + config.KeyText(section) + "]" + eol + config.KeyText(path[len(path)-1:]) + " = " + value + eol
	// A key of no section must come before the first header (TOML 1.0, "Table").
	if len(section) == 0 {
		return splice(doc, byteRange{}, config.KeyText(path)+" = "+value+eol)
	}
	if len(doc) > 0 && doc[len(doc)-1] != '\n' {
		text = eol + eol + text
	} else if len(bytes.TrimSpace(doc)) > 0 && !bytes.HasSuffix(doc, []byte("\n"+eol)) {
		text = eol + text
	}
	return append(slices.Clone(doc), text...)
}

// editInline edits a key of an inline table. An inline table stays on one line, so commas have to be kept
// right.
func editInline(doc []byte, outer tomlStatement, path []string, value string) []byte {
	for i, s := range outer.inner {
		switch {
		case !hasPrefix(path, s.path):
			continue
		case len(s.path) < len(path):
			return editInline(doc, s, path, value)
		case value != "":
			return splice(doc, byteRange{s.value, s.end}, value)
		// The comma before the pair is removed with it.
		case i > 0:
			return removeRange(doc, byteRange{outer.inner[i-1].end, s.end})
		// The first pair takes the comma after it.
		case len(outer.inner) > 1:
			return removeRange(doc, byteRange{s.key, outer.inner[1].key})
		default:
			return removeRange(doc, byteRange{s.key, s.end})
		}
	}
	if value == "" {
		return doc
	}
	pair := config.KeyText(path[len(outer.path):]) + " = " + value
	if n := len(outer.inner); n > 0 {
		return splice(doc, byteRange{outer.inner[n-1].end, outer.inner[n-1].end}, ", "+pair)
	}
	return splice(doc, byteRange{outer.value, outer.end}, "{ "+pair+" }")
}

// byteRange is a range of bytes.
type byteRange struct{ from, to int }

// splice replaces a range of a document by a text.
func splice(doc []byte, s byteRange, text string) []byte {
	return slices.Concat(doc[:s.from], []byte(text), doc[s.to:])
}

// removeRange takes a range out of a document.
func removeRange(doc []byte, s byteRange) []byte { return splice(doc, s, "") }

// insertLineAfter inserts a line after the one that contains offset. A last line without a line end gets one
// first.
func insertLineAfter(doc []byte, offset int, text, eol string) []byte {
	to := lineRange(doc, offset, offset).to
	if to == 0 || doc[to-1] != '\n' {
		return splice(doc, byteRange{to, to}, eol+text)
	}
	return splice(doc, byteRange{to, to}, text+eol)
}

// lineRange widens a range to whole lines, line ends included.
func lineRange(doc []byte, from, to int) byteRange {
	s := byteRange{bytes.LastIndexByte(doc[:from], '\n') + 1, len(doc)}
	if i := bytes.IndexByte(doc[to:], '\n'); i >= 0 {
		s.to = to + i + 1
	}
	return s
}

// lineEnding is the line ending that the document uses.
func lineEnding(doc []byte) string {
	if i := bytes.IndexByte(doc, '\n'); i > 0 && doc[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// hasPrefix reports whether path begins with start.
func hasPrefix(path, start []string) bool {
	return len(path) >= len(start) && slices.Equal(path[:len(start)], start)
}

// tomlStatement is a header or a pair of a document, or a pair of an inline table, with the bytes that it takes.
// All offsets are bytes from the beginning of the document.
type tomlStatement struct {
	section []string // of the header above it
	path    []string // full name
	header  bool
	array   bool // it belongs to an [[array of tables]]
	key     int  // where its first key begins
	value   int  // where its value begins
	end     int  // the offset after its value; for a header, after its name
	inner   []tomlStatement
}

// parseStatements returns the headers and pairs of a valid document in their order. The parser gives the keys
// with their offsets; where a value ends is found by valueEnd, because the parser does not say.
func parseStatements(doc []byte) []tomlStatement {
	var all []tomlStatement
	var p unstable.Parser
	p.Reset(doc)
	var section []string
	var arrays [][]string
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			path, from, to := keyPath(e)
			section = path
			if e.Kind == unstable.ArrayTable {
				arrays = append(arrays, path)
			}
			all = append(all, tomlStatement{path: path, header: true, array: insideArray(arrays, path), key: from, end: to})
		case unstable.KeyValue:
			s := pairStatement(doc, e, section)
			s.array = insideArray(arrays, section)
			all = append(all, s)
		}
	}
	return all
}

// insideArray reports whether a path belongs to one of the arrays of tables that were seen so far.
func insideArray(arrays [][]string, path []string) bool {
	return slices.ContainsFunc(arrays, func(a []string) bool { return hasPrefix(path, a) })
}

// keyPath returns the dotted key of an expression, and where it begins and ends in the document.
func keyPath(e *unstable.Node) (path []string, from, to int) {
	from = -1
	for it := e.Key(); it.Next(); {
		k := it.Node()
		if from < 0 {
			from = int(k.Raw.Offset)
		}
		path, to = append(path, string(k.Data)), int(k.Raw.Offset+k.Raw.Length)
	}
	return path, from, to
}

// pairStatement describes a pair, with the pairs of an inline table as inner statements.
func pairStatement(doc []byte, e *unstable.Node, section []string) tomlStatement {
	path, from, to := keyPath(e)
	s := tomlStatement{section: section, path: slices.Concat(section, path), key: from}
	// The value begins after the equals sign and the white space around it.
	s.value = len(doc) - len(bytes.TrimLeft(doc[to:], " \t="))
	s.end = valueEnd(doc, s.value)
	if v := e.Value(); v.Kind == unstable.InlineTable {
		for it := v.Children(); it.Next(); {
			s.inner = append(s.inner, pairStatement(doc, it.Node(), s.path))
		}
	}
	return s
}

// valueEnd returns the offset after the value that begins at from. It counts brackets and passes over strings
// and comments. The document is valid, so nothing else can occur.
func valueEnd(doc []byte, from int) int {
	if from >= len(doc) {
		return len(doc)
	}
	if doc[from] == '"' || doc[from] == '\'' {
		return stringEnd(doc, from)
	}
	depth := 0
	for i := from; i < len(doc); i++ {
		switch c := doc[i]; c {
		case '"', '\'':
			i = stringEnd(doc, i) - 1
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
			// The bracket belongs to the table or list around the value.
			if depth < 0 {
				return trimmedEnd(doc, from, i)
			}
		// Outside of brackets each of these ends the value. Inside, only the text of a comment has to be passed over.
		case '#', ',', '\n':
			if depth == 0 {
				return trimmedEnd(doc, from, i)
			}
			if c == '#' {
				i = lineRange(doc, i, i).to - 1
			}
		}
	}
	return trimmedEnd(doc, from, len(doc))
}

// trimmedEnd moves an end before trailing white space.
func trimmedEnd(doc []byte, from, to int) int {
	return from + len(bytes.TrimRight(doc[from:to], " \t\r"))
}

// stringEnd returns the offset after a string of any of the four kinds. A multi-line string may have up to two quotes right before its end
// (TOML 1.0, "String").
func stringEnd(doc []byte, from int) int {
	q := doc[from]
	long := bytes.Repeat([]byte{q}, 3)
	multi := bytes.HasPrefix(doc[from:], long)
	i := from + 1
	if multi {
		i = from + 3
	}
	for ; i < len(doc); i++ {
		switch {
		// Only strings in double quotes have escapes (TOML 1.0, "String").
		case doc[i] == '\\' && q == '"':
			i++
		case doc[i] == q && !multi:
			return i + 1
		case multi && bytes.HasPrefix(doc[i:], long):
			i += 3
			for n := 0; n < 2 && i < len(doc) && doc[i] == q; n++ {
				i++
			}
			return i
		}
	}
	return len(doc)
}
