package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"hob/config"
	"hob/config/document"
	"hob/config/schema"
)

// schemaDialect is the JSON Schema draft that editors understand (https://json-schema.org/draft/2020-12).
const schemaDialect = "https://json-schema.org/draft/2020-12/schema"

// durationPattern matches what time.ParseDuration accepts, with the white space that the decoder allows around it.
const durationPattern = `^\s*[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+\s*$`

// schemaObject is one JSON object of a schema.
type schemaObject map[string]any

// configSchema is the JSON Schema of the file, for editors. What it refuses, hob would not read as it stands; what depends on several keys, on
// the time zones of the machine or on the length of a time, only `hob config validate` knows.
func configSchema(r config.Reference) ([]byte, error) {
	top, defs := schemaObject{}, schemaObject{}
	for _, p := range r.Parts() {
		// A part is a section, a table inside a section, or the pattern of sections that the owner names.
		group, below, nested := strings.Cut(p.Path, ".")
		if !nested {
			top[group] = partSchema(p)
			continue
		}
		if host, ok := top[group].(schemaObject); ok && below != "NAME" { // a section in a section, which stands behind it
			if properties, ok := host["properties"].(schemaObject); ok {
				properties[below] = partSchema(p)
				continue
			}
		}
		name := strings.Join(append([]string{group}, strings.Fields(p.Kind)...), "-")
		// Each kind of channel gets a definition of its own, to which channelSchema refers.
		defs[name] = partSchema(p)
		if p.Kind == "" {
			top[group] = schemaObject{"type": "object", "additionalProperties": schemaRef(name)}
		}
	}
	if kinds := r.Kinds(); len(kinds) > 0 {
		top["channels"] = channelSchema(kinds)
	}
	doc := schemaObject{
		"$schema": schemaDialect, "title": "hob's config.toml", "type": "object",
		"properties": top, "additionalProperties": false, "$defs": defs,
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return append(out, '\n'), nil
}

// schemaRef refers to a definition of the same document.
func schemaRef(name string) schemaObject { return schemaObject{"$ref": "#/$defs/" + name} }

// channelSchema distinguishes the kinds of channels: a section has a key kind, unless its name is the kind.
func channelSchema(kinds []string) schemaObject {
	// In said a section names its kind. In named the section's name is a kind, so the key may be left out.
	said := make([]any, len(kinds))
	for i, k := range kinds {
		said[i] = schemaObject{"allOf": []any{schemaRef("channels-" + k)}, "required": []string{"kind"}}
	}
	named := schemaObject{}
	for _, k := range kinds {
		named[k] = schemaObject{"anyOf": append([]any{schemaRef("channels-" + k)}, said...)}
	}
	return schemaObject{
		"type": "object", "properties": named, "additionalProperties": schemaObject{"anyOf": said},
		// These names would be mistaken for addresses that hob knows itself. The pattern spells out both cases,
		// because JSON Schema patterns have no flag for that.
		"propertyNames": schemaObject{"not": schemaObject{"pattern": "^([aA][pP][iI]|[cC][lL][iI]|[cC][rR][oO][nN]|[nN][oO][nN][eE]|[oO][wW][nN][eE][rR])$"}},
	}
}

// partSchema is the schema of a section: its keys and its description. A part of one kind of channel fixes the
// value of its key kind.
func partSchema(p config.Part) schemaObject {
	s := tableSchema(p.Keys)
	if p.Several {
		s = schemaObject{"type": "array", "items": s}
	}
	s["description"] = withoutMarkup(p.Doc)
	if p.Kind != "" {
		if kind, ok := s["properties"].(schemaObject)["kind"].(schemaObject); ok {
			delete(kind, "enum")
			kind["const"] = p.Kind
		}
	}
	return s
}

// tableSchema is an object that has these keys and no others, because the loader refuses unknown keys too.
func tableSchema(keys []schema.Key) schemaObject {
	properties := schemaObject{}
	for _, k := range keys {
		properties[lastName(k.Name)] = keySchema(k)
	}
	return schemaObject{"type": "object", "properties": properties, "additionalProperties": false}
}

// keySchema is the schema of one key. Description, default and example appear in an editor while somebody
// types.
func keySchema(k schema.Key) schemaObject {
	s := typeSchema(k)
	s["description"] = withoutMarkup(k.Doc)
	if k.Unset != "" {
		s["description"] = withoutMarkup(k.Doc + " Left out: " + k.Unset + ".")
	}
	if k.Default != nil {
		s["default"] = k.Default
	}
	// Examples are written as TOML, and the schema needs them as JSON values.
	if tree, err := document.Parse([]byte("x = " + k.Example + "\n")); err == nil {
		s["examples"] = []any{tree["x"]}
	}
	return s
}

// typeSchema is the type of a key with its limits.
func typeSchema(k schema.Key) schemaObject {
	switch k.Type {
	case schema.Switch:
		return schemaObject{"type": "boolean"}
	case schema.Whole:
		return limitSchema(k, schemaObject{"type": "integer"})
	case schema.Number:
		return limitSchema(k, schemaObject{"type": "number"})
	case schema.Duration:
		return schemaObject{"type": "string", "pattern": durationPattern}
	case schema.List:
		return schemaObject{"type": "array", "items": textSchema(k)}
	case schema.Table:
		return tableSchema(k.Keys)
	case schema.Tables:
		return schemaObject{"type": "object"}
	case schema.Text:
		return textSchema(k)
	}
	return schemaObject{}
}

// textSchema is a text with its allowed words or its pattern.
func textSchema(k schema.Key) schemaObject {
	s := schemaObject{"type": "string"}
	if len(k.Words) > 0 {
		s["enum"] = k.Words
	}
	if k.Pattern != "" {
		s["pattern"] = k.Pattern
	}
	return s
}

// limitSchema adds the limits of a number. Some keys also take one value outside of them, such as -1 for "no
// limit".
func limitSchema(k schema.Key, s schemaObject) schemaObject {
	limits := schemaObject{}
	if k.Least != "" {
		limits["minimum"] = json.Number(k.Least)
	}
	if k.Most != "" {
		limits["maximum"] = json.Number(k.Most)
	}
	if k.Also != "" {
		// Also has the value first, and after a space what it means.
		other, _, _ := strings.Cut(k.Also, " ")
		s["anyOf"] = []any{limits, schemaObject{"const": json.Number(other)}}
		return s
	}
	maps.Copy(s, limits)
	return s
}

// withoutMarkup removes Markdown's code marks.
func withoutMarkup(s string) string { return strings.ReplaceAll(s, "`", "") }

// lastName is the name of a key within its table.
func lastName(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
