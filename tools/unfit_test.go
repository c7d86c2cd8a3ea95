package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"hob/tools"
)

func TestUnfit(t *testing.T) {
	t.Parallel()
	const object = `{"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "$defs": {"b": {"allOf": []}}}`
	for what, c := range map[string]struct {
		name, schema, why string
	}{
		"a plain one":               {"notes__do-It_2", object, ""},
		"64 characters":             {strings.Repeat("a", 64), object, ""},
		"65 characters":             {strings.Repeat("a", 65), object, "its name"},
		"a dot":                     {"notes__a.b", object, "its name"},
		"an end of line":            {"notes__a\n", object, "its name"},
		"no name":                   {"", object, "its name"},
		"one of several":            {"a", `{"type": "object", "oneOf": [{"required": ["a"]}]}`, "oneOf"},
		"any of several":            {"a", `{"type": "object", "anyOf": []}`, "anyOf"},
		"all of several":            {"a", `{"type": "object", "allOf": [{}]}`, "allOf"},
		"an escaped keyword":        {"a", `{"type": "object", "\u0061llOf": [{}]}`, "allOf"},
		"a reference":               {"a", `{"type": "object", "$ref": "#/$defs/a"}`, "$ref"},
		"a definition":              {"a", `{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}}`, ""},
		"a loop":                    {"a", `{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {"$ref": "#/$defs/b"}}}`, "reference"},
		"elsewhere":                 {"a", `{"type": "object", "properties": {"a": {"items": [{"$ref": "x.json"}]}}}`, "reference"},
		"a pattern with look-ahead": {"a", `{"type": "object", "properties": {"a": {"pattern": "^(?!x)"}, "pattern": {"pattern": "^x"}}}`, "pattern"},
		"two types":                 {"a", `{"type": ["object", "null"]}`, "no object"},
		"a text":                    {"a", `{"type": "string"}`, "no object"},
		"nothing":                   {"a", ``, "no object"},
	} {
		got := tools.Spec{Name: c.name, Parameters: json.RawMessage(c.schema)}.Unfit()
		if c.why == "" && got != "" || !strings.Contains(got, c.why) {
			t.Errorf("%s: %q", what, got)
		}
	}
}
