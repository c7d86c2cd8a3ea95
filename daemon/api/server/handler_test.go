package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"hob/daemon/api"
	"hob/daemon/api/server"
	"hob/daemon/event"
)

func TestRoutes(t *testing.T) {
	h := server.New(newFakeDaemon().deps())
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"GET", "/healthz", "", 200},
		{"GET", "/v1/turns", "", 200},
		{"GET", "/v1/turns/12", "", 200},
		{"GET", "/v1/turns/missing", "", 404},
		{"GET", "/v1/status", "", 200},
		{"GET", "/v1/budget", "", 200},
		{"GET", "/v1/why/last", "", 200},
		{"GET", "/v1/why", "", 404},
		{"GET", "/v1/nothing", "", 404},
		{"GET", "/", "", 404},
		{"GET", "/v1/tools", "", 200},
		{"GET", "/v1/tools/read", "", 200},
		{"GET", "/v1/tools/reed", "", 404},
		{"GET", "/v1/tools?all=1", "", 200},
		{"GET", "/v1/tools?every=1", "", 400},
		{"GET", "/v1/tools/tmux", "", 404},
		{"GET", "/v1/audit", "", 500},
		{"GET", "/v1/turns/panic", "", 500},
		{"GET", "/v1/turns?limit=x", "", 400},
		{"GET", "/v1/turns?limit=0", "", 400},
		{"GET", "/v1/turns?limit=1001", "", 400},
		{"DELETE", "/v1/turns", "", 405},
		{"POST", "/v1/status", "{}", 405},
		{"PUT", "/v1/messages", "{}", 405},
		{"POST", "/v1/messages", `{"text":"hi"}`, 202},
		{"POST", "/v1/messages", `{"text":" "}`, 400},
		{"POST", "/v1/messages", ``, 400},
		{"POST", "/v1/messages", `{"text":"hi","x":1}`, 400},
		{"POST", "/v1/messages", `{"text":"hi"} {}`, 400},
		{"POST", "/v1/messages", `{"text":`, 400},
		{"POST", "/v1/messages", `{"text":"full"}`, 503},
		{"POST", "/v1/sessions/main/send", `{"text":"hi"}`, 202},
		{"POST", "/v1/turns/3/stop", "", 200},
		{"POST", "/v1/turns/clash/stop", "", 409},
		{"POST", "/v1/turns/nil/stop", "", 200},
		{"POST", "/v1/pairings/3/revoke", "", 200},
		{"POST", "/v1/pairings/x/revoke", "", 400},
		{"POST", "/v1/pairings/0/revoke", "", 400},
		{"POST", "/v1/turns/3/drop", "", 404},
		{"POST", "/v1/inbox/3/retry", "", 200},
		{"POST", "/v1/inbox/3/drop", "", 200},
		{"POST", "/v1/outbox/3/retry", "", 200},
		{"POST", "/v1/outbox/3/drop", "", 200},
		{"POST", "/v1/questions/AB/approve", `{"scope":"always"}`, 200},
		{"POST", "/v1/questions/AB/approve", `{"scope":"ever"}`, 400},
		{"POST", "/v1/questions/AB/deny", "", 200},
		{"POST", "/v1/questions/AB/deny", `{"scope":"once"}`, 400},
		{"POST", "/v1/questions/AB/answer", `{"text":"blue"}`, 200},
		{"POST", "/v1/questions/AB/answer", `{}`, 400},
		{"POST", "/v1/questions/AB/answer", `{"text":3}`, 400},
		{"POST", "/v1/grants/3/revoke", "", 200},
		{"POST", "/v1/budget/set", `{"per_day":"5"}`, 200},
		{"POST", "/v1/safe-mode/off", "", 200},
		{"POST", "/v1/backup/create", "", 200},
		{"POST", "/v1/send", `{"to":"owner","text":"hi"}`, 200},
		{"POST", "/v1/send", `{"to":"owner"}`, 400},
		{"POST", "/v1/send", `{"text":"hi"}`, 400},
		{"POST", "/v1/send", `{"to":"owner","attachments":[{"name":"a","data":"eA=="}]}`, 200},
		{"POST", "/v1/send", `{"to":"owner","attachments":[{"name":"a","data":""}]}`, 400},
		{"POST", "/v1/send", `{"to":"owner","attachments":[{"name":"a","data":"x"}]}`, 400},
		{"POST", "/v1/send", `{"to":"owner","attachments":[` + strings.Repeat(`{"name":"a","data":"eA=="},`, 10) + `{"name":"a","data":"eA=="}]}`, 413},
		{"DELETE", "/v1/sessions/main", "", 200},
		{"POST", "/v1/tools/read", `{"input":{"path":"a"}}`, 200},
		{"POST", "/v1/tools/read", `{"input":{"path":"no"}}`, 200},
		{"POST", "/v1/tools/read", `{"input":{"path":"denied"}}`, 403},
		{"POST", "/v1/tools/read", `{"input":{"path":"ask"}}`, 403},
		{"POST", "/v1/tools/read", `{"input":{},"workdir":"rel"}`, 400},
		{"GET", "/v1/events?follow=0&after=x", "", 400},
		{"GET", "/v1/events?follow=0&after=-1", "", 400},
		{"GET", "/v1/events?follow=0&from=1", "", 400},
		{"GET", "/v1/turns?stat=failed", "", 400},
		{"GET", "/v1/turns?state=done&state=failed", "", 400},
		{"GET", "/v1/turns?limit=%zz", "", 400},
		{"GET", "/v1/turns/12?limit=3", "", 400},
		{"GET", "/v1/status?token=x", "", 400},
		{"POST", "/v1/messages?session=a", `{"text":"hi"}`, 400},
		{"GET", "/healthz?probe=7", "", 200},
	} {
		got := do(t, h, c.method, c.path, c.body)
		if got.status != c.want {
			t.Errorf("%s %s %s: status %d, want %d: %s", c.method, c.path, c.body, got.status, c.want, got.raw)
		}
		checkShape(t, c.method+" "+c.path, got)
	}
}

