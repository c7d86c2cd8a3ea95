package skills_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"hob/daemon/skills"
)

func TestFrontMatter(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		want skills.Front
	}{
		"plain":            {"name: a\ndescription: Use when: you must # not this", skills.Front{"name": "a", "description": "Use when: you must"}},
		"quoted":           {"name: \"x \\\"y\\\" # z\"\nlicense: 'it''s'", skills.Front{"name": `x "y" # z`, "license": "it's"}},
		"folded":           {"name: >-\n  one\n  two\n\n  three\nlicense: x", skills.Front{"name": "one two  three", "license": "x"}},
		"literal":          {"name: |\n  one\n    two", skills.Front{"name": "one\n  two"}},
		"goes on":          {"name: one\n  two\n  three\nlicense: x", skills.Front{"name": "one two three", "license": "x"}},
		"below":            {"name:\n  one two\n  three", skills.Front{"name": "one two three"}},
		"flow list":        {`name: [x, "y, z", 'w'] # rest`, skills.Front{"name": []string{"x", "y, z", "w"}}},
		"patterns":         {`allowed-tools: [Bash(git:*), mcp__a__*, "x"]`, skills.Front{"allowed-tools": []string{"Bash(git:*)", "mcp__a__*", "x"}}},
		"block list":       {"name:\n  - x\n  - \"y\"\nlicense:\n- z", skills.Front{"name": []string{"x", "y"}, "license": []string{"z"}}},
		"map":              {"name:\n  version: \"1.0\"\n  author: me\nlicense: x", skills.Front{"name": map[string]string{"version": "1.0", "author": "me"}, "license": "x"}},
		"empty":            {"name:\nlicense: x", skills.Front{"name": "", "license": "x"}},
		"comments, blanks": {"# first\n\nname: x\n# last", skills.Front{"name": "x"}},
		"keys of others": {
			"homepage: *x\nmetadata: {\"openclaw\": {\"emoji\": \"🔐\", \"requires\": {\"bins\": [\"op\"]}}}\nname: x\nprerequisites:\n- commands: [memo]\ntags: [[x]]\nlicense: y",
			skills.Front{"homepage": nil, "metadata": nil, "name": "x", "prerequisites": nil, "tags": nil, "license": "y"},
		},
		"maps in a map": {
			"name: x\nmetadata:\n  hermes:\n    tags: [Notes, Apple]\n\n    related: []\nlicense: y", skills.Front{"name": "x", "metadata": nil, "license": "y"},
		},
		"a map in brackets": {"metadata:\n  {\n    \"a\": 1,\n  }\nname: x", skills.Front{"metadata": nil, "name": "x"}},
		"closed in front":   {"metadata: {\n  \"a\": 1\n}\nname: x", skills.Front{"metadata": nil, "name": "x"}},
		"no values":         {"name: []", skills.Front{"name": []string{}}},
	} {
		got, err := skills.Decode(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v %v, want %#v", what, got, err, c.want)
		}
	}
	for what, text := range map[string]string{
		"an anchor": "name: &x y", "an alias": "name: *x", "a tag": "name: !!binary x", "a flow map": "name: {b: c}", "a nested list": "name: [[b]]", "an open quote": `name: "x`,
		"a nested map": "name:\n  b:\n    c: d", "an alias in a list": "name:\n  - *x", "an alias in a map": "name:\n  b: *x", "a mix": "name:\n  - x\n  b: c", "no key": "just words", "the end of a map": "name: x\n}",
		"after a quote": `name: "x" y`, "twice": "name: x\nname: y", "an indented key": "  a: x", "an open list": "name: [b, c",
		"an alias in brackets": "name: [b, *x]", "an anchor in brackets": "name: [&x b]", "a tag in brackets": "name: [!!binary x]",
	} {
		if got, err := skills.Decode(text); err == nil {
			t.Errorf("%s is read as %#v", what, got)
		}
	}
}

// FuzzParse wants an error or a name and a description within their limits, and never much time.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"---\nname: a\ndescription: b\n---\nbody", "---\nname: a\ndescription: >\n  b\nallowed-tools: [x, y]\nmetadata:\n  k: v\n---\nbody", "---\n" + strings.Repeat("[", 5000) + "\n---\n",
		"\uFEFF---\r\nname: a\r\ndescription: b\r\n---\r\nbody", "---\na:\n -\n - '\n---",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		start := time.Now()
		name, description, allowed, err := skills.Parse("a", text)
		if err == nil && (name != "a" || description == "" || len([]rune(description)) > 1_024 || len(allowed) > 50) {
			t.Errorf("%q is a skill: %q %q %q", text, name, description, allowed)
		}
		if len(text) < 1<<20 && time.Since(start) > 5*time.Second {
			t.Errorf("%d bytes take %s", len(text), time.Since(start))
		}
	})
}

// What editors leave around the lines "---" is no fault: blanks, a byte order mark, line ends of Windows and of old Macs. (13.2)
func TestFrontMatterOfOtherEditors(t *testing.T) {
	const plain = "---\nname: a\ndescription: b\n---\nbody\n"
	for what, text := range map[string]string{
		"13.2, a blank behind": "--- \nname: a\ndescription: b\n---\nbody\n", "a tab behind": "---\t\nname: a\ndescription: b\n---\t\nbody\n",
		"Notepad, a mark and CR LF": "\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n"), "a mark, a blank and CR LF": "\ufeff--- \r\nname: a\r\ndescription: b\r\n--- \r\nbody\r\n",
		"a no-break space of a web page": "---\u00a0\nname: a\ndescription: b\n---\u00a0\nbody\n", "lone CR": strings.ReplaceAll(plain, "\n", "\r"),
		"an empty first line": "\n" + plain,
	} {
		if name, description, _, err := skills.Parse("a", []byte(text)); err != nil || name != "a" || description != "b" {
			t.Errorf("%s: %q %q %v", what, name, description, err)
		}
	}
	for _, text := range []string{"----\nname: a\n---\nx", " ---\nname: a\n---\nx", "text\n---\nname: a\n---\nx", "--- name: a\n---\nx"} {
		if _, _, _, err := skills.Parse("a", []byte(text)); err == nil {
			t.Errorf("%q has front matter", text)
		}
	}
}
