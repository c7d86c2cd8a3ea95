package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"hob/daemon/netguard"
	"hob/tools"
	"hob/tools/web"
)

const canary = "canary-7f3a9c/+&"

// vault resolves references of a test: the value follows "env:".
func vault(_ context.Context, name, ref string) (string, error) {
	if ref == "env:MISSING" {
		return "", errors.New("env:MISSING: the variable MISSING is not set where hob runs")
	}
	if !strings.HasPrefix(name, "tools.web.") {
		return "", fmt.Errorf("%s is no name of the web's", name)
	}
	return strings.TrimPrefix(ref, "env:"), nil
}

func apiOf(client *netguard.Client) tools.Tool {
	return web.NewHTTP(web.HTTPDeps{Client: client, Resolve: vault, Secrets: map[string]web.Secret{
		"api":     {Value: "env:" + canary, Hosts: []string{"127.0.0.1", "api.example.org"}},
		"other":   {Value: "env:other-canary", Hosts: []string{"other.example.org"}},
		"short":   {Value: "env:12345", Hosts: []string{"127.0.0.1"}},
		"missing": {Value: "env:MISSING", Hosts: []string{"127.0.0.1"}},
		"lines":   {Value: "env:line-one\r\nHost: evil", Hosts: []string{"127.0.0.1"}},
	}})
}

func TestHTTPAsks(t *testing.T) {
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-RateLimit-Remaining", "7")
		w.Header().Set("X-Other", "there")
		w.Header().Set("Set-Cookie", "session=1")
		w.WriteHeader(http.StatusCreated)
		write(t, w, fmt.Sprintf(`{"got": "%s %s %s %s"}`, r.Method, r.URL, r.Header.Get("X-Mine"), body))
	})
	tool := apiOf(client)
	described(t, tool)
	intent, res := do(t, tool, args{"method": "POST", "url": at + "/v1/items?q=1", "headers": map[string]string{"X-Mine": "yes", "Content-Type": "text/plain"}, "body": "hello"})
	want := "HTTP 201 Created\ncontent-type: application/json\nx-ratelimit-remaining: 7\n\n" + `{"got": "POST /v1/items?q=1 yes hello"}`
	if res.IsError || res.Content != want {
		t.Errorf("%s", res.Content)
	}
	r := res.Data.(web.HTTPOutput)
	if r.Status != 201 || r.Headers["x-other"] != "there" || r.Headers["set-cookie"] != "" || r.Type != "application/json" || r.Bytes != len(r.Body) {
		t.Errorf("%+v", r)
	}
	if intent.Effect != tools.Once || len(intent.Links) != 0 || intent.Foreign != "web: 127.0.0.1" || !intent.Private ||
		!strings.Contains(intent.Summary, "POST "+at) || !strings.Contains(intent.Summary, "5 bytes") {
		t.Errorf("%+v", intent)
	}
}

func TestHTTPEffects(t *testing.T) {
	tool := apiOf(netguard.NewClient(netguard.Config{}))
	for method, want := range map[string]tools.Effect{
		"GET": tools.Read, "HEAD": tools.Read, "POST": tools.Once, "PUT": tools.Once, "PATCH": tools.Once, "DELETE": tools.Once, "OPTIONS": tools.Once,
	} {
		intent, err := tool.Intent(t.Context(), callOf(t, args{"method": method, "url": "example.org"}, morning()))
		if err != nil || intent.Effect != want || intent.Private {
			t.Errorf("%s: %s, %v", method, intent.Effect, err)
		}
	}
	// All that matters is in the canonical bytes: whatever differs makes another call.
	seen := map[string]args{}
	for _, in := range []args{
		{"method": "GET", "url": "example.org"},
		{"method": "HEAD", "url": "example.org"},
		{"method": "GET", "url": "http://example.org"},
		{"method": "GET", "url": "example.org", "body": "x"},
		{"method": "GET", "url": "example.org", "headers": args{"A": "b"}},
		{"method": "GET", "url": "example.org", "headers": args{"A": "c"}},
		{"method": "GET", "url": "api.example.org", "headers": args{"A": "secret:api"}},
	} {
		intent, err := tool.Intent(t.Context(), callOf(t, in, morning()))
		if other, twice := seen[string(intent.Canonical)]; err != nil || twice {
			t.Errorf("%v and %v: %s, %v", in, other, intent.Canonical, err)
		}
		seen[string(intent.Canonical)] = in
	}
}

