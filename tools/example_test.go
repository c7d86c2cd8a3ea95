package tools_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"hob/tools"
)

// A wrong call is answered with the right one: what was right in it stays, and what is missing or wrong is shown (33.3).
func TestExample(t *testing.T) {
	foreign := tools.NewCatalog(nil)
	long := strings.Repeat("x", 300)
	for _, c := range []struct {
		name, args, complaint, want string
		tool                        tools.Tool
	}{
		{"nothing given", `{}`, "", `{"path":"<path>"}`, nil},
		{"nothing is required", `[]`, "", `{"a":"<a>","b":1,"c":true}`, fromElsewhere(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"type":"boolean"},"d":{}}}`)},
		{"cut off", `{"path":"a.t`, "", `{"path":"<path>"}`, nil},
		{"a list", `[1]`, "", `{"path":"<path>"}`, nil},
		{"another name", `{"file":"a.txt","limit":2}`, "", `{"path":"<path>","limit":2}`, nil},
		{"a name that is meant", `{"path":"a","limits":2}`, "VALIDATION_ERROR: echo: limits: unknown; did you mean limit?", `{"path":"a","limit":1}`, nil},
		{"one name too many", `{"path":"a<b>.txt","encoding":"utf-8"}`, "", `{"path":"a<b>.txt"}`, nil},
		{"a wrong number", `{"path":"a","limit":"many"}`, "", `{"path":"a","limit":1}`, nil},
		{"a number as a text is right", `{"path":"a","limit":"3","mode":"quick"}`, "", `{"path":"a","limit":3,"mode":"<fast|slow>"}`, nil},
		{"wrong within a list", `{"path":"a","items":[{"name":"x"}]}`, "", `{"path":"a","items":[{"label":"<label>"}]}`, nil},
		{"a text in place of a list", `{"path":"a","tags":"a, b"}`, "", `{"path":"a","tags":["<a|b>"]}`, nil},
		{"a text in place of an object", `{"path":"a","env":"A=1","sub":"x"}`, "", `{"path":"a","env":{},"sub":{"label":"<label>"}}`, nil},
		{"a long text is not repeated", `{"path":"` + long + `","all":"x"}`, "", `{"path":"<path>","all":true}`, nil},
		{"right by the schema", `{"path":"a"}`, "VALIDATION_ERROR: echo: there is no such file", "", nil},
		{"missing by another rule", `{"path":"a"}`, "VALIDATION_ERROR: echo: limit: missing; all: missing", `{"path":"a","limit":1,"all":true}`, nil},
		{"the end of another name", `{"path":"a"}`, "VALIDATION_ERROR: echo: upper_limit: missing", "", nil},
		{"nothing is right, and nothing required", `{"arguments":{"a":"x"}}`, "", `{"a":"<a>"}`, fromElsewhere(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`)},
		{"the tool that leads to others", `{"action":"find"}`, "", `{"action":"<search|describe|call>"}`, foreign},
		{"a schema without an order", `{"a":1}`, "", `{"a":"<a>","b":1}`, fromElsewhere(`{"type":"object","properties":{"c":{"type":["string","null"]},"b":{"type":"number"},"a":{"type":"string"}},"required":["b"],"additionalProperties":false}`)},
	} {
		tool := c.tool
		if tool == nil {
			tool = echo(nil)
		}
		if got := tools.Example(tool, json.RawMessage(c.args), c.complaint); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	deep := `{"type":"string"}`
	for range 200 {
		deep = `{"type":"object","properties":{"a long name of a parameter":` + deep + `},"required":["a long name of a parameter"]}`
	}
	if got := tools.Example(fromElsewhere(deep), json.RawMessage(`{}`), ""); got != "" {
		t.Errorf("%d bytes of example", len(got))
	}
}

// fromElsewhere is a tool whose schema is of a server.
func fromElsewhere(schema string) tools.Tool {
	return foreignTool{json.RawMessage(schema)}
}

// An example is right, once a choice is made where it shows several.
func FuzzExample(f *testing.F) {
	f.Add(`{"limit":0,"mode":7,"items":[{},{},{}],"tags":["c"],"sub":{}}`)
	f.Add(`{"path":1,"ratio":"x","env":{"a":1},"all":null}`)
	choice := regexp.MustCompile(`"<(\w+)\|[^"]*>"`)
	f.Fuzz(func(t *testing.T, args string) {
		example := tools.Example(echo(nil), json.RawMessage(args), " limit: missing")
		if example == "" {
			return
		}
		if res, ok := tools.Validate(echo(nil), json.RawMessage(choice.ReplaceAllString(example, `"$1"`))); !ok {
			t.Errorf("%s: %s: %s", args, example, res.Content)
		}
	})
}
