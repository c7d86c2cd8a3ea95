package daemon_test

import (
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/client"
)

// TestAnUnknownToolOverTheAPI: it answers in the form of a tool, with the nearest names.
func TestAnUnknownToolOverTheAPI(t *testing.T) {
	r := start(t, t.TempDir())
	out, err := client.Do(t.Context(), r.client, api.CallTool, "raed", client.ToolCall{Input: []byte(`{}`)})
	if err != nil || out.Success || string(out.Error) != "NOT_FOUND" || !strings.Contains(out.Hint, "read") {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestAToolThatCannotWorkHereOverTheAPI: it answers in the form of a tool, with what is missing.
func TestAToolThatCannotWorkHereOverTheAPI(t *testing.T) {
	home := t.TempDir()
	write(t, home, "[tools]\ndeny = [\"ls\"]\n")
	t.Setenv("PATH", t.TempDir())
	r := start(t, home)
	for name, why := range map[string]string{"ls": "[tools] in config.toml does not allow it", "tmux": "tmux"} {
		out, err := client.Do(t.Context(), r.client, api.CallTool, name, client.ToolCall{Input: []byte(`{}`)})
		if err != nil || out.Success || out.Error != "CONFIG_ERROR" || !strings.Contains(out.Message, "cannot work here: ") || !strings.Contains(out.Message, why) || !strings.Contains(out.Hint, "hob tool list --all") {
			t.Errorf("%s: %+v, %v", name, out, err)
		}
	}
}
