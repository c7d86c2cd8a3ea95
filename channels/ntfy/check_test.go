package ntfy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"hob/channels/channelstest"
	"hob/channels/ntfy"
)

// TestTest: everything that can be checked without sending is checked, and faults come with advice.
func TestTest(t *testing.T) {
	no := false
	for name, tc := range map[string]struct {
		cfg     ntfy.Config
		protect string // the token that the topic wants
		works   []string
		fault   string
	}{
		"an open topic":        {cfg: ntfy.Config{Topic: "talk"}, works: []string{"answers, and is healthy", "topic talk can be read"}},
		"two topics":           {cfg: ntfy.Config{Topics: []string{"talk", "news"}}, works: []string{"healthy", "talk can be read", "news can be read"}},
		"with a token":         {cfg: ntfy.Config{Topic: "talk", Token: "env:TOKEN"}, protect: "tk_secret", works: []string{"healthy", "talk can be read", "accepts the token"}},
		"the owner's":          {cfg: ntfy.Config{Topic: "talk", Token: "env:TOKEN", Owner: true}, protect: "tk_secret", works: []string{"healthy", "can be read", "accepts the token", "Nobody can write"}},
		"owned by everybody":   {cfg: ntfy.Config{Topic: "talk", Token: "env:TOKEN", Owner: true}, works: []string{"healthy", "can be read", "accepts the token"}, fault: "anybody can write"},
		"a revoked token":      {cfg: ntfy.Config{Topic: "talk", Token: "env:TOKEN"}, protect: "tk_new", fault: "401 Unauthorized (unauthorized); it does not accept the token"},
		"without its token":    {cfg: ntfy.Config{Topic: "talk"}, protect: "tk_secret", works: []string{"healthy"}, fault: "403 Forbidden (forbidden); check token"},
		"only sent to":         {cfg: ntfy.Config{Topic: "talk", Receive: &no}, works: []string{"healthy", "the first message will show"}},
		"sent to, never read":  {cfg: ntfy.Config{Topic: "talk", Receive: &no}, protect: "tk_secret", works: []string{"healthy", "the first message will show"}},
		"sent to with nothing": {cfg: ntfy.Config{Topic: "talk", Receive: &no, Token: "env:TOKEN"}, protect: "tk_new", fault: "does not accept the token"},
	} {
		n := server(t)
		if tc.protect != "" {
			n.Protect("talk", tc.protect)
		}
		tc.cfg.Server = n.URL()
		works, err := open(t, tc.cfg).Test(t.Context())
		if !slices.EqualFunc(works, tc.works, strings.Contains) || (err != nil) != (tc.fault != "") || err != nil && !strings.Contains(err.Error(), tc.fault) {
			t.Errorf("%s: %q, %v; want %q, %q", name, works, err, tc.works, tc.fault)
		}
		if sent := n.Received(); len(sent) != 0 {
			t.Errorf("%s: a test has sent %+v", name, sent)
		}
	}
}

// TestTestOfWhatIsNoServer: the address may belong to another server, an old server, or to nothing.
func TestTestOfWhatIsNoServer(t *testing.T) {
	for name, tc := range map[string]struct {
		code  int
		body  string
		fault string
	}{
		"a web page":   {200, "<html>", "not as an ntfy server does; check the key server"},
		"other JSON":   {200, "{}", "not as an ntfy server does; check the key server"},
		"not healthy":  {200, `{"healthy":false}`, "not healthy"},
		"moved":        {301, "", "301 Moved Permanently to https://elsewhere.test/v1/health; use that address as server"},
		"broken":       {502, "", "502 Bad Gateway"},
		"an older one": {404, `{"error":"page not found"}`, ""},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/v1/health" {
				return // an empty list
			}
			w.Header().Set("Location", "https://elsewhere.test/v1/health")
			w.WriteHeader(tc.code)
			_, _ = io.WriteString(w, tc.body) // a reader that has gone is no trouble of the test's
		}))
		works, err := open(t, ntfy.Config{Server: srv.URL, Topic: "talk"}).Test(t.Context())
		srv.Close()
		if tc.fault == "" && (err != nil || len(works) != 1) || tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)) {
			t.Errorf("%s: %q, %v; want %q", name, works, err, tc.fault)
		}
	}
	n, err := channelstest.NewNtfy("")
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	if works, err := open(t, ntfy.Config{Server: n.URL(), Topic: "talk"}).Test(t.Context()); err == nil || len(works) != 0 {
		t.Errorf("nobody there: %q, %v", works, err)
	}
}
