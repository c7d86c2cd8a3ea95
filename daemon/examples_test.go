package daemon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"mvdan.cc/sh/v3/shell"

	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/console"
	"hob/daemon/event"
)

// TestExamplesOfToolsAreTakenByTheirFlags types the example of each tool's help, and compares what comes of it with the schema.
func TestExamplesOfToolsAreTakenByTheirFlags(t *testing.T) {
	r := start(t, t.TempDir())
	specs, err := client.List(t.Context(), r.client, api.List[console.ToolSpec](api.Tools), event.Filter{})
	if err != nil || len(specs) < 20 {
		t.Fatalf("%d tools, %v", len(specs), err)
	}
	for _, spec := range specs {
		line := strings.ReplaceAll(spec.Example, "$(", "(") // what a command would print stands for itself
		words, err := shell.Fields(line, func(string) string { return "" })
		if err != nil {
			t.Errorf("%s: %q is no shell: %v", spec.Name, spec.Example, err)
			continue
		}
		form, err := console.NewForm(spec)
		if err != nil {
			t.Fatal(err)
		}
		input, err := form.Parse(append([]string{spec.Name}, words...), strings.NewReader(""))
		if err != nil {
			t.Errorf("hob tool %s %s: %v", spec.Name, spec.Example, err)
			continue
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
			t.Fatal(err)
		}
		resolved, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(input, &value); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(value); err != nil {
			t.Errorf("hob tool %s %s is %s: %v", spec.Name, spec.Example, input, err)
		}
	}
}
