package llm_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"hob/daemon/llm"
)

// Arguments are read where exactly one reading is possible, and never guessed.
func TestArguments(t *testing.T) {
	const a, b = `{"path":"a.txt"}`, `{"path": "a.txt"}`
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a fence", "```json\n" + b + "\n```", []string{b}},
		{"a fence without a language", "```\n" + b + "\n```\n", []string{b}},
		{"a trailing comma", `{"path":"a.txt",}`, []string{a}},
		{"a trailing comma in a list", `{"list":[1,2, ]}`, []string{`{"list":[1,2 ]}`}},
		{"a raw line break", "{\"text\":\"a\nb\r\n\tc\"}", []string{`{"text":"a\nb\r\n\tc"}`}},
		{"a text", `"{\"path\":\"a.txt\"}"`, []string{a}},
		{"a text in a fence", "```json\n\"{\\\"path\\\":\\\"a.txt\\\"}\"\n```", nil},
		{"two objects", a + `{"path":"b.txt"}`, []string{a, `{"path":"b.txt"}`}},
		{"two objects on lines", a + "\n" + `{"path":"b.txt"}` + "\n", []string{a, `{"path":"b.txt"}`}},
		{"a byte order mark", "\uFEFF" + a, []string{a}},
		{"a comma in a text", `{"text":"a,}",}`, []string{`{"text":"a,}"}`}},
		{"a quote in a text", "{\"text\":\"say \\\"a,\n\\\"\",}", []string{`{"text":"say \"a,\n\""}`}},
		{"a fence in a text", "{\"text\":\"```\n{}\n```\"}", []string{"{\"text\":\"```\\n{}\\n```\"}"}},
		{"Python (MatterAIOrg/OrbCode#52)", `{'path': 'a.txt', "all": True, 'n': None}`, []string{`{"path": "a.txt", "all": true, "n": null}`}},
		{"bare keys (tinyhumansai/tinyagents#68)", `{path:"a.txt",limit:{n:1}}`, []string{`{"path":"a.txt","limit":{"n":1}}`}},
		{"braces around it (tinyhumansai/tinyagents#68)", `{{{"path":"a.txt"}}}`, []string{a}},
		{"an escaped single quote", `{"text":"it\'s"}`, []string{`{"text":"it's"}`}},
		{"quotes in single quotes", `{'text': 'say "a", it\'s'}`, []string{`{"text": "say \"a\", it's"}`}},
		{"the words in a text", `{"text":"None, True: {path:'a'}",}`, []string{`{"text":"None, True: {path:'a'}"}`}},

		{"bare values", `{"pattern": *.tsx}`, nil},
		{"a bare word as a value", `{"path": a}`, nil},
		{"a quote that is not escaped", `{"text":"getenv("KEY")"}`, nil},
		{"an escape that is none", `{"text":"\u6수"}`, nil},
		{"an apostrophe in single quotes", `{'text': 'it's'}`, nil},
		{"more braces at the end", `{"path":"a.txt"}}`, nil},
		{"cut off within braces", `{{"path":"a.txt"}`, nil},
		{"cut off", `{"path":"a.tx`, nil},
		{"cut off in a fence", "```json\n{\"path\":\"a", nil},
		{"cut off behind an object", a + `{"path":"b`, nil},
		{"a brace too many", a + "}", nil},
		{"a list", `[` + a + `]`, nil},
		{"a sentence around it", "Here: " + a, nil},
		{"a number", "7", nil},
		{"a sentence", `"read a.txt"`, nil},
		{"nothing", "", nil},
		{"two fences", "```json\n" + a + "\n```\n```json\n" + a + "\n```", nil},
	} {
		got, how := llm.Arguments(c.text)
		if fmt.Sprintf("%s", got) != fmt.Sprintf("%s", c.want) || how == "" && got != nil && string(got[0]) != c.text && c.name != "a byte order mark" {
			t.Errorf("%s: %s (%s), want %s", c.name, got, how, c.want)
		}
	}
}

// What is read is valid, and nothing that is cut off is read as a whole.
func FuzzArguments(f *testing.F) {
	f.Add("```json\n{\"a\":\"b\n\",}\n```")
	f.Add(`"{\"a\":1}"`)
	f.Fuzz(func(t *testing.T, text string) {
		got, _ := llm.Arguments(text)
		for _, one := range got {
			if !json.Valid(one) || one[0] != '{' {
				t.Errorf("%q is read as %q", text, one)
			}
		}
	})
}

