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
		"quoted":           {"a: \"x \\\"y\\\" # z\"\nb: 'it''s'", skills.Front{"a": `x "y" # z`, "b": "it's"}},
		"folded":           {"a: >-\n  one\n  two\n\n  three\nb: x", skills.Front{"a": "one two  three", "b": "x"}},
		"literal":          {"a: |\n  one\n    two", skills.Front{"a": "one\n  two"}},
		"goes on":          {"a: one\n  two\n  three\nb: x", skills.Front{"a": "one two three", "b": "x"}},
		"below":            {"a:\n  one two\n  three", skills.Front{"a": "one two three"}},
		"flow list":        {`a: [x, "y, z", 'w'] # rest`, skills.Front{"a": []string{"x", "y, z", "w"}}},
		"block list":       {"a:\n  - x\n  - \"y\"\nb:\n- z", skills.Front{"a": []string{"x", "y"}, "b": []string{"z"}}},
		"map":              {"metadata:\n  version: \"1.0\"\n  author: me\nb: x", skills.Front{"metadata": map[string]string{"version": "1.0", "author": "me"}, "b": "x"}},
		"empty":            {"a:\nb: x", skills.Front{"a": "", "b": "x"}},
		"comments, blanks": {"# first\n\na: x\n# last", skills.Front{"a": "x"}},
		"no values":        {"a: []", skills.Front{"a": []string{}}},
	} {
		got, err := skills.Decode(c.text)
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %#v %v, want %#v", what, got, err, c.want)
		}
	}
	for what, text := range map[string]string{
		"an anchor": "a: &x y", "an alias": "a: *x", "a tag": "a: !!binary x", "a flow map": "a: {b: c}", "a nested list": "a: [[b]]", "an open quote": `a: "x`,
		"a nested map": "a:\n  b:\n    c: d", "an alias in a list": "a:\n  - *x", "an alias in a map": "a:\n  b: *x", "a mix": "a:\n  - x\n  b: c", "no key": "just words",
		"after a quote": `a: "x" y`, "twice": "a: x\na: y", "an indented key": "  a: x", "an open list": "a: [b, c",
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
