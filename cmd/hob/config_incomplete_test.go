package main_test

import (
	"strings"
	"testing"

	main "hob/cmd/hob"
	"hob/config"
	"hob/daemon"
)

// U40: a model that is not complete is a mistake, with what is missing and an example; what is mended key by key is not refused.
func TestAnIncompleteModelIsRefused(t *testing.T) {
	all := config.NewReference(daemon.ConfigSections(nil))
	set := func(key, value string) main.KeyChange { return main.KeyChange{Key: key, Value: value} }
	for _, c := range []struct {
		doc     string
		changes []main.KeyChange
		want    string // "": it is taken
	}{
		{"", []main.KeyChange{set("model.backend", "compatible")}, "the model has no name; for example: backend = \"compatible\", model = \"NAME\", base_url = \"https://host/v1\""},
		{"", []main.KeyChange{set("model.backend", "compatible"), set("model.model", "m")}, "no address is known"},
		{"", []main.KeyChange{set("model.model", "m")}, "it names no backend"},
		{"", []main.KeyChange{set("models.local.backend", "ollama")}, "[models.local] is not complete"},
		{"", []main.KeyChange{set("model.backend", "compatible"), set("model.model", "m"), set("model.base_url", "http://127.0.0.1:1/v1")}, ""},
		{"", []main.KeyChange{set("model.backend", "builtin")}, ""},
		{"", []main.KeyChange{set("model.max_output_tokens", "100")}, ""},
		{"[model]\nbackend = \"compatible\"\n", []main.KeyChange{set("model.model", "m")}, ""},
		{"[model]\nbackend = \"ollama\"\nmodel = \"m\"\n", []main.KeyChange{{Key: "model.model", Unset: true}}, "[model] is not complete"},
	} {
		_, err := main.SetKeys(all, "config.toml", []byte(c.doc), c.changes...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v in %q: %v", c.changes, c.doc, err)
		}
	}
	problems, err := all.Check("config.toml", []byte("[model]\nbackend = \"compatible\"\n"), nil)
	if err != nil || config.Valid(problems) || problems[0].Line != 1 {
		t.Errorf("validate: %+v, %v", problems, err)
	}
	if problems, err = all.Check("config.toml", []byte("[model]\nbackend = \"ollama\"\n"), []string{"HOB_MODEL__MODEL=m"}); err != nil || !config.Valid(problems) {
		t.Errorf("with the environment: %+v, %v", problems, err)
	}
}