// A name means a tool if it can mean no other.
func TestToolName(t *testing.T) {
	list := []string{"read", "Edit", "notes__read.all", "web_fetch", "exec", "EXEC"}
	for said, want := range map[string]string{
		"read": "read", " read ": "read", "read\n": "read", "Read": "read", "READ": "read", "edit": "Edit", "web-fetch": "web_fetch",
		"functions.read": "read", "functions.read:0": "read", "functions.web_fetch:12": "web_fetch", "default_api.read": "read", "tools/read": "read", "default_api:read": "read",
		"functionsread5": "read", "functions5": "", "functionsreads5": "", "read()": "read", "read[0]": "read", "read<|channel|>commentary": "read", "read<|constrain|>json": "read", "functions.read<|channel|>commentary json": "read", "read<｜tool▁sep｜>x": "read",
		"notes__read.all": "notes__read.all", "exec": "exec", "EXEC": "EXEC",
		"Exec": "", "functions.Exec": "", "reads": "", "rea": "", "": "", ".": "", "functions.": "", "read file": "", "all": "", "read.txt": "", "<|x|>": "",
	} {
		got, ok := llm.ToolName(list, said)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q means %q, %v; want %q", said, got, ok, want)
		}
	}
}

// Arguments within an object that only names them are those within, where the tool has no such parameter.
func TestWrappedArguments(t *testing.T) {
	const inner = `{"path":"a.txt"}`
	strict := func(properties string) string {
		return `{"type":"object","properties":{` + properties + `},"additionalProperties":false}`
	}
	read, open := strict(`"path":{"type":"string"},"limit":{}`), `{"type":"object","properties":{"path":{}}}`
	for _, c := range []struct{ name, schema, args, want string }{
		{"arguments", read, `{"arguments":` + inner + `}`, inner},
		{"parameters", read, `{ "parameters": ` + inner + ` }`, inner},
		{"input", read, `{"input":` + inner + `}`, inner},
		{"the tool's name", read, `{"read":` + inner + `}`, inner},
		{"the call", read, `{"name":"read","arguments":` + inner + `}`, inner},
		{"as a text", read, `{"arguments":"{\"path\":\"a.txt\"}"}`, inner},
		{"in a fence", read, "```json\n{\"arguments\":" + inner + "}\n```", inner},
		{"a wrong name within", read, `{"arguments":{"file":"a.txt"}}`, `{"file":"a.txt"}`},
		{"nothing within", read, `{"arguments":{}}`, `{}`},
		{"a tool that takes every parameter", open, `{"arguments":` + inner + `}`, inner},

		{"a parameter of the tool", strict(`"arguments":{"type":"object"}`), `{"arguments":` + inner + `}`, ""},
		{"a parameter of the tool, name", strict(`"name":{}`), `{"name":"read","arguments":` + inner + `}`, ""},
		{"another call", read, `{"name":"write","arguments":` + inner + `}`, ""},
		{"another key", read, `{"arguments":` + inner + `,"limit":1}`, ""},
		{"two objects", read, `{"arguments":` + inner + `,"input":` + inner + `}`, ""},
		{"a text", read, `{"arguments":"a.txt"}`, ""},
		{"a list", read, `{"arguments":[` + inner + `]}`, ""},
		{"cut off", read, `{"arguments":{"path":"a.txt"`, ""},
		{"every parameter, another one within", open, `{"arguments":{"file":"a.txt"}}`, ""},
		{"every parameter, nothing within", open, `{"arguments":{}}`, ""},
		{"another word", read, `{"path":` + inner + `}`, ""},
	} {
		a := llm.Answer{Calls: []llm.Call{{ID: "A", Name: "read", Args: json.RawMessage(c.args)}}}
		a.ReadCalls(func(name string) (json.RawMessage, bool) { return json.RawMessage(c.schema), name == "read" }, func() []string { return []string{"read"} })
		want := c.want
		if want == "" {
			want = c.args
		}
		if got := string(a.Calls[0].Args); got != want || (len(a.Repaired) > 0) != (c.want != "") {
			t.Errorf("%s: %s, repaired %q; want %s", c.name, got, a.Repaired, want)
		}
	}
}
