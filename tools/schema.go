package tools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// deriveSchema derives the JSON Schema of a struct type from its field tags:
//
//	json:"name,omitempty"   the parameter's name; omitempty or omitzero make it optional
//	jsonschema:"text"       what it means
//	enum:"a,b"              the only values (of a list: of its items)
//	default:"a"             the value when it is left out
//	min:"1" max:"5"         bounds: of a number its value, of a string its length, of a list its items
//
// jsonschema-go infers the types. refine removes its "null" types for pointers and slices, because
// models would then send nulls. A wrong tag is a programmer's mistake and an error.
func deriveSchema(t reflect.Type) (*jsonschema.Schema, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("schema of %s: want a struct", t)
	}
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	if err := refine(s, t); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	return s, nil
}

// refine removes nulls from a schema and applies hob's own tags at all levels.
func refine(s *jsonschema.Schema, t reflect.Type) error {
	if s == nil {
		return nil
	}
	dropNull(s)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return refine(s.Items, t.Elem())
	case reflect.Map:
		return refine(s.AdditionalProperties, t.Elem())
	case reflect.Struct:
		return refineFields(s, t)
	}
	return nil
}

// refineFields refines the schema of each field of a struct.
func refineFields(s *jsonschema.Schema, t reflect.Type) error {
	for _, f := range reflect.VisibleFields(t) {
		p := s.Properties[fieldName(f)]
		if f.Anonymous || !f.IsExported() || p == nil {
			continue
		}
		if err := refine(p, f.Type); err != nil {
			return err
		}
		if err := applyTags(p, f.Tag); err != nil {
			return fmt.Errorf("field %s: %w", f.Name, err)
		}
	}
	return nil
}

// applyTags applies the tags enum, default, min and max.
func applyTags(p *jsonschema.Schema, tag reflect.StructTag) error {
	if list, ok := tag.Lookup("enum"); ok {
		target := p
		if p.Items != nil {
			target = p.Items
		}
		for v := range strings.SplitSeq(list, ",") {
			target.Enum = append(target.Enum, v)
		}
	}
	if v, ok := tag.Lookup("default"); ok {
		raw, err := defaultValue(p.Type, v)
		if err != nil {
			return err
		}
		p.Default = raw
	}
	for _, key := range []string{"min", "max"} {
		if v, ok := tag.Lookup(key); ok {
			if err := bound(p, key, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// bound applies min or max according to the type.
func bound(p *jsonschema.Schema, key, v string) error {
	n, err := strconv.Atoi(v)
	if err != nil {
		return fmt.Errorf("tag %s:%q: want a whole number", key, v)
	}
	f, low := float64(n), key == "min"
	switch p.Type {
	case "integer", "number":
		p.Minimum, p.Maximum = pick(low, &f, p.Minimum), pick(!low, &f, p.Maximum)
	case "string":
		p.MinLength, p.MaxLength = pick(low, &n, p.MinLength), pick(!low, &n, p.MaxLength)
	case "array":
		p.MinItems, p.MaxItems = pick(low, &n, p.MinItems), pick(!low, &n, p.MaxItems)
	default:
		return fmt.Errorf("tag %s:%q: a %s has no bounds", key, v, p.Type)
	}
	return nil
}

// pick returns a or b.
func pick[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}

// defaultValue encodes a default for its type.
func defaultValue(kind, v string) (json.RawMessage, error) {
	if kind == "string" {
		return json.Marshal(v)
	}
	if !json.Valid([]byte(v)) {
		return nil, fmt.Errorf("tag default:%q is not a JSON %s", v, kind)
	}
	return json.RawMessage(v), nil
}

// dropNull removes "null" from a list of two types.
func dropNull(s *jsonschema.Schema) {
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
}

// fieldName returns the JSON name of a field.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return cmp.Or(name, f.Name)
}
