package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"hob/daemon/sys"
)

// node is one value of the document with its place. It uses exactly one of table, list and leaf.
// parse makes the nodes of the file, and override adds those of the environment.
type node struct {
	table map[string]*node
	list  []*node
	leaf  any    // string, int64, float64, bool, time.Time or a local date or time
	key   place  // place of the key; for a section, of its header
	value place  // place of the value
	env   string // the environment variable that set it; "": it is from the file
}

// place is a position in the file. The zero place is none.
type place struct{ line, column int }

func newTable() *node { return &node{table: map[string]*node{}} }

// names returns the keys of a table in the order of the file, then those from the environment by name.
func (n *node) names() []string {
	if n == nil {
		return nil
	}
	keys := sorted(keysOf(n.table))
	slices.SortStableFunc(keys, func(a, b string) int { return n.table[a].key.compare(n.table[b].key) })
	return keys
}

// compare orders places by line and column; a value without a place, such as one from the environment, comes last.
func (p place) compare(q place) int {
	switch {
	case p == q:
		return 0
	case p.line == 0:
		return 1
	case q.line == 0, p.line < q.line, p.line == q.line && p.column < q.column:
		return -1
	}
	return 1
}

// child returns the node of a key, or nil.
func (n *node) child(key string) *node {
	if n == nil {
		return nil
	}
	return n.table[key]
}

// parse parses a document. go-toml supplies the values and all rules of the language (TOML 1.0, https://toml.io/en/v1.0.0). The places come
// from a second walk over its syntax tree.
func parse(file string, doc []byte) (*node, error) {
	doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf")) // a byte order mark of some Windows editors
	if !utf8.Valid(doc) {
		return nil, Errors{{File: file, Text: "the file is not UTF-8 text", Hint: "save it as UTF-8"}}
	}
	var values map[string]any
	if err := toml.Unmarshal(doc, &values); err != nil {
		return nil, syntaxError(file, doc, err)
	}
	places, err := walk(file, doc)
	if err != nil {
		return nil, err
	}
	return places.build(values, "", spot{}), nil
}

// codePoint matches go-toml's description of a character. Beyond ASCII it describes only the first byte.
var codePoint = sys.Regexp(`(character )?U\+[0-9A-F]{4,}( '[^']*')?`)

// syntaxError turns go-toml's error into a Problem, with the whole character and a hint.
func syntaxError(file string, doc []byte, err error) error {
	p := Problem{File: file, Text: strings.TrimPrefix(err.Error(), "toml: ")}
	var at *toml.DecodeError
	if !errors.As(err, &at) {
		return Errors{p}
	}
	p.Line, p.Column = at.Position()
	p.Key = strings.Join(at.Key(), ".")
	lines := bytes.Split(doc, []byte("\n"))
	if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len(lines[p.Line-1])+1 {
		return Errors{p}
	}
	// go-toml counts columns in bytes; people and editors count characters.
	before, rest := lines[p.Line-1][:p.Column-1], lines[p.Line-1][p.Column-1:]
	p.Column = utf8.RuneCount(before) + 1
	found := "end of line"
	if r, _ := utf8.DecodeRune(rest); len(bytes.TrimSpace(rest)) > 0 {
		found = strconv.QuoteRune(r)
	}
	p.Text = codePoint().ReplaceAllLiteralString(p.Text, found)
	p.Hint = likelyMeant(string(lines[p.Line-1]))
	return Errors{p}
}

