package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// node is one value of the document with its place. Exactly one of table, list and leaf is used.
type node struct {
	table map[string]*node
	list  []*node
	leaf  any    // string, int64, float64, bool, time.Time or a local date or time
	key   place  // where its key stands; for a section its header
	value place  // where its value begins
	env   string // the environment variable that set it; "": the file
}

// place is where something stands in the file; the zero place is nowhere.
type place struct{ line, column int }

func newTable() *node { return &node{table: map[string]*node{}} }

// names are the keys of a table in the order of the file; those of the environment come last, by name.
func (n *node) names() []string {
	if n == nil {
		return nil
	}
	keys := sorted(keysOf(n.table))
	slices.SortStableFunc(keys, func(a, b string) int { return n.table[a].key.compare(n.table[b].key) })
	return keys
}

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

// child is the node of a key, nil when there is none.
func (n *node) child(key string) *node {
	if n == nil {
		return nil
	}
	return n.table[key]
}

// parse reads a document. The values and all rules of the language are go-toml's (TOML 1.0, https://toml.io/en/v1.0.0);
// the places come from a second walk over its syntax tree.
func parse(file string, doc []byte) (*node, error) {
	doc = bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf")) // some editors on Windows write it
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

// codePoint is how go-toml names a character; beyond ASCII it names only the first byte of it.
var codePoint = regexp.MustCompile(`(character )?U\+[0-9A-F]{4,}( '[^']*')?`)

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
	before, rest := lines[p.Line-1][:p.Column-1], lines[p.Line-1][p.Column-1:]
	p.Column = utf8.RuneCount(before) + 1
	found := "end of line"
	if r, _ := utf8.DecodeRune(rest); len(bytes.TrimSpace(rest)) > 0 {
		found = strconv.QuoteRune(r)
	}
	p.Text = codePoint.ReplaceAllLiteralString(p.Text, found)
	p.Hint = likelyMeant(string(lines[p.Line-1]))
	return Errors{p}
}

// likelyMeant says what is right instead of the mistakes that people make most in TOML, "" when it is none of them. It never repeats a value,
// which may be a secret.
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
		return "there is no value behind the ="
	case strings.EqualFold(value, "true") || strings.EqualFold(value, "false"):
		return "write true or false"
	case strings.HasPrefix(value, `"`) && strings.Count(value, `"`) == 1:
		return "close the text with a quote on the same line"
	case unicode.IsLetter(first) || unicode.IsDigit(first) && strings.ContainsFunc(value, unicode.IsLetter):
		return fmt.Sprintf("a text, or a time with its unit, stands in quotes: %s = \"…\"", key)
	}
	return ""
}

// spot is where a key and its value stand.
type spot struct{ key, value place }

// spots maps the path of a value, its parts joined by NUL and list elements as "[3]", to its spot.
type spots map[string]spot

func join(path, part string) string { return path + "\x00" + part }

func element(path string, i int) string { return fmt.Sprintf("%s\x00[%d]", path, i) }

// build turns go-toml's values into nodes.
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

// walker collects the places of one document.
type walker struct {
	doc    []byte
	lines  []int // offsets at which lines begin
	spots  spots
	arrays map[string]int // how many elements an array of tables has so far
	deep   place          // where something is nested deeper than maxDepth
	parser unstable.Parser
}

// maxDepth bounds the nesting of tables and lists.
const maxDepth = 32

func walk(file string, doc []byte) (spots, error) {
	w := &walker{doc: doc, spots: spots{}, arrays: map[string]int{}, lines: []int{0}}
	for i, c := range doc {
		if c == '\n' {
			w.lines = append(w.lines, i+1)
		}
	}
	w.parser.Reset(doc)
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

// tooDeep notes the first place that is nested too deep.
func (w *walker) tooDeep(path string, at place) bool {
	if w.deep == (place{}) && strings.Count(path, "\x00") >= maxDepth {
		w.deep = at
	}
	return w.deep != (place{})
}

// header notes the place of a [table] or [[array of tables]] and returns its path.
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
		if n := w.arrays[path]; n > 0 {
			path = element(path, n-1)
			w.note(path, spot{at, at})
		}
	}
	return path
}

// pair notes the place of key = value, and of what is inside the value.
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
	rest := w.doc[end:]
	start := len(w.doc) - len(bytes.TrimLeft(rest, " \t="))
	w.spots[path] = spot{at, w.place(start)}
	w.inside(e.Value(), path)
}

// inside notes the places of the elements of lists and inline tables.
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

func (w *walker) note(path string, s spot) {
	if _, ok := w.spots[path]; !ok {
		w.spots[path] = s
	}
}

func (w *walker) place(offset int) place {
	line, ok := slices.BinarySearch(w.lines, offset)
	if !ok {
		line--
	}
	return place{line + 1, utf8.RuneCount(w.doc[w.lines[line]:offset]) + 1}
}
