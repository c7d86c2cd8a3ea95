package scheduler

import (
	"cmp"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"hob/config/schema"
)

// Field describes one field of a trigger for people, in the config reference and the help of the command line. Its Go field in the draft
// has the same name in its tag: `json` for the tool input and the API, `toml` for the config.
type Field struct {
	schema.Note        // Doc is "" if the config does not have the field
	Flag        string // help of its flag; "" if it has none or the command declares its own
	Usual       string // the value that a summary omits
	Summary     bool   // a summary shows the field
	FlagAs      string // name of its flag, if it differs
	Commas      bool   // the flag of a list takes several values, separated by commas
}

// PlainField describes the field plain of a kind of trigger.
func PlainField(kind string) Field {
	const what = "the built-in interpreter carries out the prompt, also when a model is connected"
	return Field{
		Note: schema.Note{
			Name: "plain", Unset: "as it was made", Example: "true",
			Doc: strings.ToUpper(what[:1]) + what[1:] + ". Without this key, a prompt that it understands is plain if no model was connected when the " + kind + " was made.",
		},
		Flag: what + "; --plain=false: the model does",
	}
}

// FlagName returns the name of the field's flag.
func (f Field) FlagName() string { return strings.ReplaceAll(cmp.Or(f.FlagAs, f.Name), "_", "-") }

// Notes returns the notes for the config reference.
func Notes(fields []Field) []schema.Note {
	var notes []schema.Note
	for _, f := range fields {
		if f.Doc != "" {
			notes = append(notes, f.Note)
		}
	}
	return notes
}

// Target returns a pointer to the Go field of a draft by its name: a tool input's, or else the config's. The draft is a pointer to a
// struct. It panics on an unknown name.
func Target(draft any, name string) any {
	v := reflect.ValueOf(draft).Elem()
	for _, tag := range []string{"json", "toml"} {
		for i := range v.NumField() {
			if tagged(v.Type().Field(i), tag) == name {
				return v.Field(i).Addr().Interface()
			}
		}
	}
	panic("scheduler: " + v.Type().String() + " has no field " + name)
}

// Set parses a text into a field of a draft. Whole numbers and durations must be above 0, or may be 0 if that is the least value. The error
// starts with the field's name.
func Set(draft any, f Field, text string) error {
	above := func(n int64, err error) bool { return err == nil && (n > 0 || n == 0 && f.Least == "0s") }
	ok, want := true, "a whole number above 0"
	switch to := Target(draft, f.Name).(type) {
	case *string:
		*to = text
	case **bool:
		b, err := strconv.ParseBool(text)
		*to, ok, want = &b, err == nil, "true or false"
	case *int:
		n, err := strconv.Atoi(text)
		*to, ok = n, above(int64(n), err)
	case *int64:
		n, err := strconv.ParseInt(text, 10, 64)
		*to, ok = n, above(n, err)
	case *time.Duration:
		d, err := time.ParseDuration(text)
		*to, ok, want = d, above(int64(d), err), "a time span such as "+strings.Trim(f.Example, `"`)
		if f.Least == "0s" {
			want += ", or 0s"
		}
	}
	if !ok {
		return fmt.Errorf("%s %q: want %s", f.Name, text, want)
	}
	return nil
}

// Given returns the names of the fields of a draft that are set, in the tool input's or the config's naming.
func Given(draft any) []string {
	v := reflect.Indirect(reflect.ValueOf(draft))
	var names []string
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name := tagged(f, "json")
		if name == "" {
			name = tagged(f, "toml")
		}
		if name != "" && !v.Field(i).IsZero() {
			names = append(names, name)
		}
	}
	return names
}

// Summarized returns the summary fields with unusual values, as "name: value". view is a struct with JSON tags.
func Summarized(fields []Field, view any) []string {
	var list []string
	for _, f := range fields {
		if !f.Summary {
			continue
		}
		if text := reflect.Indirect(reflect.ValueOf(Target(view, f.Name))).String(); text != "" && text != f.Usual {
			list = append(list, f.Name+": "+text)
		}
	}
	return list
}

// tagged returns the name in a field's tag, or "".
func tagged(f reflect.StructField, tag string) string {
	name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
	if name == "-" {
		return ""
	}
	return name
}
