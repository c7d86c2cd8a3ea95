package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/api/server"
)

const secret = "0123456789abcdefghjkmnpqrstvwxyz0123456789abcdefghjk"

// TestGuard is the full table of method × route × Host × Origin × token.
func TestGuard(t *testing.T) {
	hosts := map[string]bool{
		"127.0.0.1:4620": true, "localhost:4620": true, "[::1]:4620": true,
		"127.0.0.1": false, "127.0.0.1:80": false, "127.0.0.1:46200": false, "evil.example:4620": false, "localhost.evil.example:4620": false,
		"127.0.0.1.nip.io:4620": false, "0.0.0.0:4620": false, "127.1:4620": false, "LOCALHOST:4620": false, "localhost.:4620": false, "": false,
	}
	origins := map[string]bool{
		"": true, "same": true, "null": false, "http://evil.example": false, "https://same": false, "http://localhost": false, "http://127.0.0.1:1": false,
	}
	tokens := map[string]int{
		"": 401, "Bearer " + secret: 200, "bearer " + secret: 200, "Bearer " + secret[1:]: 401, "Bearer": 401, "Bearer ": 401, "Basic " + secret: 401, secret: 401, "Bearer " + secret + " ": 401,
	}
	routes := []struct {
		method, path string
		open         bool // without a token
	}{
		{"GET", "/healthz", true},
		{"POST", "/healthz", false},
		{"GET", "/v1/status", false},
		{"GET", "/v1/status?token=" + secret, false},
		{"GET", "/v1/status?access_token=" + secret, false},
		{"GET", "/v1/events?follow=0", false},
		{"POST", "/v1/messages", false},
		{"DELETE", "/v1/sessions/main", false},
		{"PUT", "/v1/messages", false},
		{"OPTIONS", "/v1/messages", false},
	}
	for _, r := range routes {
		for host, goodHost := range hosts {
			for origin, goodOrigin := range origins {
				for token, status := range tokens {
					want := status
					if r.open {
						want = 200
					}
					if !goodHost || !goodOrigin {
						want = 403
					}
					origin := strings.Replace(origin, "same", "http://"+host, 1)
					origin = strings.Replace(origin, "https://http://", "https://", 1)
					got := guarded(t, r.method, r.path, host, origin, token)
					passed := got != 401 && got != 403 && got != 429
					if want == 200 && !passed || want != 200 && got != want {
						t.Errorf("%s %s Host %q Origin %q Authorization %q: %d, want %d", r.method, r.path, host, origin, token, got, want)
					}
				}
			}
		}
	}
}

func guarded(t *testing.T, method, path, host, origin, token string) int {
	t.Helper()
	h := server.Guard(server.New(newFakeDaemon().deps()), secret, 4620)
	req := httptest.NewRequest(method, path, strings.NewReader(`{"text":"hi"}`))
	req.Host = host
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	if token != "" {
		req.Header.Set("Authorization", token)
	}
	return serve(t, h, req).status
}

func TestTwoOfAHeader(t *testing.T) {
	h := server.Guard(server.New(newFakeDaemon().deps()), secret, 4620)
	for header, values := range map[string][2]string{
		"Origin":        {"http://127.0.0.1:4620", "http://evil.example"},
		"Authorization": {"Bearer " + secret, "Bearer x"},
	} {
		req := httptest.NewRequest("GET", "/v1/status", nil)
		req.Host = "127.0.0.1:4620"
		req.Header.Set("Authorization", "Bearer "+secret)
		req.Header[header] = values[:]
		if got := serve(t, h, req); got.status < 400 {
			t.Errorf("two %s headers: %d", header, got.status)
		}
	}
}

func TestWrongTokensAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := server.Guard(server.New(newFakeDaemon().deps()), secret, 4620)
		try := func(token string) answer {
			req := httptest.NewRequest("GET", "/v1/status", nil)
			req.Host = "127.0.0.1:4620"
			if token != "" {
				req.Header.Set("Authorization", "Bearer "+token)
			}
			return serve(t, h, req)
		}
		for range 10 {
			if got := try("wrong"); got.status != 401 {
				t.Fatalf("a wrong token: %d", got.status)
			}
		}
		got := try("wrong")
		if got.status != 429 || got.header.Get("Retry-After") == "" {
			t.Errorf("one wrong token too many: %d", got.status)
		}
		if got := try(""); got.status != 401 {
			t.Errorf("no token is not a guess: %d", got.status)
		}
		if got := try(secret); got.status != 429 {
			t.Errorf("the right token must not tell itself from a wrong one meanwhile: %d", got.status)
		}
		time.Sleep(7 * time.Second) // in the bubble
		if got := try(secret); got.status != 200 {
			t.Errorf("after the pause: %d", got.status)
		}
		time.Sleep(time.Hour)
		for i := range 10 {
			if got := try("wrong"); got.status != 401 {
				t.Errorf("after an hour, wrong token %d: %d", i, got.status)
			}
		}
		if got := try("wrong"); got.status != 429 {
			t.Errorf("an hour must not save up more than ten: %d", got.status)
		}
	})
}
