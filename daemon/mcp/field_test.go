package mcp_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/config"
	"hob/daemon/event"
	"hob/daemon/mcp"
	"hob/daemon/mcp/mcptest"
	"hob/tools"
	host "hob/tools/mcp"
)

// email is the pattern that zod 4 writes for an address of mail.
const email = `^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$`

// Kind 9.1 and 9.2: a tool is there whatever of its schema hob cannot read. The rest is still checked.
func TestSchemasFromTheField(t *testing.T) {
	t.Parallel()
	const strict = `"properties":{"a":{"type":"string"}},"required":["a"]`
	for name, c := range map[string]struct{ schema, good, bad string }{
		"look-ahead (zod 4)":                {`{"type":"object","properties":{"m":{"type":"string","format":"email","pattern":"` + email + `"},"n":{"type":"integer"}}}`, `{"m":"a@b.de","n":1}`, `{"n":"x"}`},
		"look-behind":                       {`{"type":"object","properties":{"m":{"type":"string","pattern":"(?<!a)b\\1"}},"required":["m"]}`, `{"m":"b"}`, `{}`},
		"a class of Unicode (pydantic)":     {`{"type":"object","properties":{"m":{"type":"string","pattern":"^[\\u4e00-\\u9fff]+$"}},"required":["m"]}`, `{"m":"x"}`, `{"m":1}`},
		"a pattern for names":               {`{"type":"object","patternProperties":{"^(?!x)":{"type":"string"}},` + strict + `}`, `{"a":"x","b":"y"}`, `{"b":"y"}`},
		"no type":                           {`{"properties":{"a":{}},"required":["a"]}`, `{"a":1}`, `{}`},
		"only $schema (server-filesystem)":  {`{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{"path":"x"}`, ``},
		"nothing":                           {`{}`, `{"a":1}`, ``},
		"null":                              {`null`, `{"a":1}`, ``},
		"true":                              {`true`, `{"a":1}`, ``},
		"false":                             {`false`, `{}`, ``},
		"two types":                         {`{"type":["object","null"],` + strict + `}`, `{"a":"x"}`, `{"a":[]}`},
		"draft-04":                          {`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"number","minimum":0,"exclusiveMinimum":true}}}`, `{"n":1}`, `{"n":-1}`},
		"draft-04 without a bound":          {`{"type":"object","properties":{"n":{"type":"number","exclusiveMaximum":false}},"required":["n"]}`, `{"n":1}`, `{}`},
		"required of draft-03":              {`{"type":"object","properties":{"b":{"type":"string","required":true},"a":{"type":"string","required":false}}}`, `{"b":"x"}`, `{"a":"x"}`},
		"boolean schemas":                   {`{"type":"object","properties":{"a":true,"b":false},"required":["a"]}`, `{"a":[1]}`, `{}`},
		"nullable (OpenAPI 3.0)":            {`{"type":"object","properties":{"a":{"type":"string","nullable":true}},"required":["a"]}`, `{"a":null}`, `{}`},
		"null as a type (OpenAI strict)":    {`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"],"additionalProperties":false}`, `{"a":null}`, `{"a":1}`},
		"null as an alternative (pydantic)": {`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"]}`, `{"a":null}`, `{}`},
		"null where none is allowed":        {`{"type":"object",` + strict + `}`, `{"a":"x"}`, `{"a":null}`},
		"items as a list":                   {`{"type":"object","properties":{"p":{"type":"array","items":[{"type":"number"},{"type":"string"}],"maxItems":2}}}`, `{"p":[1,"x"]}`, `{"p":[1,2,3]}`},
		"alternatives (anthropics/claude-code#88049)":   {`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","required":["b"]}]}`, `{"a":"x"}`, ``},
		"a reference (cognizant-ai-lab/neuro-san#1341)": {`{"$ref":"#/components/schemas/R","components":{"schemas":{"R":{"type":"object","required":["a"]}}}}`, `{"a":1}`, ``},
		"no properties":                        {`{"type":"object","required":["a"]}`, `{"a":1}`, `{}`},
		"properties null":                      {`{"type":"object","properties":null,"required":null}`, `{"a":1}`, ``},
		"properties of PHP (symfony/ai)":       {`{"type":"object","properties":[],"required":[]}`, `{}`, ``},
		"required as a text":                   {`{"type":"object","properties":{"a":{"type":"string"}},"required":"a"}`, `{"a":"x"}`, `{"a":1}`},
		"bounds as texts":                      {`{"type":"object","properties":{"a":{"type":"string","minLength":"2","maximum":"9"}},"required":["a"]}`, `{"a":"x"}`, `{}`},
		"enum as an object":                    {`{"type":"object","properties":{"a":{"type":"string","enum":{"x":1},"examples":"x","description":["x"]}},"required":["a"]}`, `{"a":"y"}`, `{}`},
		"a type that is none":                  {`{"type":"object","properties":{"a":{"type":5},"b":{"type":"file"}},"required":["b"]}`, `{"a":1,"b":"x"}`, `{}`},
		"a cycle (pydantic)":                   {`{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}},"required":["n"],"$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}}}`, `{"n":{"next":{"next":{}}}}`, `{}`},
		"a cycle of definitions":               {`{"type":"object","properties":{"n":{"$ref":"#/definitions/A"}},"required":["n"],"definitions":{"A":{"$ref":"#/definitions/B"},"B":{"$ref":"#/definitions/A"}}}`, `{"n":1}`, `{}`},
		"itself":                               {`{"type":"object","$ref":"#",` + strict + `}`, `{"a":"x"}`, `{}`},
		"elsewhere":                            {`{"type":"object","properties":{"n":{"$ref":"https://example.com/x.json"},"a":{"type":"string"}},"required":["a"]}`, `{"a":"x","n":1}`, `{}`},
		"a step that is escaped (openapi-mcp)": {`{"type":"object","properties":{"n":{"$ref":"#/properties/unit%20price~1kg"},"unit price/kg":{"type":"number"}},"required":["n"]}`, `{"n":1}`, `{}`},

		"keywords of others (OpenAPI, x-, Gemini)": {`{"type":"object","properties":{"a":{"type":"string","x-order":1,"discriminator":{"a":1},"propertyOrdering":["a"],"$vocabulary":5}},"required":["a"]}`, `{"a":"x"}`, `{"a":{}}`},
	} {
		p, _ := pin(t, config.MCPServer{Command: "x"}, &sdk.Tool{Name: "do", InputSchema: json.RawMessage(c.schema)})
		if len(p.Tools) != 1 || !strings.Contains(string(p.Tools[0].Input), `"type":"object"`) {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		tool := host.New(host.Def{Server: "one", Name: "do", Input: p.Tools[0].Input}, nil)
		if r, ok := tools.Validate(tool, json.RawMessage(c.good)); !ok {
			t.Errorf("%s: %s is refused: %s", name, c.good, r.Content)
		}
		if clean, err := tools.Normal(tool, json.RawMessage(c.good)); err == nil && string(clean) != c.good {
			t.Errorf("%s: the server gets %s", name, clean)
		}
		if _, ok := tools.Validate(tool, json.RawMessage(c.bad)); c.bad != "" && ok {
			t.Errorf("%s: %s is taken with %s", name, c.bad, p.Tools[0].Input)
		}
	}
	// Parameters that cannot be an object stay out. A sound schema is accepted as it is, so that no owner is asked again.
	for _, schema := range []string{`{"type":"array"}`, `{"type":["string","null"]}`, `{"type":5}`, `"x"`, `7`} {
		if p, _ := pin(t, config.MCPServer{Command: "x"}, &sdk.Tool{Name: "do", InputSchema: json.RawMessage(schema)}); len(p.Tools) != 0 {
			t.Errorf("%s is used", schema)
		}
	}
	sound := `{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","properties":{"b":{"pattern":"` + email + `"},"a":{"nullable":true,"x-a":1}}}`
	if p, _ := pin(t, config.MCPServer{Command: "x"}, &sdk.Tool{Name: "do", InputSchema: json.RawMessage(sound)}); string(p.Tools[0].Input) != sound {
		t.Errorf("a sound schema is changed: %s", p.Tools[0].Input)
	}
}

// A pattern that hob cannot read is not compared; what is beside it is. Where leaving it out would turn the meaning, nothing is compared.
func TestComparePatternsOfOthers(t *testing.T) {
	t.Parallel()
	const look = `"pattern":"^(?!x)"`
	for _, c := range []struct {
		schema, value string
		fits, none    bool
	}{
		{`{"type":"object","properties":{"a":{"type":"string",` + look + `,"maxLength":2}}}`, `{"a":"xy"}`, true, false},
		{`{"type":"object","properties":{"a":{"type":"string",` + look + `,"maxLength":2}}}`, `{"a":"xyz"}`, false, false},
		{`{"type":"object","patternProperties":{"^(?!x)":{}},"unevaluatedProperties":false}`, `{"a":1}`, false, true},
		{`{"type":"object","properties":{"a":{"not":{` + look + `}}}}`, `{"a":"b"}`, false, true},
		{`{"type":"object","properties":{"a":{"oneOf":[{` + look + `},{"maxLength":9}]}}}`, `{"a":"b"}`, false, true},
		{`{"type":"object","if":{"properties":{"a":{` + look + `}}},"then":{"required":["b"]}}`, `{"a":"x"}`, false, true},
	} {
		var value any
		if err := json.Unmarshal([]byte(c.value), &value); err != nil {
			t.Fatal(err)
		}
		if fits, err := mcp.Compare(json.RawMessage(c.schema), value); (err != nil) != c.none || fits != c.fits {
			t.Errorf("%s with %s: %v, %v", c.schema, c.value, fits, err)
		}
	}
}

// Kind 9.3: of a result everything is shown that hob knows, and the rest is named. The call is no failure, the outcome is known, and the server stays connected.
func TestResultsFromTheField(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	b64 := base64.StdEncoding.EncodeToString([]byte(png))
	for name, c := range map[string]struct {
		result json.RawMessage
		want   []string
		failed bool
		parts  int
	}{
		"json (unpaywall-mcp)":            {raw(`{"content":[{"type":"json","json":{"x":1}}]}`), []string{"“json”", `{"json":{"x":1}}`}, false, 0},
		"known beside unknown (apify)":    {raw(`{"content":[{"type":"text","text":"before"},{"type":"json","data":[1]},{"type":"text","text":"after"}]}`), []string{"before\n", "“json”", `[1]`, "\nafter"}, false, 0},
		"application/json (waldzell-mcp)": {raw(`{"content":[{"type":"application/json","data":{"x":"<y>"}}]}`), []string{"application/json", `"x":"<y>"`}, false, 0},
		"error (mcp-framework)":           {raw(`{"content":[{"type":"error","text":"Invalid number"}]}`), []string{"“error”", "\nInvalid number"}, false, 0},
		"an address of a picture":         {raw(`{"content":[{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}]}`), []string{"image_url", "https://example.com/a.png"}, false, 0},
		"a call":                          {raw(`{"content":[{"type":"tool_use","id":"1","name":"exec","input":{}}]}`), []string{"“tool_use”", "exec"}, false, 0},
		"no type":                         {raw(`{"content":[{"text":"hello"}]}`), []string{"hello"}, false, 0},
		"no type at all":                  {raw(`{"content":[{"a":1}]}`), []string{`{"a":1}`}, false, 0},
		"a text that is an object":        {raw(`{"content":[{"type":"text","text":{"a":1}}]}`), []string{`{"a":1}`}, false, 0},
		"a text that is a number":         {raw(`{"content":[{"type":"text","text":12345678901234567890}]}`), []string{"12345678901234567890"}, false, 0},
		"texts":                           {raw(`{"content":["one","two",null,3]}`), []string{"one\ntwo\n3"}, false, 0},
		"content as a text":               {raw(`{"content":"hello"}`), []string{"hello"}, false, 0},
		"content as an object":            {raw(`{"content":{"type":"text","text":"hello"}}`), []string{"hello"}, false, 0},
		"content null":                    {raw(`{"content":null}`), []string{"done, without output"}, false, 0},
		"toolResult (workers-mcp)":        {raw(`{"toolResult":{"content":[{"type":"text","text":"hello"}]}}`), []string{"hello"}, false, 0},
		"toolResult as data":              {raw(`{"toolResult":{"n":7}}`), []string{`{"n":7}`}, false, 0},
		"another member":                  {raw(`{"output":"hello"}`), []string{`{"output":"hello"}`}, false, 0},
		"the result as a text":            {raw(`"hello"`), []string{"hello"}, false, 0},
		"the result as a list":            {raw(`[{"type":"text","text":"hello"}]`), []string{"hello"}, false, 0},
		"the result as a truth value":     {raw(`true`), []string{"true"}, false, 0},
		"nothing":                         {raw(`{}`), []string{"done, without output"}, false, 0},
		"data alone":                      {raw(`{"structuredContent":{"n":7}}`), []string{`{"n":7}`}, false, 0},
		"data as a list (codex-mcp)":      {raw(`{"content":[],"structuredContent":[{"id":"1"}]}`), []string{`[{"id":"1"}]`}, false, 0},
		"isError as a text":               {raw(`{"content":[{"type":"text","text":"no note"}],"isError":"true"}`), []string{"no note"}, true, 0},
		"isError as its reason":           {raw(`{"content":[],"isError":"no such file"}`), []string{"no such file"}, true, 0},
		"isError as a number":             {raw(`{"content":[{"type":"text","text":"no note"}],"isError":1}`), []string{"no note"}, true, 0},
		"isError that is a no":            {raw(`{"content":[{"type":"text","text":"note"}],"isError":"False"}`), []string{"note"}, false, 0},
		"isError null":                    {raw(`{"content":[{"type":"text","text":"note"}],"isError":null}`), []string{"note"}, false, 0},
		"annotations of another form":     {raw(`{"content":[{"type":"text","text":"note","annotations":"x","_meta":[]}],"_meta":[]}`), []string{"note"}, false, 0},
		"a picture as a data: address":    {raw(`{"content":[{"type":"image","data":"data:image/png;base64,` + b64 + `"}]}`), []string{"image"}, false, 1},
		"a picture in lines":              {raw(`{"content":[{"type":"image","mimeType":"image/png","data":"` + b64[:4] + `\n` + strings.TrimRight(b64[4:], "=") + `"}]}`), []string{"image"}, false, 1},
		"a picture of Anthropic's form":   {raw(`{"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + b64 + `"}}]}`), []string{"image"}, false, 1},
		"a link with a size of text":      {raw(`{"content":[{"type":"resource_link","uri":"note://1","name":"one","size":"12"}]}`), []string{"note://1", "one"}, false, 0},
		"a resource with data":            {raw(`{"content":[{"type":"resource","resource":{"uri":"note://1","text":{"a":1}}}]}`), []string{"note://1", `{"a":1}`}, false, 0},
		"a resource without content":      {raw(`{"content":[{"type":"resource","resource":"note://1"}]}`), []string{"“resource”", "note://1"}, false, 0},
		"questions of another form":       {raw(`{"resultType":"input_required","inputRequests":[1]}`), []string{"“answer”", "inputRequests"}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := one(func(s *mcptest.Script) { s.Results = map[string]json.RawMessage{"do": c.result} })
			sampled(t, func(t *testing.T, s *mcptest.Server, conf config.MCPServer, old mcptest.Script) {
				script := script
				script.Old = old.Old
				s.Play(script)
				h := start(t, map[string]config.MCPServer{"notes": conf}, func(d *mcp.Deps) { d.Picture = picture })
				h.accept("notes")
				starts := len(s.Got("initialize")) + len(s.Got("server/discover"))
				for range 2 {
					r := h.call(t.Context(), h.tool("notes__do"), `{}`)
					if r.IsError != c.failed || r.Code == tools.OutcomeUnknown || r.Foreign == "" || len(r.Parts) != c.parts || c.parts > 0 && r.Parts[0].Kind != event.Image {
						t.Errorf("%+v", r)
					}
					for _, want := range c.want {
						if !strings.Contains(r.Content, want) {
							t.Errorf("want %q in %q", want, r.Content)
						}
					}
				}
				if n := len(s.Got("initialize")) + len(s.Got("server/discover")) - starts; n > 2 || n > 1 && !script.Old {
					t.Errorf("it was connected anew: %d first messages", n)
				}
			})
		})
	}
}

// Other answers than results differ too: what hob needs of them is read.
func TestAnswersFromTheField(t *testing.T) {
	t.Parallel()
	tool := string(mcptest.Tool("do", "Does it."))
	for name, answers := range map[string]map[string]json.RawMessage{
		"capabilities of PHP":        {"initialize": json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":[],"resources":true,"logging":[]},"serverInfo":{"name":"x","version":1.0}}`)},
		"no capabilities":            {"initialize": json.RawMessage(`{"protocolVersion":"2024-11-05","capabilities":[],"serverInfo":[]}`)},
		"a version that is a no":     {"initialize": json.RawMessage(`{"protocolVersion":"2025-03-26","capabilities":{"tools":{"listChanged":"false"}},"serverInfo":{"name":"x","version":null},"instructions":[]}`)},
		"hints of another form":      {"tools/list": json.RawMessage(`{"tools":[{"name":"do","title":5,"icons":"x","_meta":[],"annotations":{"readOnlyHint":"true"},"inputSchema":{"type":"object"}}],"nextCursor":null}`)},
		"a tool beside a broken one": {"tools/list": json.RawMessage(`{"tools":[` + tool + `,{"name":7,"description":["x"],"inputSchema":[]},null,"x"],"nextCursor":""}`)},
		"a description that is none": {"tools/list": json.RawMessage(`{"tools":[{"name":"do","description":{"en":"Does it."},"inputSchema":{"type":"object"}}]}`)},
		"one tool, not in a list":    {"tools/list": json.RawMessage(`{"tools":` + tool + `,"resultType":1}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mcptest.New(t, one(func(s *mcptest.Script) { s.Old, s.Answers = true, answers }))
			for way, section := range transports(s) {
				h := start(t, map[string]config.MCPServer{"notes": section})
				h.accept("notes")
				if r := h.call(t.Context(), h.tool("notes__do"), `{}`); r.Content != "ok do" {
					t.Errorf("%s: %+v", way, r)
				}
				h.end()
			}
		})
	}
	s := mcptest.New(t, one(func(s *mcptest.Script) {
		s.Answers = map[string]json.RawMessage{"resources/read": json.RawMessage(`{"contents":{"uri":"note://one","text":["the note"],"mimeType":1,"blob":"!"}}`)}
	}))
	h := start(t, map[string]config.MCPServer{"notes": {URL: s.URL, Timeout: time.Minute}})
	h.accept("notes")
	wantText(t, must(t)(h.Read(t.Context(), tools.Call{ID: "t1_1"}, "notes", "note://one")), "the note")
}

// Whatever a server answers, what hob makes of it is JSON that the SDK reads, and an answer that it reads as it is stays so.
func FuzzMended(f *testing.F) {
	for _, c := range envelopes() {
		f.Add("tools/call", []byte(c.sent))
	}
	f.Add("initialize", []byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"capabilities":{"tools":[]}}}`))
	f.Add("tools/list", []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":{"name":[]}}}`))
	f.Add("resources/read", []byte(`{"jsonrpc":"2.0","id":1,"result":{"contents":[{"blob":5}]}}`))
	f.Add("tools/call", []byte(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"image","data":"@"},{"type":7},[]],"isError":{}}}`))
	f.Fuzz(func(t *testing.T, method string, raw []byte) {
		out := mcp.Mended(method, raw)
		var was, now struct {
			ID     json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if json.Unmarshal(raw, &was) != nil || json.Unmarshal(out, &now) != nil || method != "tools/call" || was.Result == nil {
			return
		}
		if r := new(sdk.CallToolResult); was.ID != nil && now.Result != nil && string(out) != string(raw) {
			if err := json.Unmarshal(now.Result, r); err != nil {
				t.Errorf("%s became %s: %v", raw, out, err)
			}
		}
	})
}
