package anthropic_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"hob/daemon/llm"
	"hob/daemon/llm/anthropic"
)

// listed asks a server for its models, and returns the queries that it got.
func listed(t *testing.T, serve func(after string) string) ([]llm.Entry, []string, error) {
	t.Helper()
	var queries []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("x-api-key") != "sk-secret" || r.Header.Get("anthropic-version") == "" || r.Header.Get("Authorization") != "" {
			t.Errorf("the request is %s with %v", r.URL, r.Header)
		}
		queries = append(queries, r.URL.RawQuery)
		_, _ = fmt.Fprint(w, serve(r.URL.Query().Get("after_id"))) // the client may be gone
	}))
	t.Cleanup(s.Close)
	c := config(nil)
	c.BaseURL, c.HTTP = s.URL+"/v1", s.Client()
	list, err := anthropic.List(t.Context(), c)
	return list, queries, err
}

// The pages of a list are read one after the other. What the list does not tell is added; models that are gone are left out.
func TestListInPages(t *testing.T) {
	list, queries, err := listed(t, func(after string) string {
		if after == "claude-sonnet-4-6" {
			return `{"data":[{"id":"claude-haiku-4-5-20251001","display_name":"Haiku"},{"id":"claude-1","lifecycle":"retired"}],"has_more":false,"last_id":"claude-1"}`
		}
		return `{"data":[{"id":"new","max_input_tokens":123456,"max_tokens":777,"capabilities":{"image_input":{"supported":true}}},{"id":"claude-sonnet-4-6","max_input_tokens":1000000}],"has_more":true,"last_id":"claude-sonnet-4-6"}`
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 3 || strings.Join(queries, " ") != "limit=1000 after_id=claude-sonnet-4-6&limit=1000" {
		t.Fatalf("%+v after %q", list, queries)
	}
	haiku, sonnet, other := list[0], list[1], list[2]
	if haiku.ID != "claude-haiku-4-5-20251001" || haiku.Name != "Haiku" || haiku.Context != 200_000 || haiku.MaxOutput != 64_000 || haiku.Price.Input != 1_000_000 {
		t.Errorf("%+v", haiku)
	}
	if sonnet.Context != 1_000_000 || sonnet.Window != 1_000_000 || sonnet.Price.Written != 3_750_000 || sonnet.Tools == nil || !*sonnet.Tools {
		t.Errorf("%+v", sonnet)
	}
	if other.Window != 123_456 || other.MaxOutput != 777 || other.Price.Known() || other.Vision == nil || !*other.Vision {
		t.Errorf("%+v", other)
	}
}

// A list without an end is read up to a limit, and what is no list is an error with a hint.
func TestHostileLists(t *testing.T) {
	n := 0
	list, queries, err := listed(t, func(string) string {
		n++
		return fmt.Sprintf(`{"data":[{"id":"m%d"}],"has_more":true,"last_id":"m%d"}`, n, n)
	})
	if err != nil || len(list) != 10 || len(queries) != 10 {
		t.Errorf("%d models after %d requests, %v", len(list), len(queries), err)
	}
	for _, body := range []string{"", "<html>", "[]", `{"error":{"message":"no sk-secret"}}`, `{"data":7}`, `{"models":[]}`} {
		if _, _, err := listed(t, func(string) string { return body }); llm.FaultOf(err) != llm.Malformed || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%q: %v", body, err)
		}
	}
	if list, _, err := listed(t, func(string) string { return `{"data":[],"has_more":true}` }); err != nil || len(list) != 0 {
		t.Errorf("an empty list: %v, %v", list, err)
	}
}
