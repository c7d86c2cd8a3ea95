package tools

import (
	"encoding/json"

	"github.com/google/jsonschema-go/jsonschema"
)

// Sent is the schema of the parameters as a request to a model carries it: without what only refuses (bounds, and that no other names
// are taken) or fills in (defaults), since each call is checked against the whole schema anyway. Every request pays for each byte.
func (s Spec) Sent() json.RawMessage {
	if s.brief == nil {
		return s.Parameters
	}
	return s.brief
}

// brief is a copy of a schema with what Sent says.
func brief(s *jsonschema.Schema) *jsonschema.Schema {
	c := s.CloneSchemas()
	shorten(c)
	return c
}

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
