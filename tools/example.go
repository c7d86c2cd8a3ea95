package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Limits of an example, in bytes of JSON: of an argument that it repeats, and of all.
const (
	mostKept    = 200
	mostExample = 1000
)

// mostShown is how many parameters an example shows if nothing that was given is right, and none is required.
const mostShown = 3

// Example returns arguments of a tool as a model should have sent them, by the tool's schema: what is right in those that it sent, and a placeholder
// for each parameter that is required, that is wrong, or that the complaint about the call names as missing ("schedule: missing") or meant. It returns "" if
// nothing is wrong by the schema and nothing is missing, or if the example would be long.
func Example(t Tool, args json.RawMessage, complaint string) string {
	s, err := schemaOf(t)
	if err != nil {
		return ""
	}
	given, faults := inspect(s, args)
	need := slices.Clone(s.Required)
	for name := range s.Properties {
		if strings.Contains(complaint, " "+name+": missing") || strings.Contains(complaint, "did you mean "+name+"?") {
			need = append(need, name)
		}
	}
	if len(faults) == 0 && len(need) == len(s.Required) {
		return ""
	}
	for _, f := range faults {
		name, _, _ := strings.Cut(f.at, ".")
		name, _, _ = strings.Cut(name, "[")
		delete(given, name)
		need = append(need, name)
	}
	if len(given) == 0 && len(s.Required) == 0 { // the first ones matter most
		need = append(need, propertyNames(s)[:min(len(s.Properties), mostShown)]...)
	}
	if example := sampleObject(s, given, need, 0); len(example) <= mostExample {
		return string(example)
	}
	return ""
}

// sampleObject returns an object of a schema: what was given and is short, and samples of the rest that is needed.
func sampleObject(s *jsonschema.Schema, given map[string]any, need []string, depth int) json.RawMessage {
	var members []string
	for _, name := range propertyNames(s) {
		value := quoted(given[name])
		switch _, ok := given[name]; {
		case ok && len(value) <= mostKept:
		case ok || slices.Contains(need, name):
			value = sample(s.Properties[name], name, depth+1)
		default:
			continue
		}
		members = append(members, string(quoted(name))+":"+string(value))
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// sample returns a value that a schema allows, as far as that is simple.
func sample(s *jsonschema.Schema, name string, depth int) json.RawMessage {
	if s == nil {
		s = &jsonschema.Schema{}
	}
	switch kind := typeOf(s); {
	case len(s.Enum) > 0:
		words := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			words[i] = fmt.Sprint(v)
		}
		return quoted("<" + strings.Join(words, "|") + ">")
	case depth > maxDepth:
		return json.RawMessage("null")
	case kind == "integer" || kind == "number":
		if s.Minimum != nil {
			return quoted(*s.Minimum)
		}
		return json.RawMessage("1")
	case kind == "boolean":
		return json.RawMessage("true")
	case kind == "object":
		return sampleObject(s, nil, s.Required, depth)
	case kind == "array" && s.Items != nil:
		return json.RawMessage("[" + string(sample(s.Items, name, depth+1)) + "]")
	case kind == "array":
		return json.RawMessage("[]")
	default:
		return quoted(fmt.Sprintf("<%s>", name))
	}
}

// quoted returns the JSON of a value, with < and > as they are.
func quoted(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSpace(b.Bytes())
}