// checkShape holds for every answer: JSON with a fitting type, and errors that say something.
func checkShape(t *testing.T, what string, got answer) {
	t.Helper()
	if got.status < 300 {
		if got.kind != "application/json" {
			t.Errorf("%s: type %q", what, got.kind)
		}
		return
	}
	if got.kind != "application/problem+json" {
		t.Errorf("%s: an error of type %q", what, got.kind)
	}
	if got.doc["type"] != "about:blank" || got.doc["title"] != http.StatusText(got.status) || got.doc["status"] != float64(got.status) || got.doc["detail"] == "" {
		t.Errorf("%s: problem %s", what, got.raw)
	}
	if strings.Contains(got.raw, "secret detail") {
		t.Errorf("%s: the inside shows: %s", what, got.raw)
	}
	if got.status == http.StatusServiceUnavailable && got.header.Get("Retry-After") == "" {
		t.Errorf("%s: no Retry-After", what)
	}
	if got.status == http.StatusMethodNotAllowed && got.header.Get("Allow") == "" {
		t.Errorf("%s: no Allow", what)
	}
}

// TestWrongBodies: what is wrong is said in JSON's words, not in Go's.
func TestWrongBodies(t *testing.T) {
	h := server.New(newFakeDaemon().deps())
	for _, c := range []struct{ path, body, want string }{
		{"/v1/messages", `[]`, "want an object, got a list"},
		{"/v1/messages", `"hi"`, "want an object, got a text"},
		{"/v1/messages", `true`, "want an object, got true or false"},
		{"/v1/messages", `{"text":3.5}`, `"text": want a text, got a number`},
		{"/v1/messages", `{"text":"hi","x":1}`, `unknown field "x"`},
		{"/v1/messages", `{"text":`, "it ends too early"},
		{"/v1/questions/AB/answer", `{"text":["a"]}`, "want a text, got a list"},
		{"/v1/questions/AB/answer", `[]`, "want an object, got a list"},
	} {
		got := do(t, h, "POST", c.path, c.body)
		detail, _ := got.doc["detail"].(string)
		if got.status != 400 || !strings.HasSuffix(detail, "is not understood: "+c.want) || strings.Contains(detail, "Go ") || strings.Contains(detail, "json:") {
			t.Errorf("%s %s: %d %q, want %q", c.path, c.body, got.status, detail, c.want)
		}
	}
}

