package tools

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// generatedSchemas holds the schemas of hob's own tools as text, because deriving them at each start
// takes longer than the rest of the start. GenerateSchemas writes it. The fields of a line are
// separated by tabs: name, type of the input, type of the output, parameters, parameters as sent to
// a model, output.
//
//go:embed schemas.txt
var generatedSchemas string

// schemaText is the schemas of one tool as JSON.
type schemaText struct{ params, brief, output string }

// schemaTexts are the generated schemas by schemaKey.
var schemaTexts = sync.OnceValue(func() map[string]schemaText {
	texts := map[string]schemaText{}
	for line := range strings.Lines(generatedSchemas) {
		if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 6 {
			texts[strings.Join(f[:3], "\t")] = schemaText{f[3], f[4], f[5]}
		}
	}
	return texts
})

// schemaKey identifies generated schemas. It contains the types, so that another tool with the same
// name does not get them.
func schemaKey(tool string, in, out reflect.Type) string {
	return tool + "\t" + in.String() + "\t" + out.String()
}

// toolTypes are the types that the schemas of a tool come from. The code for it is not generic: each tool would have a copy.
type toolTypes struct {
	tool    string
	in, out reflect.Type
}

// params derives the schema of the input.
func (t toolTypes) params() *jsonschema.Schema { return mustSchema(t.tool, t.in) }

// derive encodes the schemas of a tool from its types.
func (t toolTypes) derive() schemaText {
	params := t.params()
	return schemaText{
		string(mustEncode(t.tool, params)), string(mustEncode(t.tool, brief(params))),
		string(mustEncode(t.tool, mustSchema(t.tool, t.out))),
	}
}

// line returns the line of the tool in generatedSchemas.
func (t toolTypes) line() string {
	d := t.derive()
	return fmt.Sprintf("%s\t%s\t%s\t%s\n", schemaKey(t.tool, t.in, t.out), d.params, d.brief, d.output)
}

// GenerateSchemas returns the content of schemas.txt for a list of tools, derived from their types.
// "go generate ./tools/all" writes the file, and a test compares it.
func GenerateSchemas(list []Spec) []byte {
	var b bytes.Buffer
	for _, s := range list {
		if s.line != nil {
			b.WriteString(s.line())
		}
	}
	return b.Bytes()
}

// addTo gives a spec its schemas: the generated text if there is one, else text derived now.
func (t toolTypes) addTo(spec *Spec) {
	text, ok := schemaTexts()[schemaKey(t.tool, t.in, t.out)]
	if !ok {
		text = t.derive()
	}
	spec.line = t.line
	spec.Parameters, spec.brief, spec.Output = json.RawMessage(text.params), json.RawMessage(text.brief), json.RawMessage(text.output)
}
