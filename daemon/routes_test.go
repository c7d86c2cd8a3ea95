package daemon_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestEveryRouteIsServed asks a running hob for every route that package api declares: one without a handler is not found. The requests change
// nothing, because each has an argument or a part of a query that no route takes. Two handlers for one route would panic when the server is made.
func TestEveryRouteIsServed(t *testing.T) {
	r := start(t, t.TempDir())
	secret, err := os.ReadFile(filepath.Join(r.home, "state", "token"))
	if err != nil {
		t.Fatal(err)
	}
	routes := declaredRoutes(t)
	if len(routes) < 60 {
		t.Fatalf("only %d routes are found: %q", len(routes), routes)
	}
	for _, route := range append(routes, "GET /v1/nothing", "POST /v1/turns/{id}/nothing") {
		method, path, _ := strings.Cut(route, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.ready.Address+strings.Replace(path, "{id}", "0", 1), strings.NewReader(`{"nothing":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		if method == http.MethodGet {
			req.URL.RawQuery = "nothing=x"
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(secret)))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err := res.Body.Close(); err != nil {
			t.Error(err)
		}
		want := http.StatusBadRequest
		if strings.HasSuffix(path, "nothing") {
			want = http.StatusNotFound
		}
		if err != nil || res.StatusCode != want {
			t.Errorf("%s: %s %s %v, want %d", route, res.Status, body, err, want)
		}
	}
}

// TestAProgramsTokenServesNoOtherRoute: a token of hob endpoint add is good for /mcp, for the chat and for its models, and for no other route. The API's own
// token is good for none of these.
func TestAProgramsTokenServesNoOtherRoute(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir())
	own, err := os.ReadFile(filepath.Join(r.home, "state", "token"))
	if err != nil {
		t.Fatal(err)
	}
	status := func(route, token, body string) int {
		method, path, _ := strings.Cut(route, " ")
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.ready.Address+strings.Replace(path, "{id}", "0", 1), strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
			req.Header.Set(name, value)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil || res.Body.Close() != nil {
			t.Fatal(err)
		}
		return res.StatusCode
	}
	token := r.endpoint("laptop").token
	for _, route := range append(declaredRoutes(t), "GET /metrics", "GET /v1/logs", "GET /v1/events") {
		// After some wrong tokens hob looks at no other one for a while, but one that is good always passes.
		if got := status(route, token, `{"nothing":"x"}`); got != http.StatusUnauthorized && got != http.StatusTooManyRequests {
			t.Errorf("%s with a program's token: %d", route, got)
		}
	}
	for route, body := range map[string]string{
		"GET /v1/models": "", "GET /v1/models/hob": "", "POST /v1/chat/completions": `{"messages":[]}`,
		"POST /mcp": `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
	} {
		if got := status(route, token, body); got != http.StatusOK && got != http.StatusBadRequest {
			t.Errorf("%s with a program's token: %d", route, got)
		}
		if got := status(route, strings.TrimSpace(string(own)), body); got != http.StatusUnauthorized && got != http.StatusTooManyRequests {
			t.Errorf("%s with the API's token: %d", route, got)
		}
	}
}

// declaredRoutes are the values of the constants of package api that are routes.
func declaredRoutes(t *testing.T) (routes []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("api", "routes.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			if lit, ok := spec.Values[0].(*ast.BasicLit); ok {
				route, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Error(err)
				}
				routes = append(routes, route)
			}
		}
		return true
	})
	return routes
}
