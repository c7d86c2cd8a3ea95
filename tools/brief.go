package tools

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// Sent returns the parameter schema for a request to a model. It leaves out the parts that only
// reject or complete arguments: bounds, additionalProperties and defaults. Each call is checked
// against the full schema anyway, and every request pays for each byte.
func (s Spec) Sent() json.RawMessage {
	if s.brief == nil {
		return s.Parameters
	}
	return s.brief
}

// brief returns a shortened copy of a schema for Sent.
func brief(s *jsonschema.Schema) *jsonschema.Schema {
	c := s.CloneSchemas()
	shorten(c)
	return c
}

// shorten removes bounds, defaults and additionalProperties at all levels.
func shorten(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.MinLength, s.MaxLength, s.MinItems, s.MaxItems, s.Minimum, s.Maximum, s.Default = nil, nil, nil, nil, nil, nil, nil
	if a := s.AdditionalProperties; a != nil && a.Type == "" {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		shorten(p)
	}
	shorten(s.Items)
}
