package tools_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"hob/tools"
)

// BenchmarkSearch searches by words in 150 tools.
func BenchmarkSearch(b *testing.B) {
	specs := make([]tools.Spec, 150)
	for i := range specs {
		specs[i] = tools.Spec{Name: fmt.Sprintf("server%d__tool_%d", i%10, i), Group: "mcp", Parameters: json.RawMessage(`{"type":"object"}`), Description: fmt.Sprintf("Lists the %dth kind of calendar events, with their guests, places and times, as far as they are known to the server that keeps them.", i)}
	}
	tool := tools.NewCatalog(specs)
	call := tools.Call{Name: tools.CatalogTool, Args: json.RawMessage(`{"action": "search", "query": "calendar events of guests"}`)}
	intent, err := tool.Intent(b.Context(), call)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r, err := tool.Run(b.Context(), call, intent); err != nil || r.Content == "" {
			b.Fatal(r, err)
		}
	}
}