func TestSameIDIsTheSameMessage(t *testing.T) {
	h := server.New(newFakeDaemon().deps())
	first := do(t, h, "POST", "/v1/messages", `{"text":"hi","id":"a"}`)
	again := do(t, h, "POST", "/v1/messages", `{"text":"hi","id":"a"}`)
	if first.status != 202 || again.status != 200 || first.raw != again.raw {
		t.Errorf("first %d %s, again %d %s", first.status, first.raw, again.status, again.raw)
	}
}

func TestFilterReachesTheRows(t *testing.T) {
	w := newFakeDaemon()
	do(t, server.New(w.deps()), "GET", "/v1/turns?limit=7&state=failed&name=a+b", "")
	if want := (event.Filter{Limit: 7, State: "failed", Name: "a b"}); w.filter != want {
		t.Errorf("filter %+v, want %+v", w.filter, want)
	}
}

func TestNamesMayHoldAnything(t *testing.T) {
	got := do(t, server.New(newFakeDaemon().deps()), "GET", "/v1/sessions/ntfy.alerts%3Aa%2Fb", "")
	if got.doc["id"] != "ntfy.alerts:a/b" {
		t.Errorf("got %s", got.raw)
	}
}

func TestActsCarryTheirArguments(t *testing.T) {
	w := newFakeDaemon()
	do(t, server.New(w.deps()), "POST", "/v1/questions/AB/answer", `{"text":"blue"}`)
	want := []act{{"POST /v1/questions/{id}/answer", "AB", api.Answer{Text: "blue"}}}
	if !reflect.DeepEqual(w.acts, want) {
		t.Errorf("acts %+v, want %+v", w.acts, want)
	}
}

// TestWrongArguments: an argument that a verb needs and does not have, one that it does not take, and an id that is no number.
func TestWrongArguments(t *testing.T) {
	w := newFakeDaemon()
	h := server.New(w.deps())
	for _, c := range []struct{ path, body, want string }{
		{"/v1/questions/AB/answer", `{}`, `answer: "text" is missing`},
		{"/v1/questions/AB/answer", `{"text":" "}`, `answer: "text" is missing`},
		{"/v1/questions/AB/approve", `{"scope":"ever"}`, `scope "ever" is not once, turn or always`},
		{"/v1/questions/AB/approve", `{"scope":""}`, `scope "" is not once, turn or always`},
		{"/v1/questions/AB/deny", `{"scope":"once"}`, `deny: there is no argument "scope"`},
		{"/v1/turns/3/stop", `{"why":""}`, `stop: there is no argument "why"`},
		{"/v1/pairings/x/revoke", ``, `"x" is not the id of a pairing`},
		{"/v1/pairings/-1/revoke", ``, `"-1" is not the id of a pairing`},
	} {
		if got := do(t, h, "POST", c.path, c.body); got.status != 400 || got.doc["detail"] != c.want || got.doc["kind"] != "invalid" {
			t.Errorf("%s %s: %d %s, want %q", c.path, c.body, got.status, got.raw, c.want)
		}
	}
	if len(w.acts) > 0 {
		t.Errorf("carried out: %+v", w.acts)
	}
}

