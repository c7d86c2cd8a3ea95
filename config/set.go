package config

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Change is one key that is to be set, or taken out.
type Change struct {
	Key   string // its full name as TOML writes it: model.price.input, models."a.b".model
	Value string // what a person types for its type: 8192, true, 15m, a,b or ["a", "b"], { input = 3.0 }
	Unset bool   // take it out; Value is not looked at
}

// mark begins the files of some editors on Windows.
const mark = "\xef\xbb\xbf"

// Set makes changes to a document and returns the new one; all that they do not name stays as it is, byte by byte. The result is
// validated as a whole, and refused with Errors when it has a mistake that the document did not have; so is a value that its key does not
// take. An error that wraps ErrByHand is a document in which the key cannot be reached. file names the document in errors.
func (r Reference) Set(file string, doc []byte, changes ...Change) ([]byte, error) {
	next, bom := bytes.CutPrefix(doc, []byte(mark))
	before, err := r.Check(file, doc, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range changes {
		if next, err = r.apply(file, next, c); err != nil {
			return nil, err
		}
	}
	after, err := r.Check(file, next, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrByHand, err)
	}
	if worse := more(before, after); len(worse) > 0 {
		return nil, worse
	}
	if bom {
		next = append([]byte(mark), next...)
	}
	return next, nil
}

// more are the mistakes of after that before does not have, wherever they stand.
func more(before, after []Problem) Errors {
	var list Errors
	for _, p := range after {
		same := func(q Problem) bool { return p.Key == q.Key && p.Text == q.Text }
		if !p.Advice && !slices.ContainsFunc(before, same) {
			list = append(list, p)
		}
	}
	return list
}

func (r Reference) apply(file string, doc []byte, c Change) ([]byte, error) {
	path, err := keyPath(c.Key)
	if err != nil {
		return nil, err
	}
	root, err := parse(file, doc)
	if err != nil {
		return nil, err
	}
	text := ""
	if !c.Unset {
		_, k, problem := r.find(root, path)
		if problem != nil {
			return nil, Errors{*problem}
		}
		if text, err = k.literal(c.Value); err != nil {
			return nil, Errors{{Key: c.Key, Text: err.Error()}}
		}
	} else if n := root.at(path); n == nil {
		return nil, Errors{{File: file, Key: c.Key, Text: c.Key + " does not stand in the file, so that there is nothing to take out"}}
	} else if len(path) < 2 || n.table != nil && !inFile(doc, path) {
		return nil, Errors{{File: file, Line: n.key.line, Column: n.key.column, Key: c.Key, Text: c.Key + " is a section", Hint: "take out its keys one by one, or the whole with: hob config edit"}}
	}
	next, err := edit(doc, path, text)
	if err != nil {
		return nil, fmt.Errorf("set %s: %w (change it with: hob config edit)", c.Key, err)
	}
	return next, nil
}

// inFile reports whether a key stands in the file as a key = value of its own.
func inFile(doc []byte, path []string) bool {
	return slices.ContainsFunc(statements(doc), func(s statement) bool { return !s.header && slices.Equal(s.path, path) })
}

// at is the node of a full name, nil when there is none.
func (n *node) at(path []string) *node {
	for _, name := range path {
		n = n.child(name)
	}
	return n
}

// keyPath reads the full name of a key.
func keyPath(key string) ([]string, error) {
	wrong := Errors{{Key: key, Text: fmt.Sprintf("%q is no name of a key", key), Hint: "want section.key, like model.api_key; quote a name that has a dot in it: models.\"a.b\".model"}}
	var p unstable.Parser
	p.Reset([]byte(key + " = 0"))
	if !utf8.ValidString(key) || strings.ContainsAny(key, "=#\r\n") || !p.NextExpression() || p.Expression().Kind != unstable.KeyValue {
		return nil, wrong
	}
	path, _, _ := keyOf(p.Expression())
	if p.NextExpression() || p.Error() != nil {
		return nil, wrong
	}
	return path, nil
}

// literal writes what a person typed as TOML, by the key's type.
func (k Key) literal(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("%s: the value is not UTF-8 text", last(k.Name))
	}
	text, raw := strings.TrimSpace(text), text
	want := func(what string) (string, error) {
		if k.Secret() {
			return "", fmt.Errorf("%s: want %s", last(k.Name), what)
		}
		return "", fmt.Errorf("%s: want %s, found %q", last(k.Name), what, text)
	}
	switch k.Type {
	case Text:
		return quote(raw), nil
	case Switch:
		if text != "true" && text != "false" {
			return want("true or false")
		}
		return text, nil
	case Whole:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return want("a whole number")
		}
		return strconv.FormatInt(n, 10), nil
	case Number:
		return numeral(text, want)
	case Duration:
		if _, err := time.ParseDuration(text); err != nil {
			return want(`a time with its unit, like "30m" or "1h30m"`)
		}
		return quote(text), nil
	case List:
		if !strings.HasPrefix(text, "[") {
			return listText(text), nil
		}
		return verbatim(text, "a list, like a,b or [\"a\", \"b\"]", want)
	}
	return verbatim(text, "a value as TOML writes it, like { "+k.sample()+" }", want)
}

// sample is one pair of a table.
func (k Key) sample() string {
	if len(k.Keys) == 0 {
		return "key = \"value\""
	}
	return last(k.Keys[0].Name) + " = " + k.Keys[0].Example
}

func numeral(text string, want func(string) (string, error)) (string, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(text, "xX") {
		return want("a number")
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s, nil
}

// listText writes elements between commas, as the environment has them.
func listText(text string) string {
	var parts []string
	for _, n := range splitList(&node{}, text).list {
		if s, ok := n.leaf.(string); ok {
			parts = append(parts, quote(s))
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// verbatim takes one line of TOML as it is.
func verbatim(text, what string, want func(string) (string, error)) (string, error) {
	tree, err := plainTree([]byte("x = " + text + "\n"))
	if err != nil || len(tree) != 1 || strings.ContainsAny(text, "\r\n") || valueEnd([]byte(text), 0) != len(text) {
		var list Errors
		if errors.As(err, &list) && len(list) > 0 {
			what += " (" + list[0].Text + ")"
		}
		return want(what)
	}
	return text, nil
}

// tomlText writes a value as TOML, on one line.
func tomlText(v any) string {
	switch v := v.(type) {
	case string:
		return quote(v)
	case []string:
		parts := make([]string, len(v))
		for i, s := range v {
			parts[i] = quote(s)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = tomlText(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range sorted(keysOf(v)) {
			if v[name] != nil {
				parts = append(parts, keyText([]string{name})+" = "+tomlText(v[name]))
			}
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
