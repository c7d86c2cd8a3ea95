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

// Field describes one field of a trigger for people: in the reference of the config, and in the help of the command line. Its place in the
// draft is the Go field with the same name in its tag: `json` for the input of a tool and the API, `toml` for the config.
type Field struct {
	schema.Note        // Doc is "" for a field that the config does not take
	Flag        string // the help of its flag; "" when it has none, or when the command declares one of its own
	Usual       string // a summary leaves the field out when it has this value
	Summary     bool   // a summary shows the field
	FlagAs      string // the name of its flag, where that is not the field's
	Commas      bool   // the flag of a list takes several values with commas between them
}

// FlagName is the flag of a field.
func (f Field) FlagName() string { return strings.ReplaceAll(cmp.Or(f.FlagAs, f.Name), "_", "-") }

// Notes are what the config's reference says about fields.
func Notes(fields []Field) []schema.Note {
	var notes []schema.Note
	for _, f := range fields {
		if f.Doc != "" {
			notes = append(notes, f.Note)
		}
	}
	return notes
}

// Target is a pointer to the Go field of a draft that holds a named field: the one of a tool's input, else the one of the config. The draft is a
// pointer to a struct. An unknown name is a programmer's mistake.
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

// Set reads a text into the field of a draft: a whole number or a time span must be above 0, or 0 where that is the least. The error begins with
// the name of the field.
func Set(draft any, f Field, text string) error {
	above := func(n int64, err error) bool { return err == nil && (n > 0 || n == 0 && f.Least == "0s") }
	ok, want := true, "a whole number above 0"
	switch to := Target(draft, f.Name).(type) {
	case *string:
		*to = text
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

// Given are the names of the fields of a draft that have a value, as a tool's input or the config names them.
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

// Summarized are the fields of a summary, as "name: value", that do not have their usual values. view is a struct with tags for JSON.
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

// tagged is the name that a tag gives to a field, "" for none.
func tagged(f reflect.StructField, tag string) string {
	name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
	if name == "-" {
		return ""
	}
	return name
}
