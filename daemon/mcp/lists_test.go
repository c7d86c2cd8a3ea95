package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hob/config"
	"hob/daemon/mcp/mcptest"
)

// listed is a tool with a schema of its parameters.
func listed(name, description, input string) json.RawMessage {
	return mcptest.Raw(map[string]any{"name": name, "description": description, "inputSchema": json.RawMessage(input)})
}

const anyObject = `{"type":"object"}`

// A tool that could deceive the owner or hob is left out with the reason, and its neighbours stay.
func TestTools(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 300) + anyObject + strings.Repeat("}}", 300)
	for name, c := range map[string]struct {
		tools []json.RawMessage
		why   string // the tool is left out; "": it can be used
	}{
		"sound":                        {[]json.RawMessage{listed("a.b-c_D9", "x", anyObject)}, ""},
		"control character":            {[]json.RawMessage{listed("a\u0007b", "x", anyObject)}, "its name"},
		"end of a line":                {[]json.RawMessage{listed("a\nb", "x", anyObject)}, "its name"},
		"lookalike":                    {[]json.RawMessage{listed("r\u0435ad", "x", anyObject)}, ""},
		"blank":                        {[]json.RawMessage{listed("a b", "x", anyObject)}, ""},
		"no name":                      {[]json.RawMessage{listed("", "x", anyObject)}, "its name"},
		"long name":                    {[]json.RawMessage{listed(strings.Repeat("a", 129), "x", anyObject)}, ""},
		"two of one name":              {[]json.RawMessage{listed("a", "x", anyObject), listed("a", "y", anyObject)}, "several tools have this name"},
		"two but for the case":         {[]json.RawMessage{listed("a", "x", anyObject), listed("A", "y", anyObject)}, "several tools have this name"},
		"invisible text":               {[]json.RawMessage{listed("a", "x\u200b", anyObject)}, "invisible"},
		"text backwards":               {[]json.RawMessage{listed("a", "x\u202ey", anyObject)}, "invisible"},
		"tags":                         {[]json.RawMessage{listed("a", "x\U000e0041", anyObject)}, "invisible"},
		"terminal":                     {[]json.RawMessage{listed("a", "x\u001b[2J", anyObject)}, "invisible"},
		"invisible text in the schema": {[]json.RawMessage{listed("a", "x", `{"type":"object","description":"x`+"\u202e"+`"}`)}, "invisible"},
		"escaped in the schema":        {[]json.RawMessage{listed("a", "x", `{"type":"object","description":"x\u202e"}`)}, "invisible"},
		"long description":             {[]json.RawMessage{listed("a", strings.Repeat("x", 17<<10), anyObject)}, "description"},
		"no object":                    {[]json.RawMessage{listed("a", "x", `{"type":"string"}`)}, "not an object"},
		"boolean":                      {[]json.RawMessage{listed("a", "x", `true`)}, ""},
		"no schema":                    {[]json.RawMessage{listed("a", "x", `"x"`)}, "no JSON Schema"},
		"large":                        {[]json.RawMessage{listed("a", "x", `{"type":"object","description":"`+strings.Repeat("x", 65<<10)+`"}`)}, "more than 64 KB"},
		"deep":                         {[]json.RawMessage{listed("a", "x", deep)}, "deep"},
		"loop":                         {[]json.RawMessage{listed("a", "x", `{"type":"object","$ref":"#"}`)}, ""},
		"loop of two":                  {[]json.RawMessage{listed("a", "x", `{"type":"object","allOf":[{"$ref":"#/$defs/b"}],"$defs":{"b":{"anyOf":[{"$ref":"#/$defs/c"}]},"c":{"not":{"$ref":"#/$defs/b"}}}}`)}, ""},
		"dynamic loop":                 {[]json.RawMessage{listed("a", "x", `{"type":"object","$dynamicAnchor":"m","allOf":[{"$dynamicRef":"#m"}]}`)}, ""},
		"a tree":                       {[]json.RawMessage{listed("a", "x", `{"type":"object","properties":{"a":{"$ref":"#"}}}`)}, ""},
		"twice in one place":           {[]json.RawMessage{listed("a", "x", `{"type":"object","properties":{"a":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`)}, ""},
		"laughs":                       {[]json.RawMessage{listed("a", "x", laughs(14))}, ""},
		"a loop in disguise":           {[]json.RawMessage{listed("a", "x", `{"type":"object","dependentSchemas":{"items":{"$ref":"#"}}}`)}, ""},
		"a name within":                {[]json.RawMessage{listed("a", "x", `{"type":"object","properties":{"a":{"$id":"http://x/","$ref":"#"}}}`)}, ""},
		"an anchor":                    {[]json.RawMessage{listed("a", "x", `{"type":"object","$anchor":"m","allOf":[{"$ref":"#m"}]}`)}, ""},
		"a file":                       {[]json.RawMessage{listed("a", "x", `{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`)}, ""},
		"nothing to refer to":          {[]json.RawMessage{listed("a", "x", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`)}, ""},
		"pattern":                      {[]json.RawMessage{listed("a", "x", `{"type":"object","properties":{"a":{"pattern":"((((((((a{1,1000}){1,1000}){1,1000})))))"}}}`)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := one()
			script.Tools = append(script.Tools, c.tools...)
			s := mcptest.New(t, script)
			h := start(t, map[string]config.MCPServer{"notes": {URL: s.URL, Timeout: time.Minute}})
			h.accept("notes")
			view, err := h.Show(t.Context(), "notes")
			if err != nil {
				t.Fatal(err)
			}
			if c.why == "" {
				if len(view.Tools) != 2 || len(view.LeftOut) > 0 {
					t.Fatalf("%+v", view)
				}
				for _, one := range h.Tools() { // arguments are checked without a loop
					if one.Spec().Name != "notes__do" {
						h.call(t.Context(), one, `{"a":{"a":{}}}`)
					}
				}
				return
			}
			if len(view.Tools) != 1 || view.Tools[0].Name != "notes__do" || len(view.LeftOut) != 1 && name != "two but for the case" || !strings.Contains(view.LeftOut[0], c.why) {
				t.Fatalf("%+v", view)
			}
			if strings.ContainsAny(view.LeftOut[0], "\n\u0007\u202e") {
				t.Errorf("the reason can deceive: %q", view.LeftOut[0])
			}
		})
	}
}

// laughs is a small schema that a validator would look at 2^n times.
func laughs(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","allOf":[{"$ref":"#/$defs/0"}],"$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"%d":{"allOf":[{"$ref":"#/$defs/%d"},{"$ref":"#/$defs/%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"%d":{}}}`, n)
	return b.String()
}

// A list without end, or a huge one, is refused after a bounded part of it.
func TestHugeLists(t *testing.T) {
	t.Parallel()
	part := 1
	if testing.Short() {
		part = 8 // of the size
	}
	for name, c := range map[string]struct {
		script mcptest.Script
		why    string
		pages  int
	}{
		"the cursor loops":      {mcptest.Script{Tools: one().Tools, Endless: true}, "more than 50 pages", 50},
		"100,000 tools":         {mcptest.Script{Generated: 100_000 / part, PageSize: 10_000 / part}, "more than 500 tools", 1},
		"100,000 tools at once": {mcptest.Script{Generated: 100_000 / part}, "", 1},
		"10 MB":                 {mcptest.Script{Generated: 1000 / part, Filler: 10 << 10}, "", 1},
		"6 MB":                  {mcptest.Script{Generated: 450, Filler: 15_000}, "more than 2 MB", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name == "6 MB" {
				t.Skip("a message of a short run is smaller")
			}
			s := mcptest.New(t, c.script)
			for way, section := range transports(s) {
				h := start(t, map[string]config.MCPServer{"notes": section})
				before := len(s.Got("tools/list"))
				_, err := h.Test(t.Context(), "notes")
				if err == nil || !strings.Contains(err.Error(), c.why) || len(err.Error()) > 2000 {
					t.Errorf("%s: %v", way, err)
				}
				if n := len(s.Got("tools/list")) - before; n > c.pages {
					t.Errorf("%s: asked for %d pages", way, n)
				}
				h.end()
			}
		})
	}
}

// A schema never makes hob fetch anything.
func TestRemoteSchema(t *testing.T) {
	t.Parallel()
	var fetched atomic.Int32
	canary := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	defer canary.Close()
	far := `{"type":"object","$schema":"` + canary.URL + `","properties":{"a":{"$ref":"` + canary.URL + `/schema.json"}}}`
	script := one()
	script.Tools = append(script.Tools, mcptest.Raw(map[string]any{"name": "far", "inputSchema": json.RawMessage(far), "outputSchema": json.RawMessage(far)}),
		mcptest.Raw(map[string]any{"name": "out", "inputSchema": json.RawMessage(anyObject), "outputSchema": json.RawMessage(far)}))
	script.Results = map[string]json.RawMessage{"out": mcptest.Raw(map[string]any{"content": []any{}, "structuredContent": map[string]any{"a": 1}})}
	s := mcptest.New(t, script)
	h := start(t, map[string]config.MCPServer{"notes": {URL: s.URL, Timeout: time.Minute}})
	h.accept("notes")
	wantText(t, h.call(t.Context(), h.tool("notes__out"), `{}`), `{"a":1}`)
	if n := fetched.Load(); n > 0 {
		t.Errorf("%d requests for a schema", n)
	}
}

// A null in the list of tools costs no tool (cognizant-ai-lab/neuro-san#1341).
func TestNullBesideATool(t *testing.T) {
	t.Parallel()
	script := one()
	script.Tools = append([]json.RawMessage{json.RawMessage("null")}, script.Tools...)
	h := start(t, map[string]config.MCPServer{"notes": {URL: mcptest.New(t, script).URL, Timeout: time.Minute}})
	h.accept("notes")
	if view, err := h.Show(t.Context(), "notes"); err != nil || len(view.Tools) != 1 || len(view.LeftOut) != 0 {
		t.Errorf("%+v, %v", view, err)
	}
}
