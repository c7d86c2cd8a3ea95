package config

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/config/schema"
)

// decoder fills Go values from nodes and collects all problems on the way. It replaces go-toml's decoder, which stops at the first wrong
// value, knows no durations, and cannot convert the texts of environment variables.
type decoder struct {
	file     string
	section  string
	beside   []string // keys of the section that were read before
	problems []Problem
}

// fatal reports a value that cannot be used.
func (d *decoder) fatal(n *node, key, format string, args ...any) {
	d.add(n, n.value, key, fmt.Sprintf(format, args...), "", true)
}

// add appends a Problem. A value from an environment variable is reported under the variable's name.
func (d *decoder) add(n *node, at place, key, text, hint string, fatal bool) {
	p := Problem{
		File: d.file, Line: at.line, Column: at.column, Section: d.section, Key: key,
		Text: text, Hint: hint, Fatal: fatal,
	}
	if n.env != "" {
		p.File, p.Line, p.Column = n.env, 0, 0
	}
	d.problems = append(d.problems, p)
}

// failed reports whether one of the problems is fatal.
func failed(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Fatal })
}

// value decodes n into dst by dst's type. key is n's full key. It goes on after a problem, so that one run
// reports all of them; typed (load.go) then discards a section with a fatal one.
func (d *decoder) value(n *node, dst reflect.Value, key string) {
	switch {
	// A pointer tells a missing key from one with the zero value.
	case dst.Kind() == reflect.Pointer:
		v := reflect.New(dst.Type().Elem())
		d.value(n, v.Elem(), key)
		dst.Set(v)
	case dst.Type() == reflect.TypeFor[time.Duration]():
		d.duration(n, dst, key)
	// Before the kinds: a type with its own syntax, such as Bytes, is a number or a struct underneath.
	case dst.CanAddr() && dst.Addr().Type().Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		d.text(n, dst, key)
	// The value is kept as go-toml returns it. Its reader checks it.
	case dst.Kind() == reflect.Interface && dst.NumMethod() == 0:
		dst.Set(reflect.ValueOf(n.plain()))
	case dst.Kind() == reflect.Struct, dst.Kind() == reflect.Map:
		d.compound(n, dst, key)
	case dst.Kind() == reflect.Slice:
		d.list(n, dst, key)
	default:
		d.scalar(n, dst, key)
	}
}

// compound decodes a section into a struct or a map. Unknown keys of a struct are problems.
func (d *decoder) compound(n *node, dst reflect.Value, key string) {
	if n.table == nil {
		d.fatal(n, key, "%s: want a section, found %s", last(key), n.kind())
		return
	}
	if dst.Kind() == reflect.Map {
		d.table(n, dst, key)
		return
	}
	fields := schema.Fields(dst)
	// names has the order of the file, and so have the problems.
	for _, name := range n.names() {
		child, full := n.table[name], dotted(key, name)
		field, ok := fields[name]
		if !ok {
			// The nearest name may also be a key that the core has read from the same section, such as a channel's kind.
			known := sorted(keysOf(fields))
			if key == d.section {
				known = append(known, d.beside...)
			}
			d.unknown(child, full, name, known)
			continue
		}
		d.value(child, field, full)
	}
}

// unknown reports a key that nothing reads, with the nearest known name.
// The problem is not fatal: the rest of the section stays in use.
func (d *decoder) unknown(n *node, key, name string, known []string) {
	what := "key"
	if n.table != nil {
		what = "section"
	}
	d.add(n, n.key, key, fmt.Sprintf("unknown %s %q", what, name), nearest(name, known), false)
}

// table decodes a section into a map, whose keys are names that the owner has chosen.
// The panic is for the programmer: the type of dst comes from the code, never from the file.
func (d *decoder) table(n *node, dst reflect.Value, key string) {
	if dst.Type().Key().Kind() != reflect.String {
		panic("config: a map needs names as keys, not " + dst.Type().Key().String())
	}
	m := reflect.MakeMapWithSize(dst.Type(), len(n.table))
	for _, name := range n.names() {
		v := reflect.New(dst.Type().Elem()).Elem()
		d.value(n.table[name], v, dotted(key, name))
		m.SetMapIndex(reflect.ValueOf(name).Convert(dst.Type().Key()), v)
	}
	dst.Set(m)
}

// list decodes a list. A list from the environment is a text that is split first.
func (d *decoder) list(n *node, dst reflect.Value, key string) {
	if s, ok := n.leaf.(string); ok && n.env != "" {
		n = splitList(n, s)
	}
	// An empty list is not nil, so it is accepted.
	if n.list == nil {
		d.fatal(n, key, "%s: want a list, found %s", last(key), n.kind())
		return
	}
	s := reflect.MakeSlice(dst.Type(), len(n.list), len(n.list))
	for i, child := range n.list {
		d.value(child, s.Index(i), fmt.Sprintf("%s[%d]", key, i))
	}
	dst.Set(s)
}