// likelyMeant returns a hint for the most common mistakes in TOML, or "". It never repeats a value, which may be a secret.
func likelyMeant(line string) string {
	line = strings.TrimSpace(line)
	key, value, pair := strings.Cut(line, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	first, _ := utf8.DecodeRuneInString(value)
	switch {
	case strings.HasPrefix(line, "[") && !strings.Contains(line, "]"):
		return "a section is written [name]"
	case !pair && strings.Contains(line, ":"):
		return "want key = value"
	case !pair:
		return ""
	case value == "":
		return "there is no value after the ="
	case strings.EqualFold(value, "true") || strings.EqualFold(value, "false"):
		return "write true or false"
	case strings.HasPrefix(value, `"`) && strings.Count(value, `"`) == 1:
		return "close the text with a quote on the same line"
	case unicode.IsLetter(first) || unicode.IsDigit(first) && strings.ContainsFunc(value, unicode.IsLetter):
		return fmt.Sprintf("write a text, or a time with its unit, in quotes: %s = \"…\"", key)
	}
	return ""
}

// A document is walked twice, because go-toml gives either values or places: Unmarshal fills a map, and the syntax tree of its package
// unstable knows offsets. Both meet in the path of a value: walk notes the places by path, and build looks them up.

// spot holds the places of a key and its value.
type spot struct{ key, value place }

// spots maps the path of a value to its spot. The parts are joined by NUL, and list elements are "[3]".
type spots map[string]spot

func join(path, part string) string { return path + "\x00" + part }

func element(path string, i int) string { return fmt.Sprintf("%s\x00[%d]", path, i) }

// build turns go-toml's values into nodes. A value without a spot inherits its parent's.
func (s spots) build(v any, path string, inherited spot) *node {
	at, ok := s[path]
	if !ok {
		at = inherited
	}
	n := &node{key: at.key, value: at.value}
	switch v := v.(type) {
	case map[string]any:
		n.table = make(map[string]*node, len(v))
		for k, child := range v {
			n.table[k] = s.build(child, join(path, k), at)
		}
	case []any:
		n.list = make([]*node, len(v))
		for i, child := range v {
			n.list[i] = s.build(child, element(path, i), at)
		}
	default:
		n.leaf = v
	}
	return n
}

// walker collects the places in one document. It trusts the syntax, which Unmarshal has accepted before.
type walker struct {
	doc    []byte
	lines  []int // offsets of the line starts
	spots  spots
	arrays map[string]int // number of elements so far, for arrays of tables
	deep   place          // the first place with a nesting deeper than maxDepth
	parser unstable.Parser
}

// maxDepth is the deepest nesting of tables and lists. The decoder is recursive, so a hostile file must not choose the depth.
const maxDepth = 32

// walk finds the places of all keys and values in a document that go-toml has accepted.
func walk(file string, doc []byte) (spots, error) {
	w := &walker{doc: doc, spots: spots{}, arrays: map[string]int{}, lines: []int{0}}
	for i, c := range doc {
		if c == '\n' {
			w.lines = append(w.lines, i+1)
		}
	}
	w.parser.Reset(doc)
	// section is the path of the latest header. The pairs after it belong to it.
	section := ""
	for w.deep == (place{}) && w.parser.NextExpression() {
		e := w.parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			section = w.header(e)
		case unstable.KeyValue:
			w.pair(e, section)
		}
	}
	if w.deep != (place{}) {
		return nil, Errors{{File: file, Line: w.deep.line, Column: w.deep.column, Text: fmt.Sprintf("nested deeper than %d levels", maxDepth)}}
	}
	return w.spots, nil
}

// tooDeep records the first place that is nested too deeply, and reports whether there is one.
func (w *walker) tooDeep(path string, at place) bool {
	if w.deep == (place{}) && strings.Count(path, "\x00") >= maxDepth {
		w.deep = at
	}
	return w.deep != (place{})
}

// header records the place of a [table] or [[array of tables]] and returns its path.
func (w *walker) header(e *unstable.Node) string {
	path := ""
	for it := e.Key(); it.Next(); {
		k := it.Node()
		at := w.place(int(k.Raw.Offset))
		if w.tooDeep(path, at) {
			return path
		}
		path = join(path, string(k.Data))
		w.note(path, spot{at, at})
		if e.Kind == unstable.ArrayTable && it.IsLast() {
			w.arrays[path]++
		}
		// [a.b] after [[a]] belongs to the newest element of a.
		// The list keeps the place of its first header. Each element has the place of its own.
		if n := w.arrays[path]; n > 0 {
			path = element(path, n-1)
			w.note(path, spot{at, at})
		}
	}
	return path
}

// pair records the place of key = value, and the places inside the value.
func (w *walker) pair(e *unstable.Node, path string) {
	end := 0
	var at place
	for it := e.Key(); it.Next(); {
		k := it.Node()
		at, end = w.place(int(k.Raw.Offset)), int(k.Raw.Offset+k.Raw.Length)
		if w.tooDeep(path, at) {
			return
		}
		path = join(path, string(k.Data))
		w.note(path, spot{at, at})
	}
	// The syntax tree has no offset for most values: the value begins after the equals sign and the blanks around it.
	rest := w.doc[end:]
	start := len(w.doc) - len(bytes.TrimLeft(rest, " \t="))
	w.spots[path] = spot{at, w.place(start)}
	w.inside(e.Value(), path)
}

// inside records the places of the elements of lists and inline tables.
func (w *walker) inside(v *unstable.Node, path string) {
	switch v.Kind {
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next(); i++ {
			w.elementAt(it.Node(), element(path, i), w.spots[path])
		}
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			w.pair(it.Node(), path)
		}
	}
}

// elementAt records the place of a list's element and of everything inside it.
func (w *walker) elementAt(v *unstable.Node, path string, outer spot) {
	at := outer.value // a list inside a list has no place of its own
	if v.Raw.Length > 0 {
		at = w.place(int(v.Raw.Offset))
	}
	if w.tooDeep(path, at) {
		return
	}
	w.spots[path] = spot{at, at}
	w.inside(v, path)
}

// note records a place. The first place of a path wins.
func (w *walker) note(path string, s spot) {
	if _, ok := w.spots[path]; !ok {
		w.spots[path] = s
	}
}

// place converts a byte offset to a line and a column, both from 1; columns count characters.
func (w *walker) place(offset int) place {
	// For an offset inside a line, BinarySearch returns the index of the next line.
	line, ok := slices.BinarySearch(w.lines, offset)
	if !ok {
		line--
	}
	return place{line + 1, utf8.RuneCount(w.doc[w.lines[line]:offset]) + 1}
}
