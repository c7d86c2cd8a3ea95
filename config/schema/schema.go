// Package schema describes the keys of a config section: the type, the default and the limits of each. Describe derives the description
// from the struct that takes the section and from notes; config, the reference page and the JSON schema use it. It reads no file.
package schema

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Type is the type of a key, in the words of the reference page.
type Type string

// Types of keys.
const (
	Text     Type = "text"
	Whole    Type = "whole number"
	Number   Type = "number"
	Switch   Type = "true or false"
	Duration Type = "time with its unit"
	List     Type = "list of texts"
	Table    Type = "table"
	Tables   Type = "tables by their names"
	Anything Type = "anything"
)

// Note is the information about a key that the Go field does not contain.
type Note struct {
	Name    string   // "backend"; "price.input" for a key inside a table
	Doc     string   // one sentence
	Unset   string   // what applies without the key, if that is not a value
	Example string   // a value in TOML
	Words   []string // the allowed texts; none: any
	Least   string   // the smallest number or duration; "": no limit
	Most    string   // the largest one
	Also    string   // a number outside Least and Most that is allowed, with its meaning: "-1 for no cap"
	Pattern string   // a regular expression (JSON Schema dialect) that the text, or each text of a list, matches
	Ask     bool     // set-up asks for it although the section can do without it
	Apart   bool     // it excludes other keys, so combined examples omit it
}

// Key is one key of a section.
type Key struct {
	Note
	Type    Type
	Default any   // the value without the key, in TOML's types; nil: see Unset
	Keys    []Key // of a Table
}

// Secret reports whether the key holds a secret, judged by its name.
func (k Key) Secret() bool { return Secret(k.Name[strings.LastIndexByte(k.Name, '.')+1:]) }

// Describe returns the keys of a section, in the order of the notes. defaults is the struct that takes the section, filled with the default
// values. It panics on a note about a key that the struct does not have.
func Describe(defaults any, notes []Note) []Key {
	v := reflect.Indirect(reflect.ValueOf(defaults))
	keys := describe(v, "", notes)
	// A note without a key would otherwise describe nothing, without a sign of the mistake.
	all := Flat(keys)
	for _, n := range notes {
		if !slices.ContainsFunc(all, func(k Key) bool { return k.Name == n.Name }) {
			panic(fmt.Sprintf("schema: a note about %s, which %s does not take", n.Name, v.Type()))
		}
	}
	return keys
}

// describe makes the keys of a struct. path is the name of the table that contains it, "" at the top. Tables inside it are described too.
func describe(v reflect.Value, path string, notes []Note) []Key {
	var keys []Key
	for name, field := range Fields(v) {
		k := Key{Note: Note{Name: strings.TrimPrefix(path+"."+name, ".")}, Type: typeOf(field)}
		if i := slices.IndexFunc(notes, func(n Note) bool { return n.Name == k.Name }); i >= 0 {
			k.Note = notes[i]
		}
		// A key with Unset has no default: its zero value is not a value that the owner could write.
		if k.Type == Table {
			k.Keys = describe(field, k.Name, notes)
		} else if k.Unset == "" {
			k.Default = Plain(field)
		}
		keys = append(keys, k)
	}
	// Keys have the order of the notes; others follow by name.
	place := func(k Key) int {
		if i := slices.IndexFunc(notes, func(n Note) bool { return n.Name == k.Name }); i >= 0 {
			return i
		}
		return len(notes)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a.Name, b.Name)
	})
	return keys
}

// Flat returns all keys, including those inside tables.
// A table comes before its keys.
func Flat(keys []Key) []Key {
	all := make([]Key, 0, len(keys))
	for _, k := range keys {
		all = append(append(all, k), Flat(k.Keys)...)
	}
	return all
}

