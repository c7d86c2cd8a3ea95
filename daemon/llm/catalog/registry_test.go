package catalog_test

import (
	"strings"
	"testing"

	"hob/config"
	"hob/daemon/llm/all"
	"hob/daemon/llm/catalog"
)

// U40: a section that no model can be made of says what it needs, with an example; one that is whole, or that is none, says nothing.
func TestMissing(t *testing.T) {
	for _, c := range []struct {
		m       config.Model
		missing string
	}{
		{config.Model{}, ""},
		{config.Model{MaxOutputTokens: 100}, ""},
		{config.Model{Backend: "builtin"}, ""},
		{config.Model{Backend: "no-such"}, ""},
		{config.Model{Backend: "codex", Model: "m"}, ""},
		{config.Model{Backend: "openai", Model: "m", APIKey: "env:NOT_THERE"}, ""},
		{config.Model{Backend: "compatible"}, "the model has no name"},
		{config.Model{Backend: "compatible", Model: "m"}, "no address is known"},
		{config.Model{Backend: "compatible", Model: "m", BaseURL: "http://127.0.0.1:1/v1"}, ""},
		{config.Model{Backend: "ollama"}, "the model has no name"},
		{config.Model{Model: "m"}, "it names no backend"},
	} {
		missing, hint := catalog.Missing(all.All(), c.m)
		if !strings.Contains(missing, c.missing) || (missing == "") != (c.missing == "") || (missing == "") != (hint == "") {
			t.Errorf("%+v: %q, %q", c.m, missing, hint)
		}
	}
}