func TestHTTPAnswers(t *testing.T) {
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		case "/image":
			w.Header().Set("Content-Type", "image/png")
			write(t, w, "\x89PNG")
		case "/moved":
			http.Redirect(w, r, "https://example.org/x", http.StatusMovedPermanently)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/wrong":
			w.WriteHeader(http.StatusUnprocessableEntity)
			write(t, w, "name is missing")
		case "/dies":
			panic(http.ErrAbortHandler)
		}
	})
	tool := apiOf(client)
	for _, c := range []struct {
		method, path string
		code         tools.Code
		want         string
	}{
		{"DELETE", "/empty", "", "HTTP 204 No Content\n\n(no body)"},
		{"GET", "/image", "", "the body is not text but image/png, 4 bytes"},
		{"GET", "/moved", "", "it redirects to https://example.org/x, which was not followed"},
		{"POST", "/round", "", "(it redirects to " + at + "/round, which was not followed)"},
		{"GET", "/round", tools.IO, "too many redirects"},
		{"POST", "/wrong", "", "HTTP 422 Unprocessable Entity\ncontent-type: text/plain; charset=utf-8\n\nname is missing"},
		{"POST", "/dies", tools.OutcomeUnknown, "look whether it took effect"},
		{"GET", "/dies", tools.IO, "EOF"},
	} {
		if _, res := do(t, tool, args{"method": c.method, "url": at + c.path}); res.Code != c.code || !strings.Contains(res.Content, c.want) {
			t.Errorf("%s %s: %s", c.method, c.path, res.Content)
		}
	}
	if _, res := do(t, tool, args{"method": "POST", "url": closed(t)}); res.Code != tools.IO {
		t.Errorf("nothing was sent, and the outcome is %s", res.Content)
	}
}

func TestHTTPRefusals(t *testing.T) {
	at, client := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked: %s %s", r.Method, r.URL) })
	tool := apiOf(client)
	secretIn := func(v string) args { return args{"method": "GET", "url": at, "headers": args{"Authorization": v}} }
	for _, c := range []struct {
		name string
		in   args
		code tools.Code
		want string
	}{
		{"no method", args{"url": at}, tools.Validation, "method"},
		{"a method of the connection", args{"method": "CONNECT", "url": at}, tools.Validation, "method"},
		{"another host", args{"method": "GET", "url": at, "headers": args{"host": "example.org"}}, tools.Validation, "hob sets Host itself"},
		{"injection", args{"method": "GET", "url": at, "headers": args{"X": "a\r\nY: b"}}, tools.Validation, "characters that no header may hold"},
		{"twice", args{"method": "GET", "url": at, "headers": args{"x-a": "1", "X-A": "2"}}, tools.Validation, "twice"},
		{"credentials", args{"method": "GET", "url": "https://u:pw@example.org"}, tools.Validation, "credentials"},
		{"unknown secret", secretIn("secret:nothing"), tools.Validation, "there are: api, lines, missing, other, short"},
		{"secret of another host", secretIn("Bearer secret:other"), tools.Denied, "the secret other is for other.example.org, not for 127.0.0.1"},
		{"two secrets, one of another host", secretIn("secret:api secret:other"), tools.Denied, "for other.example.org"},
		{"host below", args{"method": "GET", "url": "https://api.example.org.evil.example", "headers": args{"A": "secret:api"}}, tools.Denied, "not for api.example.org.evil.example"},
		{"without encryption", args{"method": "GET", "url": "http://api.example.org", "headers": args{"A": "secret:api"}}, tools.Denied, "without encryption"},
		{"in the address", args{"method": "GET", "url": at + "/?key=secret:api"}, tools.Validation, "no secret is filled in"},
		{"in the body", args{"method": "POST", "url": at, "body": "secret:api"}, tools.Validation, "no secret is filled in"},
		{"a placeholder in the body", args{"method": "POST", "url": at, "body": "key=[secret model.api_key]"}, tools.Validation, "body: it holds the placeholder [secret model.api_key]"},
		{"a placeholder in a header", secretIn("Bearer [secret ntfy.token]"), tools.Validation, "Authorization holds the placeholder [secret ntfy.token]"},
		{"too short", secretIn("secret:short"), tools.ConfigError, "8 characters"},
		{"not set", secretIn("secret:missing"), tools.ConfigError, "MISSING is not set"},
		{"of two lines", secretIn("secret:lines"), tools.Validation, "characters that no header may hold"},
	} {
		_, res := do(t, tool, c.in)
		if res.Code != c.code || !strings.Contains(res.Content, c.want) || strings.Contains(res.Content, "evil\"") || strings.Contains(res.Content, "line-one") {
			t.Errorf("%s: %s", c.name, res.Content)
		}
	}
	none := web.NewHTTP(web.HTTPDeps{Client: client, Resolve: vault})
	if _, res := do(t, none, secretIn("secret:api")); !strings.Contains(res.Content, "there is none: [tools.web.secrets]") {
		t.Errorf("%s", res.Content)
	}
}

