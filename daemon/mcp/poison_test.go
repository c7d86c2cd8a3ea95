package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
)

// poisons are schemas with a field x. A comparison with them as they are would not end, or take all memory.
func poisons() map[string]string {
	const x = `"properties":{"x":{"type":"string"}}`
	return map[string]string{
		"itself":      `{"type":"object","$ref":"#",` + x + `}`,
		"in capitals": `{"type":"object","$REF":"#",` + x + `}`,
		"escaped":     `{"type":"object","$ref":"#/%24defs/a","%24defs":{"a":{}},"$defs":{"a":{"$ref":"#/%24defs/a"}},` + x + `}`,
		"an older keyword": `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","dependencies":{"properties":{"$ref":"#"}},` +
			`"properties":{"x":{"type":"string"},"properties":{"type":"string"}}}`,
		"dynamic":      `{"type":"object","$dynamicAnchor":"m","$dynamicRef":"#m",` + x + `}`,
		"a named part": `{"type":"object","$ref":"http://x/y","$defs":{"a":{"$id":"http://x/y","$ref":"http://x/y"}},` + x + `}`,
		"doubling":     laughs(40),
		"doubling with the value": `{"type":"object","properties":{"x":{"$ref":"#/$defs/b"}},` +
			`"$defs":{"b":{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}}}`,
		"in a field": `{"type":"object","properties":{"x":{"type":"string","$ref":"#/properties/x","allOf":[{"$ref":"#"}],"items":{"$ref":"#"}}}}`,
	}
}

