package mcp_test

import (
	"encoding/json"
	"testing"

	"hob/tools"
	"hob/tools/mcp"
)

// one is a server. Nothing is asked of it here.
type one struct{ mcp.Servers }

func (one) Names() []string { return []string{"notes"} }

// The address of a resource can carry anything, so a turn that has read foreign text asks before it reads one, from every server.
func TestResourcesAlwaysAsk(t *testing.T) {
	t.Parallel()
	for args, tool := range map[string]tools.Tool{`{"server":"notes"}`: mcp.NewResources(one{}), `{"server":"notes","uri":"note://a"}`: mcp.NewRead(one{})} {
		i, err := tool.Intent(t.Context(), tools.Call{Args: json.RawMessage(args)})
		if err != nil || i.Cleared || i.Server != "notes" || i.Effect != tools.Read {
			t.Errorf("%s: %+v, %v", args, i, err)
		}
	}
}
