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