// Structured content that was made for a schema that never ends is compared with nothing, and the call ends.
func TestPoisonedOutput(t *testing.T) {
	t.Parallel()
	deep := any("x")
	for range 60 {
		deep = map[string]any{"x": deep, "properties": "x"}
	}
	for name, schema := range poisons() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if fits, err := mcp.Compare(json.RawMessage(schema), deep); err == nil && name != "in a field" {
				t.Errorf("compared: %v", fits)
			}
			s := mcptest.New(t, mcptest.Script{
				Tools:   []json.RawMessage{mcptest.Raw(map[string]any{"name": "do", "inputSchema": json.RawMessage(anyObject), "outputSchema": json.RawMessage(schema)})},
				Results: map[string]json.RawMessage{"do": mcptest.Raw(map[string]any{"content": []any{text("done")}, "structuredContent": deep})},
			})
			h := start(t, map[string]config.MCPServer{"notes": {URL: s.URL, Timeout: time.Minute}})
			h.accept("notes")
			if r := h.call(t.Context(), h.tool("notes__do"), `{}`); !strings.HasPrefix(r.Content, "done") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A schema with references that end is compared as it was meant.
func TestCompare(t *testing.T) {
	t.Parallel()
	refs := `{"type":"object","required":["n"],"properties":{"n":{"$ref":"#/$defs/count"},"m":{"$ref":"#/properties/n"},"l":{"items":{"$ref":"#/definitions/w"}}},` +
		`"$defs":{"count":{"type":"integer","minimum":1}},"definitions":{"w":{"enum":["a","b"]}},"unevaluatedProperties":false}`
	older := strings.Replace(refs, `"unevaluatedProperties":false`, `"$schema":"http://json-schema.org/draft-07/schema#"`, 1)
	for _, c := range []struct {
		schema, value string
		fits          bool
	}{
		{refs, `{"n":1,"m":2,"l":["a","b"]}`, true},
		{refs, `{"n":0}`, false},
		{refs, `{"n":1,"m":"2"}`, false},
		{refs, `{"n":1,"l":["c"]}`, false},
		{refs, `{"n":1,"o":1}`, false},
		{older, `{"n":1,"o":1}`, true},
		{older, `{"n":0}`, false},
		{`{"type":"object","properties":{"a":{"pattern":"^x+$"}},"patternProperties":{"^n":{"type":"number"}},"additionalProperties":{"type":"boolean"}}`, `{"a":"xx","n1":1,"b":true}`, true},
		{`{"type":"object","patternProperties":{"^n":{"type":"number"}}}`, `{"n1":"1"}`, false},
		{`{"type":"object","if":{"required":["a"]},"then":{"required":["b"]},"else":{"not":{"required":["b"]}}}`, `{"b":1}`, false},
		{`{"type":"object","dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1}`, false},
	} {
		var value any
		if err := json.Unmarshal([]byte(c.value), &value); err != nil {
			t.Fatal(err)
		}
		if fits, err := mcp.Compare(json.RawMessage(c.schema), value); err != nil || fits != c.fits {
			t.Errorf("%s with %s: %v, %v", c.schema, c.value, fits, err)
		}
	}
	for _, schema := range []string{
		`{"type":"object","$schema":"https://example.org/own"}`, `{"type":"object","$ref":"#/allOf/0","allOf":[{}]}`, `{"type":"object","$ref":"other.json"}`,
		`{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat("x{1000}", 100) + `"}}}`, `[]`, `{`,
	} {
		if _, err := mcp.Compare(json.RawMessage(schema), map[string]any{}); err == nil {
			t.Errorf("%.80s is compared", schema)
		}
	}
}

// Many small regular expressions that compile to much are not compiled.
func TestPoisonedPatterns(t *testing.T) {
	t.Parallel()
	list := make([]any, 19)
	for i := range list {
		list[i] = map[string]any{"pattern": strings.Repeat("(x{30}){33}", 290)}
	}
	script := one()
	script.Tools = append(script.Tools, mcptest.Raw(map[string]any{"name": "big", "inputSchema": map[string]any{"type": "object", "anyOf": list}}))
	s := mcptest.New(t, script)
	h := start(t, map[string]config.MCPServer{"notes": {URL: s.URL, Timeout: time.Minute}})
	h.accept("notes")
	view, err := h.Show(t.Context(), "notes")
	if err != nil || len(view.LeftOut) != 1 || !strings.Contains(view.LeftOut[0], "patterns") {
		t.Errorf("%+v, %v", view, err)
	}
}

// A form is read as flat fields, whatever else its schema says.
func TestPoisonedForms(t *testing.T) {
	t.Parallel()
	for name, schema := range poisons() {
		if got, err := mcp.ReadForm(json.RawMessage(schema), "blue"); err == nil && got["x"] != "blue" {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, schema := range map[string]string{
		"an object":   `{"properties":{"x":{"type":"object","properties":{}}}}`,
		"no type":     `{"properties":{"x":{}}}`,
		"a list":      `{"properties":{"x":{"type":"array"}}}`,
		"lists":       `{"properties":{"x":{"type":"array","items":{"type":"array"}}}}`,
		"choices":     `{"properties":{"x":{"type":"string","enum":[{"a":1}]}}}`,
		"no such one": `{"properties":{"x":{"type":"string"}},"required":["y"]}`,
		"large":       `{"properties":{"x":{"type":"string","description":"` + strings.Repeat("x", 65<<10) + `"}}}`,
	} {
		if _, err := mcp.ReadForm(json.RawMessage(schema), "blue"); err == nil {
			t.Errorf("%s is read", name)
		}
	}
	// What is left out is as the form says, unless that does not fit.
	got, err := mcp.ReadForm(json.RawMessage(`{"properties":{"a":{"type":"integer","default":3},"b":{"type":"string","default":7},"c":{"type":"string"}}}`), "c: x")
	if err != nil || len(got) != 2 || got["a"] != 3.0 || got["c"] != "x" {
		t.Errorf("%v, %v", got, err)
	}
}

// sayer is an owner who gives the same answer to each question.
type sayer struct {
	quietAsker
	answer string
	asked  atomic.Int64
}

func (s *sayer) AskForServer(context.Context, api.MCPQuestion) (int64, error) {
	return s.asked.Add(1), nil
}

func (s *sayer) ServerAnswer(context.Context, int64) (string, bool, bool, error) {
	return s.answer, true, false, nil
}

// A question with a schema that never ends is asked and answered, in both ways in which a server can ask.
func TestPoisonedQuestions(t *testing.T) {
	t.Parallel()
	for name, schema := range poisons() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "itself" && name != "in a field" && testing.Short() {
				t.Skip("the others are in TestPoisonedForms")
			}
			ask := map[string]any{"method": "elicitation/create", "params": map[string]any{"message": "Which one?", "requestedSchema": json.RawMessage(schema)}}
			request := map[string]any{"jsonrpc": "2.0", "id": "s1", "method": ask["method"], "params": ask["params"]}
			script := one(func(s *mcptest.Script) {
				s.Tools = append(s.Tools, mcptest.Tool("more", "Asks."))
				s.Before = []json.RawMessage{mcptest.Raw(request)}
				s.Results = map[string]json.RawMessage{"more": mcptest.Raw(map[string]any{"resultType": "input_required", "inputRequests": map[string]any{"it": ask}, "requestState": "1"})}
			})
			s := mcptest.New(t, script)
			for way, section := range transports(s) {
				owner := &sayer{answer: "blue"}
				h := start(t, map[string]config.MCPServer{"notes": section}, func(d *mcp.Deps) {
					d.Questions = mcp.Questions{Rows: owner, Answered: func() <-chan struct{} { return nil }, Owner: func() []event.Address { return nil }}
				})
				h.accept("notes")
				h.call(t.Context(), h.tool("notes__do"), `{}`)
				if r := h.call(t.Context(), h.tool("notes__more"), `{}`); !r.IsError {
					t.Errorf("%s: it never has a result: %+v", way, r)
				}
				if n := owner.asked.Load(); name == "in a field" && n < 5 || n > 2*5*5 {
					t.Errorf("%s: the owner was asked %d times", way, n)
				}
				h.end()
			}
		})
	}
}