// typeOf returns the type that a value has in the file.
func typeOf(v reflect.Value) Type {
	t := v.Type()
	// A pointer only makes the key optional.
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	// Durations and types that parse texts are written as texts, although some are numbers or structs in Go.
	case t == reflect.TypeFor[time.Duration]():
		return Duration
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return Text
	}
	switch t.Kind() {
	case reflect.String:
		return Text
	case reflect.Bool:
		return Switch
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return Whole
	case reflect.Float32, reflect.Float64:
		return Number
	case reflect.Struct:
		return Table
	case reflect.Map:
		return Tables
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return List
		}
	}
	return Anything
}

// Plain converts a Go value to TOML's types; nil for an empty one.
func Plain(v reflect.Value) any {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch d := v.Interface().(type) {
	case time.Duration:
		return short(d)
	// The copy is never nil, so an empty list is a value.
	case []string:
		return append([]string{}, d...)
	}
	switch {
	// Zero and false are values. An empty text is none.
	case v.CanInt():
		return v.Int()
	case v.CanFloat():
		return v.Float()
	case v.Kind() == reflect.Bool:
		return v.Bool()
	case v.Kind() == reflect.String && v.String() != "":
		return v.String()
	}
	return nil
}

// short formats a duration as people write it: 15m, not 15m0s.
// Duration.String always writes the smaller units too.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// bound parses a limit as a number; a duration as nanoseconds.
// It returns false if s is empty or cannot be parsed.
func (k Key) bound(s string) (float64, bool) {
	if s == "" {
		return 0, false
	}
	if k.Type == Duration {
		d, err := time.ParseDuration(s)
		return float64(d), err == nil
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// Within returns the reason that a value is outside its limits, or "".
// Only texts have words, and only numbers and durations have limits. Pattern is not checked here.
func (k Key) Within(v reflect.Value) string {
	if len(k.Words) > 0 && v.Kind() == reflect.String && !slices.Contains(k.Words, v.String()) {
		return fmt.Sprintf("want one of %s, found %q", strings.Join(k.Words, ", "), v)
	}
	value, found := 0.0, ""
	switch {
	case k.Type == Duration && v.CanInt():
		value, found = float64(v.Int()), fmt.Sprintf("%q", short(time.Duration(v.Int())))
	case v.CanInt():
		value, found = float64(v.Int()), fmt.Sprint(v)
	case v.CanFloat():
		value, found = v.Float(), fmt.Sprint(v)
	default:
		return ""
	}
	// Also begins with its number.
	other, _, _ := strings.Cut(k.Also, " ")
	also, given := k.bound(other)
	least, low := k.bound(k.Least)
	most, high := k.bound(k.Most)
	if given && value == also || (!low || value >= least) && (!high || value <= most) {
		return ""
	}
	return "want " + k.Range() + ", found " + found
}

// Range describes the allowed numbers or durations in words; "" for no limits.
// Within puts the words into its message.
func (k Key) Range() string {
	quoted := func(s string) string {
		if k.Type == Duration {
			return strconv.Quote(s)
		}
		return s
	}
	text := ""
	switch {
	case k.Least != "" && k.Most != "":
		text = quoted(k.Least) + " to " + quoted(k.Most)
	case k.Least != "":
		text = quoted(k.Least) + " or more"
	case k.Most != "":
		text = quoted(k.Most) + " at most"
	}
	if k.Also != "" {
		text += ", or " + k.Also
	}
	return text
}

// Fields maps keys to the fields of a struct. The key is the name in the tag toml:"name", or the field's name in lower case.
func Fields(dst reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}
	for i := range dst.NumField() {
		f := dst.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case name == "-" || !f.IsExported():
		// The fields of an embedded struct without a tag count as fields of dst.
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			maps.Copy(fields, Fields(dst.Field(i)))
		case name == "":
			fields[strings.ToLower(f.Name)] = dst.Field(i)
		default:
			fields[name] = dst.Field(i)
		}
	}
	return fields
}

// Secret reports whether a key without its section names a secret.
// The name alone decides whether a value is hidden, so the owner of a section must choose names with one of these endings.
func Secret(name string) bool {
	words := []string{"token", "api_key", "search_key", "password", "secret"}
	return slices.ContainsFunc(words, func(word string) bool { return name == word || strings.HasSuffix(name, "_"+word) })
}
