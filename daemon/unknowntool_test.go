package daemon_test

import (
	"strings"
	"testing"

	"hob/daemon/control/client"
)

// TestAnUnknownToolOverTheAPI: it answers in the form of a tool, with the nearest names.
func TestAnUnknownToolOverTheAPI(t *testing.T) {
	r := start(t, t.TempDir())
	out, err := r.client.Tool(t.Context(), "raed", client.ToolCall{Input: []byte(`{}`)})
	if err != nil || out.Success || string(out.Error) != "NOT_FOUND" || !strings.Contains(out.Hint, "read") {
		t.Errorf("%+v, %v", out, err)
	}
}
