package tools

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
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

// derive encodes the schemas of a tool from its types.
func (t *made[In, Out]) derive() schemaText {
	params := t.parameters()
	return schemaText{
		string(mustEncode(t.spec.Name, params)), string(mustEncode(t.spec.Name, brief(params))),
		string(mustEncode(t.spec.Name, mustSchema(t.spec.Name, reflect.TypeFor[Out]()))),
	}
}

// line returns the line of the tool in generatedSchemas.
func (t *made[In, Out]) line() string {
	d := t.derive()
	return fmt.Sprintf("%s\t%s\t%s\t%s\n", schemaKey(t.spec.Name, reflect.TypeFor[In](), reflect.TypeFor[Out]()), d.params, d.brief, d.output)
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

// setSchemas gives the tool its schemas: the generated text if there is one, else text derived now.
func (t *made[In, Out]) setSchemas() {
	text, ok := schemaTexts()[schemaKey(t.spec.Name, reflect.TypeFor[In](), reflect.TypeFor[Out]())]
	if !ok {
		text = t.derive()
	}
	t.spec.line = t.line
	t.spec.Parameters, t.spec.brief, t.spec.Output = json.RawMessage(text.params), json.RawMessage(text.brief), json.RawMessage(text.output)
}