// splitList reads a list from an environment variable: elements between commas.
// Empty elements are dropped, so an empty variable is an empty list.
func splitList(n *node, s string) *node {
	l := &node{env: n.env, list: []*node{}}
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			l.list = append(l.list, &node{env: n.env, leaf: part})
		}
	}
	return l
}

// duration decodes a duration with its unit.
// A number without a unit is rejected, because the unit would be a guess.
func (d *decoder) duration(n *node, dst reflect.Value, key string) {
	s, ok := n.leaf.(string)
	if !ok {
		d.fatal(n, key, "%s: want a time with its unit, like \"30m\" or \"2h\", found %s", last(key), n.kind())
		return
	}
	t, err := time.ParseDuration(strings.TrimSpace(s))
	if err != nil {
		d.fatal(n, key, "%s: %q is no time with its unit; want something like \"30m\" or \"1h30m\"", last(key), s)
		return
	}
	dst.SetInt(int64(t))
}

// text decodes a type that parses its own text.
// The error of UnmarshalText is shown to the owner as it is.
func (d *decoder) text(n *node, dst reflect.Value, key string) {
	s, ok := n.leaf.(string)
	if !ok {
		d.fatal(n, key, "%s: want a text, found %s", last(key), n.kind())
		return
	}
	u, ok := dst.Addr().Interface().(encoding.TextUnmarshaler)
	if !ok {
		panic("config: " + dst.Type().String() + " reads no text")
	}
	if err := u.UnmarshalText([]byte(s)); err != nil {
		d.fatal(n, key, "%s: %v", last(key), err)
	}
}

// scalar decodes a text, boolean or number. An environment variable has only text, so it is parsed by dst's type.
func (d *decoder) scalar(n *node, dst reflect.Value, key string) {
	// Each kind either stores the value and returns, or falls out of the switch with the description of what it wants.
	v, want := n.leaf, ""
	s, typed := v.(string)
	// Only texts from the environment are converted: "5" in the file is a mistake where a number is wanted.
	typed = typed && n.env != ""
	switch dst.Kind() {
	case reflect.String:
		want = "a text"
		if s, ok := v.(string); ok {
			dst.SetString(s)
			return
		}
	case reflect.Bool:
		want = "true or false"
		if typed {
			v = parsed(strconv.ParseBool(s))
		}
		if b, ok := v.(bool); ok {
			dst.SetBool(b)
			return
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		want = "a whole number"
		if typed {
			v = parsed(strconv.ParseInt(s, 10, 64))
		}
		if i, ok := v.(int64); ok && !dst.OverflowInt(i) {
			dst.SetInt(i)
			return
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		want = "a whole number, not negative"
		if typed {
			v = parsed(strconv.ParseInt(s, 10, 64))
		}
		if i, ok := v.(int64); ok && i >= 0 && !dst.OverflowUint(uint64(i)) {
			dst.SetUint(uint64(i))
			return
		}
	case reflect.Float32, reflect.Float64:
		want = "a number"
		if typed {
			v = parsed(strconv.ParseFloat(s, 64))
		}
		if f, ok := number(v); ok {
			dst.SetFloat(f)
			return
		}
	default:
		panic("config: no way to fill a " + dst.Type().String())
	}
	if schema.Secret(last(key)) {
		d.fatal(n, key, "%s: want %s", last(key), want) // never shows the value
		return
	}
	d.fatal(n, key, "%s: want %s, found %s", last(key), want, n.kind())
}

// parsed returns v, or nil for a text that could not be parsed.
func parsed[T any](v T, err error) any {
	if err != nil {
		return nil
	}
	return v
}

// number accepts integers and floats, but not nan and inf.
// TOML has both (TOML 1.0, "Float"), but no setting can use them.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return 0, false
}

// kind describes the value of a node for an error.
// It shows the value, so scalar leaves it out for a key that holds a secret.
func (n *node) kind() string {
	switch v := n.leaf.(type) {
	case string:
		return strconv.Quote(v)
	case bool, int64, float64:
		return fmt.Sprint(v)
	case nil:
		if n.list != nil {
			return "a list"
		}
		return "a section"
	}
	return "a date or time"
}

// plain returns the value without places, in go-toml's types.
func (n *node) plain() any {
	switch {
	case n.table != nil:
		m := make(map[string]any, len(n.table))
		for k, c := range n.table {
			m[k] = c.plain()
		}
		return m
	case n.list != nil:
		l := make([]any, len(n.list))
		for i, c := range n.list {
			l[i] = c.plain()
		}
		return l
	}
	return n.leaf
}

// dotted returns the full name of a key in a section; the top of the file has the path "".
func dotted(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// last returns the last part of a full name.
func last(key string) string { return key[strings.LastIndexByte(key, '.')+1:] }

// target checks the argument of Decode.
// A wrong argument is a mistake of the programmer.
func target(dst any) reflect.Value {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		panic(errors.New("config: Decode needs a pointer"))
	}
	return v.Elem()
}
