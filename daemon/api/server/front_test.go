package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hob/daemon/api/server"
)

// TestFrontPage answers a browser at the address itself with a page, and programs as ever.
func TestFrontPage(t *testing.T) {
	const secret = "the-token-of-the-api"
	h := server.Guard(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }), secret, 4620)
	browser := "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct {
		name, method, path, host, origin, accept, token string
		status                                          int
		page                                            bool
	}{
		{"a browser", "GET", "/", "127.0.0.1:4620", "", browser, "", 200, true},
		{"a browser that asks for the head", "HEAD", "/", "localhost:4620", "", browser, "", 200, true},
		{"a program", "GET", "/", "127.0.0.1:4620", "", "application/json", "", 401, false},
		{"a program that takes anything", "GET", "/", "127.0.0.1:4620", "", "*/*", "", 401, false},
		{"a program without a header", "GET", "/", "127.0.0.1:4620", "", "", "", 401, false},
		{"a program with the token", "GET", "/", "127.0.0.1:4620", "", browser, secret, http.StatusTeapot, false},
		{"another path", "GET", "/v1/status", "127.0.0.1:4620", "", browser, "", 401, false},
		{"a form", "POST", "/", "127.0.0.1:4620", "", browser, "", 401, false},
		{"another name of this machine", "GET", "/", "evil.example:4620", "", browser, "", 403, false},
		{"a page of another site", "GET", "/", "127.0.0.1:4620", "http://evil.example", browser, "", 403, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, nil)
			r.Host = c.host
			for name, value := range map[string]string{"Origin": c.origin, "Accept": c.accept} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			if c.token != "" {
				r.Header.Set("Authorization", "Bearer "+c.token)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if page := strings.HasPrefix(w.Header().Get("Content-Type"), "text/html"); w.Code != c.status || page != c.page {
				t.Fatalf("%d, %v", w.Code, w.Header())
			}
			body := w.Body.String()
			if strings.Contains(body, secret) || strings.Contains(body, "<script") || strings.Contains(body, " style=") {
				t.Errorf("the page has what it must not: %s", body)
			}
			if csp := w.Header().Get("Content-Security-Policy"); c.page && (!strings.HasPrefix(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || !strings.Contains(body, "hob chat")) {
				t.Errorf("%s\n%s", csp, body)
			}
		})
	}
}
