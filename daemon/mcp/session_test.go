package mcp_test

import (
	"testing"

	"hob/config"
	"hob/daemon/mcp/mcptest"
)

// A server is started by the owner's test and by the first call, and each call reaches it once.
func TestCall(t *testing.T) {
	t.Parallel()
	over(t, func(t *testing.T, s *mcptest.Server, c config.MCPServer, _ mcptest.Script) {
		h := start(t, map[string]config.MCPServer{"notes": c})
		offer := h.accept("notes")
		if len(offer.Tools) != 1 || offer.Tools[0].Name != "do" {
			t.Fatalf("the offer: %+v", offer)
		}
		r := h.call(t.Context(), h.tool("notes__do"), `{"a":"x"}`)
		wantText(t, r, "ok do")
		if r.Foreign == "" {
			t.Error("a result of a server is not foreign")
		}
		if n := len(s.Got("tools/call")); n != 1 {
			t.Errorf("%d calls reached the server", n)
		}
	})
}
