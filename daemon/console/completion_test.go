package console_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"hob/daemon/console"
)

func TestComplete(t *testing.T) {
	form, err := console.NewForm(console.ToolSpec{Name: "find", Positional: "kind", Parameters: json.RawMessage(`{"type": "object", "properties": {
		"kind": {"type": "string", "description": "what", "enum": ["file", "folder"]},
		"sort_by": {"type": "array", "items": {"type": "string", "enum": ["name", "size"]}, "description": "order"},
		"deep": {"type": "boolean", "description": "below"},
		"path": {"type": "string", "description": "where"}
	}}`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, typed string
		want        string
		anything    bool
	}{
		{"", "", "file folder", false},
		{"", "fo", "folder", false},
		{"file", "", "", false},
		{"--path x", "f", "file folder", false},
		{"--deep", "f", "file folder", false}, // it takes no value
		{"--sort-by", "", "name size", false},
		{"--sort_by", "s", "size", false},
		{"", "--sort_by=n", "--sort_by=name", false},
		{"", "--deep=t", "--deep=true", false},
		{"file --path", "", "", true},
		{"", "--path=a", "", true},
		{"", "--so", "--sort-by", false},
		{"file", "--", "--kind --sort-by --deep --path --input --approve", false},
		{"--nonsense", "f", "file folder", false},
	} {
		words, anything := form.Complete(strings.Fields(c.args), c.typed)
		for i, w := range words {
			words[i], _, _ = strings.Cut(w, "\t")
		}
		if !slices.Equal(words, strings.Fields(c.want)) || anything != c.anything {
			t.Errorf("%q %q: %q, %v; want %q, %v", c.args, c.typed, words, anything, c.want, c.anything)
		}
	}
}