// A secret reaches its host and nobody else: no result, no field of it, no intent and no error shows it, in whatever form a server
// sends it back.
func TestHTTPSecretsStaySecret(t *testing.T) {
	var got string
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("Authorization")
		token := strings.TrimPrefix(got, "Bearer ")
		switch r.URL.Path {
		case "/echo":
			quoted, err := json.Marshal(token)
			if err != nil {
				t.Error(err)
			}
			w.Header().Set("X-Token", token)
			w.Header().Set("Content-Type", "application/json")
			write(t, w, fmt.Sprintf(`{"plain": %s}`, quoted)+token+r.URL.Query().Get("x"))
		case "/away":
			w.Header().Set("Location", "https://example.org/?t="+token)
			w.WriteHeader(http.StatusFound)
		case "/near":
			w.Header().Set("Location", "/echo?x="+url.QueryEscape(token))
			w.WriteHeader(http.StatusFound)
		case "/odd":
			w.Header().Set("Location", "ftp://example.org/"+token)
			w.WriteHeader(http.StatusFound)
		case "/packed":
			w.Header().Set("Content-Encoding", token)
		}
	})
	tool := apiOf(client)
	for _, path := range []string{"/echo", "/away", "/near", "/odd", "/packed"} {
		for _, method := range []string{"GET", "POST"} {
			got = ""
			intent, res := do(t, tool, args{"method": method, "url": at + path, "headers": args{"Authorization": "Bearer secret:api"}})
			if got != "Bearer "+canary {
				t.Errorf("%s %s: the server got %q", method, path, got)
			}
			all, err := json.Marshal(struct {
				Intent any
				Result any
				Canon  string
			}{intent, res, string(intent.Canonical)})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(all), "canary") || strings.Contains(res.Content, "canary") {
				t.Errorf("%s %s shows it: %s", method, path, all)
			}
			if !strings.Contains(string(intent.Canonical), "secret:api") || !strings.Contains(intent.Summary, "with the secret api") {
				t.Errorf("%s %s: the question does not name it: %s", method, path, intent.Canonical)
			}
		}
	}
}

func TestHTTPStops(t *testing.T) {
	started := make(chan struct{})
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	})
	stopped(t, apiOf(client), args{"method": "GET", "url": at}, started)
}

// A request whose answer does not come because the turn ends may have had its effect.
func TestHTTPStopsInTheMiddleOfAnEffect(t *testing.T) {
	started := make(chan struct{})
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tool := apiOf(client)
	c := callOf(t, args{"method": "POST", "url": at}, morning())
	done := make(chan tools.Result, 1)
	go func() {
		res, err := tool.Run(ctx, c, tools.Intent{})
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	<-started
	cancel()
	if res := <-done; res.Code != tools.OutcomeUnknown {
		t.Errorf("%s", res.Content)
	}
}
