package daemon_test

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/shell"

	"hob/daemon/control/client"
	"hob/daemon/control/console"
	"hob/daemon/event"
)

// TestExamplesOfToolsAreTakenByTheirFlags types the example of each tool's help, and lets hob check what comes of it.
func TestExamplesOfToolsAreTakenByTheirFlags(t *testing.T) {
	r := start(t, t.TempDir())
	var specs []console.ToolSpec
	if err := r.client.List(t.Context(), "tools", event.Filter{}, &specs); err != nil || len(specs) < 20 {
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
		out, err := r.client.Tool(t.Context(), spec.Name, client.ToolCall{Input: input, Workdir: r.home})
		if err == nil && out.Error == "VALIDATION_ERROR" && strings.Contains(out.Hint, "the parameters are") {
			t.Errorf("hob tool %s %s: %s", spec.Name, spec.Example, out.Message)
		}
	}
}