// TestSecretsAreHidden: lists and rows have no values of secrets in them. The answer is JSON, whatever the secret is.
func TestSecretsAreHidden(t *testing.T) {
	deps := newFakeDaemon().deps()
	deps.Hide = func(text string) string { return strings.ReplaceAll(text, "turns", "[secret]") }
	h := server.New(deps)
	for path, want := range map[string]string{"/v1/turns": `["[secret]"]`, "/v1/turns/3": `{"id":"3","resource":"[secret]"}`, "/v1/questions": `["questions"]`} {
		if got := do(t, h, "GET", path, ""); strings.TrimSpace(got.raw) != want {
			t.Errorf("%s: %s, want %s", path, got.raw, want)
		}
	}
	deps.Hide = func(text string) string { return strings.ReplaceAll(text, `3","resource":"t`, "") }
	if got := do(t, server.New(deps), "GET", "/v1/turns/3", ""); got.status != 200 || got.doc["resource"] != "turns" {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

func TestHealth(t *testing.T) {
	w := newFakeDaemon()
	w.sick = true
	got := do(t, server.New(w.deps()), "GET", "/healthz", "")
	if got.status != 503 || got.doc["ok"] != false || got.doc["components"] == nil {
		t.Errorf("%d %s", got.status, got.raw)
	}
}

func TestToolCalls(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"done", `{"input":{"path":"a"}}`, `{"success":true,"result":{"lines":1},"message":"fine"}`},
		{"an error result", `{"input":{"path":"no"}}`, `{"success":false,"message":"nothing there","error":"NOT_FOUND","hint":"look"}`},
		{"an error with more behind its hint", `{"input":{"path":"more"}}`, `{"success":false,"message":"nothing there\nhalf was done","error":"NOT_FOUND","hint":"look"}`},
		{"without input", ``, `{"success":true,"result":{"lines":1},"message":"fine"}`},
		{"approved", `{"input":{"path":"ask"},"approve":"h1"}`, `{"success":true,"result":{"lines":1},"message":"fine"}`},
		{
			"asked", `{"input":{"path":"ask"}}`,
			`{"type":"about:blank","title":"Forbidden","status":403,"detail":"this needs your approval: read ask","hint":"call again with approve set to the hash",` +
				`"kind":"approval","code":"ABCD","summary":"read ask","reason":"foreign text","allow":"allow = [\"read\"]","canonical":"read\nask","hash":"h1","warnings":["careful"]}`,
		},
	} {
		got := do(t, server.New(newFakeDaemon().deps()), "POST", "/v1/tools/read", c.body)
		if strings.TrimSpace(got.raw) != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got.raw, c.want)
		}
	}
}

// TestBodyCap: a body has at most 1 MB, but that of a message, which may bring 20 MB of attachments in base64.
func TestBodyCap(t *testing.T) {
	h := server.New(newFakeDaemon().deps())
	for path, limit := range map[string]int{"/v1/sessions/main/send": 1 << 20, "/v1/messages": (20<<20+2)/3*4 + 1<<20} {
		fits := `{"text":"` + strings.Repeat("a", limit-11) + `"}`
		if len(fits) != limit {
			t.Fatalf("the test is wrong: %d bytes", len(fits))
		}
		if got := do(t, h, "POST", path, fits); got.status != 202 {
			t.Errorf("%s: a body of %d bytes: %d %s", path, limit, got.status, got.raw)
		}
		got := do(t, h, "POST", path, fits+" ")
		if detail, _ := got.doc["detail"].(string); got.status != 413 || got.doc["kind"] != "too_large" || !strings.HasSuffix(detail, fmt.Sprintf(" over %d bytes", limit)) {
			t.Errorf("%s: one byte more: %d %s", path, got.status, got.raw)
		}
		checkShape(t, "body cap", got)
	}
}

// FuzzBody sends any bytes to the routes that take a body: always JSON, never an inner error.
func FuzzBody(f *testing.F) {
	for _, s := range []string{`{"text":"hi"}`, `{"input":{"path":"ask"}}`, `null`, `[]`, `{"text":"hi","id":"a"}`, "\xff", `{"scope":"once"}`, `{"attachments":[{"name":"a","data":"aGk="}]}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		h := server.New(newFakeDaemon().deps())
		for _, path := range []string{"/v1/messages", "/v1/tools/read", "/v1/questions/AB/approve", "/v1/budget/set", "/v1/send"} {
			got := serve(t, h, httptest.NewRequest("POST", path, strings.NewReader(body)))
			if got.status >= 500 && got.status != 503 || !json.Valid([]byte(got.raw)) {
				t.Errorf("%s %q: %d %s", path, body, got.status, got.raw)
			}
		}
	})
}
