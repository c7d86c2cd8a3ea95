package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"hob/daemon/netguard"
)

// wireForm is the schema of a form as the protocol allows it: an object with plain fields (specification 2025-11-25, client/elicitation).
type wireForm struct {
	Type       string               `json:"type"`
	Properties map[string]wireField `json:"properties"`
	Required   []string             `json:"required"`
}

// wireField is a field. What else a schema has, such as references, is not read.
type wireField struct {
	wireItem
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Format      string          `json:"format"`
	MinLength   *float64        `json:"minLength"`
	MaxLength   *float64        `json:"maxLength"`
	Minimum     *float64        `json:"minimum"`
	Maximum     *float64        `json:"maximum"`
	MinItems    *float64        `json:"minItems"`
	MaxItems    *float64        `json:"maxItems"`
	Items       *wireItem       `json:"items"`
}

// wireItem is what the fields and the items of a list have in common: a type and perhaps choices.
type wireItem struct {
	Type  string       `json:"type"`
	Enum  []any        `json:"enum"`
	OneOf []wireChoice `json:"oneOf"`
	AnyOf []wireChoice `json:"anyOf"`
}

// wireChoice is a choice with a title.
type wireChoice struct {
	Const any    `json:"const"`
	Title string `json:"title"`
}

// fieldsOf reads the schema of a form and builds it anew, flat, so that nothing of the server's schema can lead a comparison astray.
func fieldsOf(requested any) (*jsonschema.Schema, []string, error) {
	raw, err := json.Marshal(requested)
	if err != nil {
		return nil, nil, err
	}
	if len(raw) > maxSchema {
		return nil, nil, fmt.Errorf("more than %d KB", maxSchema>>10)
	}
	var wire wireForm
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, nil, err
	}
	if wire.Type != "" && wire.Type != "object" {
		return nil, nil, errors.New("not an object")
	}
	names := slices.Sorted(maps.Keys(wire.Properties))
	if len(names) > maxFields {
		return nil, nil, fmt.Errorf("more than %d fields", maxFields)
	}
	s := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	for _, n := range names {
		f, err := wire.Properties[n].schema()
		if err != nil {
			return nil, nil, err
		}
		if strings.ContainsFunc(n, netguard.Invisible) || len(n) > 100 || len(choices(f)) > 50 {
			return nil, nil, errors.New("a field that cannot be shown")
		}
		s.Properties[n] = f
	}
	for _, n := range wire.Required {
		if s.Properties[n] == nil {
			return nil, nil, errors.New("a field is required that there is not")
		}
		if !slices.Contains(s.Required, n) {
			s.Required = append(s.Required, n)
		}
	}
	return s, names, nil
}

// schema builds the schema of a field.
func (w wireField) schema() (*jsonschema.Schema, error) {
	s, err := w.wireItem.schema()
	if err != nil {
		return nil, err
	}
	s.Title, s.Description, s.Format = w.Title, w.Description, w.Format
	s.MinLength, s.MaxLength, s.MinItems, s.MaxItems = whole(w.MinLength), whole(w.MaxLength), whole(w.MinItems), whole(w.MaxItems)
	s.Minimum, s.Maximum = w.Minimum, w.Maximum
	if s.Type == "array" {
		if w.Items == nil {
			return nil, errors.New("a list of anything")
		}
		if s.Items, err = w.Items.schema(); err != nil || s.Items.Type == "array" {
			return nil, errors.New("a list that is no choice")
		}
	}
	var value any
	if len(w.Default) > 0 && json.Unmarshal(w.Default, &value) == nil && value != nil && fits(s, value) == nil {
		s.Default = w.Default
	}
	return s, nil
}

// schema builds the part that fields and items have in common.
func (w wireItem) schema() (*jsonschema.Schema, error) {
	if !slices.Contains([]string{"string", "number", "integer", "boolean", "array"}, w.Type) {
		return nil, errors.New("a field that is neither text, number, yes or no, nor a list")
	}
	s := &jsonschema.Schema{Type: w.Type, Enum: w.Enum}
	all := slices.Clone(w.Enum)
	for _, one := range slices.Concat(w.OneOf, w.AnyOf) {
		all = append(all, one.Const)
	}
	for _, one := range all {
		switch one.(type) {
		case string, float64, bool:
		default:
			return nil, errors.New("a choice that is no plain value")
		}
	}
	s.OneOf, s.AnyOf = titled(w.OneOf), titled(w.AnyOf)
	return s, nil
}

// titled builds the choices that have titles.
func titled(list []wireChoice) (out []*jsonschema.Schema) {
	for _, one := range list {
		out = append(out, &jsonschema.Schema{Const: &one.Const, Title: one.Title})
	}
	return out
}

// whole returns a limit as a whole number; nil: there is none.
func whole(n *float64) *int {
	if n == nil {
		return nil
	}
	limit := int(math.Ceil(max(0, min(*n, math.MaxInt32))))
	return &limit
}

// fits compares a value with a schema that fieldsOf has built.
func fits(s *jsonschema.Schema, value any) error {
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(value)
}
