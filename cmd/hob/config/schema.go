package config

import (
	"encoding/json"
	"fmt"
	"strings"

	"hob/config"
	"hob/config/schema"
)

// dialect is the JSON Schema that editors are given (https://json-schema.org/draft/2020-12).
const dialect = "https://json-schema.org/draft/2020-12/schema"

// goDuration is what time.ParseDuration reads; the decoder allows white space around it.
const goDuration = `^\s*[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+\s*$`

// object is one JSON object of a schema.
type object map[string]any

// Schema is the JSON Schema of the file, for editors. What it refuses, hob would not read as it stands; what depends on several keys, on
// the time zones of the machine or on the length of a time, only `hob config validate` knows.
func Schema(r config.Reference) ([]byte, error) {
	top, defs := object{}, object{}
	for _, p := range r.Parts() {
		group, below, nested := strings.Cut(p.Path, ".")
		if !nested {
			top[group] = partSchema(p)
			continue
		}
		if host, ok := top[group].(object); ok && below != "NAME" { // a section in a section, which stands behind it
			if properties, ok := host["properties"].(object); ok {
				properties[below] = partSchema(p)
				continue
			}
		}
		name := strings.Join(append([]string{group}, strings.Fields(p.Kind)...), "-")
		defs[name] = partSchema(p)
		if p.Kind == "" {
			top[group] = object{"type": "object", "additionalProperties": reference(name)}
		}
	}
	if kinds := r.Kinds(); len(kinds) > 0 {
		top["channels"] = channelSchema(kinds)
	}
	doc := object{
		"$schema": dialect, "title": "hob's config.toml", "type": "object",
		"properties": top, "additionalProperties": false, "$defs": defs,
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the schema: %w", err)
	}
	return append(out, '\n'), nil
}

func reference(name string) object { return object{"$ref": "#/$defs/" + name} }

// channelSchema tells the kinds of channels apart: a section says its kind, unless that is its name.
func channelSchema(kinds []string) object {
	said := make([]any, len(kinds))
	for i, k := range kinds {
		said[i] = object{"allOf": []any{reference("channels-" + k)}, "required": []string{"kind"}}
	}
	named := object{}
	for _, k := range kinds {
		named[k] = object{"anyOf": append([]any{reference("channels-" + k)}, said...)}
	}
	return object{
		"type": "object", "properties": named, "additionalProperties": object{"anyOf": said},
		"propertyNames": object{"not": object{"pattern": "^([aA][pP][iI]|[cC][lL][iI]|[cC][rR][oO][nN]|[nN][oO][nN][eE]|[oO][wW][nN][eE][rR])$"}},
	}
}

func partSchema(p config.Part) object {
	s := tableSchema(p.Keys)
	if p.Several {
		s = object{"type": "array", "items": s}
	}
	s["description"] = plainText(p.Doc)
	if p.Kind != "" {
		if kind, ok := s["properties"].(object)["kind"].(object); ok {
			delete(kind, "enum")
			kind["const"] = p.Kind
		}
	}
	return s
}

func tableSchema(keys []schema.Key) object {
	properties := object{}
	for _, k := range keys {
		properties[short(k.Name)] = keySchema(k)
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

func keySchema(k schema.Key) object {
	s := shape(k)
	s["description"] = plainText(k.Doc)
	if k.Unset != "" {
		s["description"] = plainText(k.Doc + " Left out: " + k.Unset + ".")
	}
	if k.Default != nil {
		s["default"] = k.Default
	}
	if tree, err := plainTree([]byte("x = " + k.Example + "\n")); err == nil {
		s["examples"] = []any{tree["x"]}
	}
	return s
}

// shape is the type of a key with its limits.
func shape(k schema.Key) object {
	switch k.Type {
	case schema.Switch:
		return object{"type": "boolean"}
	case schema.Whole:
		return limited(k, object{"type": "integer"})
	case schema.Number:
		return limited(k, object{"type": "number"})
	case schema.Duration:
		return object{"type": "string", "pattern": goDuration}
	case schema.List:
		return object{"type": "array", "items": texts(k)}
	case schema.Table:
		return tableSchema(k.Keys)
	case schema.Tables:
		return object{"type": "object"}
	case schema.Text:
		return texts(k)
	}
	return object{}
}

func texts(k schema.Key) object {
	s := object{"type": "string"}
	if len(k.Words) > 0 {
		s["enum"] = k.Words
	}
	if k.Pattern != "" {
		s["pattern"] = k.Pattern
	}
	return s
}

func limited(k schema.Key, s object) object {
	limits := object{}
	if k.Least != "" {
		limits["minimum"] = json.Number(k.Least)
	}
	if k.Most != "" {
		limits["maximum"] = json.Number(k.Most)
	}
	if k.Also != "" {
		other, _, _ := strings.Cut(k.Also, " ")
		s["anyOf"] = []any{limits, object{"const": json.Number(other)}}
		return s
	}
	for name, v := range limits {
		s[name] = v
	}
	return s
}

// plainText drops the marks of Markdown.
func plainText(s string) string { return strings.ReplaceAll(s, "`", "") }
