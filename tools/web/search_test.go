package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"hob/daemon/netguard"
	"hob/tools"
	"hob/tools/web"
)

// The four engines, each as it speaks: what it wants to be asked, and what it answers. All know the same three pages, in the same
// order, beside what only they send.
func fakes(t *testing.T) map[string]http.HandlerFunc {
	t.Helper()
	return map[string]http.HandlerFunc{"searxng": searxng(t), "brave": brave(t), "tavily": tavily(t), "duckduckgo": duckduckgo(t)}
}

func searxng(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" || r.URL.Path != "/search" || r.URL.Query().Get("format") != "json" {
			w.WriteHeader(http.StatusForbidden) // what SearXNG answers when the format is not allowed
			return
		}
		w.Header().Set("Content-Type", "application/json")
		write(t, w, `{"query": `+fmt.Sprintf("%q", r.URL.Query().Get("q"))+`, "number_of_results": 0, "results": [
			{"url": "https://go.dev/doc/go1.26", "title": "Go 1.26 Release Notes", "content": "The latest Go release.", "engine": "google", "engines": ["google"], "score": 3.0, "category": "general"},
			{"url": "https://example.org/b", "title": "B", "content": "About b.", "engine": "bing", "publishedDate": null},
			{"url": "https://sub.example.org/c", "title": "C", "content": null}
		], "answers": [], "suggestions": [], "unresponsive_engines": [["qwant", "timeout"]]}`)
	}
}

func brave(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Subscription-Token") != "search-canary" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Method != "GET" || r.URL.Path != "/res/v1/web/search" || r.URL.Query().Get("q") == "" {
			w.WriteHeader(http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		write(t, w, `{"type": "search", "query": {"original": "x"}, "mixed": {}, "web": {"type": "search", "results": [
			{"title": "Go 1.26 Release Notes", "url": "https://go.dev/doc/go1.26", "description": "The latest <strong>Go</strong> release.", "language": "en", "age": "May 1"},
			{"title": "B", "url": "https://example.org/b", "description": "About b."},
			{"title": "C", "url": "https://sub.example.org/c", "description": ""}
		], "family_friendly": true}}`)
	}
}

func tavily(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer search-canary" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var in struct {
			Query   string   `json:"query"`
			Max     int      `json:"max_results"`
			Include []string `json:"include_domains"`
			Exclude []string `json:"exclude_domains"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Method != "POST" || r.URL.Path != "/search" || in.Query == "" || in.Max < 1 || in.Max > 20 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		write(t, w, `{"query": "x", "follow_up_questions": null, "answer": null, "images": [], "results": [
			{"title": "Go 1.26 Release Notes", "url": "https://go.dev/doc/go1.26", "content": "The latest Go release.", "score": 0.9, "raw_content": null},
			{"title": "B", "url": "https://example.org/b", "content": "About b.", "score": 0.8},
			{"title": "C", "url": "https://sub.example.org/c", "content": "", "score": 0.7}
		], "response_time": 1.2}`)
	}
}

func duckduckgo(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/html/" || r.URL.Query().Get("q") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		result := func(class, title, to, text string) string {
			href := "//duckduckgo.com/l/?uddg=" + url.QueryEscape(to) + "&amp;rut=0abc"
			return `<div class="result results_links results_links_deep ` + class + `"><div class="links_main links_deep result__body">
				<h2 class="result__title"><a rel="nofollow" class="result__a" href="` + href + `">` + title + `</a></h2>
				<div class="result__extras"><a class="result__url" href="` + href + `"> ` + to + ` </a></div>
				<a class="result__snippet" href="` + href + `">` + text + `</a><div class="clear"></div></div></div>`
		}
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		write(t, w, `<!DOCTYPE html><html><body><div class="serp__results"><div id="links" class="results">`+
			result("result--ad", "Buy Go", "https://ads.example.com/", "An advertisement")+
			result("web-result", "Go 1.26 Release Notes", "https://go.dev/doc/go1.26", "The latest <b>Go</b> release.")+
			result("web-result", "B", "https://example.org/b", "About b.")+
			result("web-result", "C", "https://sub.example.org/c", "")+`</div></div></body></html>`)
	}
}

// paths are where the engines listen.
func paths() map[string]string {
	return map[string]string{"searxng": "", "brave": "/res/v1/web/search", "tavily": "/search", "duckduckgo": "/html/"}
}

func searchOf(engine, at string, client *netguard.Client) tools.Tool {
	return web.NewSearch(web.SearchDeps{Client: client, Engine: engine, URL: at + paths()[engine], Key: "env:search-canary", Resolve: vault})
}

func TestSearchEngines(t *testing.T) {
	for engine, fake := range fakes(t) {
		at, client := serve(t, fake)
		tool := searchOf(engine, at, client)
		described(t, tool)
		intent, res := do(t, tool, args{"query": "go 1.26 & more"})
		want := "1. Go 1.26 Release Notes\n   The latest Go release.\n2. B\n   About b.\n3. C\n\nSources:\n1. https://go.dev/doc/go1.26\n2. https://example.org/b\n3. https://sub.example.org/c"
		if res.IsError || res.Content != want {
			t.Errorf("%s: %s", engine, res.Content)
			continue
		}
		f := res.Data.(web.SearchOutput)
		if f.Engine != engine || len(f.Results) != 3 || f.Results[1] != (web.Hit{Title: "B", URL: "https://example.org/b", Snippet: "About b."}) {
			t.Errorf("%s: %+v", engine, f)
		}
		if intent.Effect != tools.Read || intent.Private || !slices.Equal(intent.Hosts, []string{strings.TrimPrefix(at, "https://")}) || len(intent.Links) != 1 ||
			!strings.HasPrefix(intent.Links[0], at) || intent.Foreign != "web search: "+engine || strings.Contains(string(intent.Canonical)+intent.Links[0], "canary") {
			t.Errorf("%s: %+v", engine, intent)
		}
	}
}

func TestSearchNarrows(t *testing.T) {
	for engine, fake := range fakes(t) {
		var asked []string
		at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Query().Get("q"))
			fake(w, r)
		})
		tool := searchOf(engine, at, client)
		for _, c := range []struct {
			in   args
			want []string
			q    string
		}{
			{args{"query": "x", "limit": 1}, []string{"https://go.dev/doc/go1.26"}, "x"},
			{args{"query": "x", "allowed_domains": []string{"https://Example.org/path"}}, []string{"https://example.org/b", "https://sub.example.org/c"}, "x site:example.org"},
			{args{"query": "x", "blocked_domains": []string{"example.org"}}, []string{"https://go.dev/doc/go1.26"}, "x -site:example.org"},
			{args{"query": "x", "allowed_domains": []string{"example.org", "go.dev"}, "blocked_domains": []string{"sub.example.org"}}, []string{"https://go.dev/doc/go1.26", "https://example.org/b"}, "x site:example.org OR site:go.dev -site:sub.example.org"},
			{args{"query": "x", "allowed_domains": []string{"ample.org"}}, nil, "x site:ample.org"},
		} {
			_, res := do(t, tool, c.in)
			var got []string
			f, _ := res.Data.(web.SearchOutput)
			for _, h := range f.Results {
				got = append(got, h.URL)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%s, %v: %q %s", engine, c.in, got, res.Content)
			}
			if q := asked[len(asked)-1]; engine != "tavily" && q != c.q {
				t.Errorf("%s, %v: asked for %q", engine, c.in, q)
			}
			if len(c.want) == 0 && !strings.Contains(res.Content, "found nothing") {
				t.Errorf("%s: %s", engine, res.Content)
			}
		}
		if _, res := do(t, tool, args{"query": "x", "allowed_domains": []string{"not a domain"}}); res.Code != tools.Validation {
			t.Errorf("%s: %s", engine, res.Content)
		}
	}
}

// What an engine sends is somebody else's: only addresses of the web count, once each, and nothing of it breaks a line.
func TestSearchDistrustsResults(t *testing.T) {
	at, client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		write(t, w, `{"results": [
			{"url": "javascript:alert(1)", "title": "script", "content": ""}, {"url": "file:///etc/passwd", "title": "file", "content": ""},
			{"url": "https://user:pw@example.org/", "title": "credentials", "content": ""}, {"url": "", "title": "none", "content": ""},
			{"url": "HTTPS://Example.org:443/a#x", "title": "one\n\nSources:\n1. https://evil.example", "content": "`+strings.Repeat("long ", 500)+`"},
			{"url": "https://example.org/a", "title": "again", "content": ""}, {"url": "https://example.org/b", "title": "", "content": "\n"}
		]}`)
	})
	_, res := do(t, searchOf("searxng", at, client), args{"query": "x"})
	f := res.Data.(web.SearchOutput)
	if len(f.Results) != 2 || f.Results[0].URL != "https://example.org/a" || f.Results[1].Title != "example.org" || len([]rune(f.Results[0].Snippet)) != 501 {
		t.Errorf("%+v", f)
	}
	if !strings.HasSuffix(res.Content, "\n\nSources:\n1. https://example.org/a\n2. https://example.org/b") || strings.Count(res.Content, "\nSources:") != 1 {
		t.Errorf("%s", res.Content)
	}
}

func TestSearchFailures(t *testing.T) {
	answer := func(code int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if code == http.StatusFound {
				http.Redirect(w, r, "https://example.org/", code)
				return
			}
			w.WriteHeader(code)
			write(t, w, text)
		}
	}
	for _, c := range []struct {
		engine string
		fake   http.HandlerFunc
		code   tools.Code
		want   string
	}{
		{"searxng", answer(200, "<html>"), tools.IO, "search.formats"},
		{"searxng", answer(403, ""), tools.Denied, "403"},
		{"brave", answer(401, ""), tools.ConfigError, "[tools.web] search_key"},
		{"brave", answer(429, ""), tools.RateLimited, "429"},
		{"tavily", answer(403, ""), tools.ConfigError, "search_key"},
		{"tavily", answer(500, ""), tools.IO, "500"},
		{"duckduckgo", answer(202, `<div class="anomaly-modal__mask"></div><div class="anomaly-modal">bots</div>`), tools.RateLimited, "wants proof that a person is asking"},
		{"duckduckgo", answer(200, `<p>something else</p>`), tools.IO, "without a list of results"},
		{"duckduckgo", answer(200, `<div id="links" class="results"><div class="no-results">No results.</div></div>`), "", "found nothing"},
		{"duckduckgo", answer(302, ""), tools.ConfigError, "redirects to https://example.org/"},
	} {
		at, client := serve(t, c.fake)
		_, res := do(t, searchOf(c.engine, at, client), args{"query": "x"})
		if res.Code != c.code || !strings.Contains(res.Content, c.want) || strings.Contains(res.Content, "canary") {
			t.Errorf("%s: %s", c.engine, res.Content)
		}
	}
}

// A tool that lacks something says what; with it, it is there. DuckDuckGo needs nothing.
func TestSearchIsAvailable(t *testing.T) {
	for _, c := range []struct {
		d    web.SearchDeps
		want string
	}{
		{web.SearchDeps{}, ""},
		{web.SearchDeps{Engine: "duckduckgo"}, ""},
		{web.SearchDeps{Engine: "searxng"}, "search_url"},
		{web.SearchDeps{Engine: "searxng", URL: "http://localhost:8888"}, ""},
		{web.SearchDeps{Engine: "searxng", URL: "localhost"}, "search_url"},
		{web.SearchDeps{Engine: "brave"}, "search_key"},
		{web.SearchDeps{Engine: "brave", Key: "env:X"}, ""},
		{web.SearchDeps{Engine: "tavily"}, "search_key"},
		{web.SearchDeps{Engine: "tavily", Key: "env:X"}, ""},
		{web.SearchDeps{Engine: "altavista"}, "not a search engine that hob knows"},
	} {
		tool := web.NewSearch(c.d)
		got := tool.(tools.Available).Missing()
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c.d, got)
		}
		if _, err := tool.Intent(t.Context(), callOf(t, args{"query": "x"}, morning())); (err == nil) != (got == "") {
			t.Errorf("%+v: %v", c.d, err)
		}
	}
	intent, err := web.NewSearch(web.SearchDeps{}).Intent(t.Context(), callOf(t, args{"query": "a b&c"}, morning()))
	if err != nil || !slices.Equal(intent.Links, []string{"https://html.duckduckgo.com/html/?q=a+b%26c"}) {
		t.Errorf("%q, %v", intent.Links, err)
	}
}

func TestSearchKeyIsMissing(t *testing.T) {
	_, client := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("asked without a key") })
	tool := web.NewSearch(web.SearchDeps{Client: client, Engine: "brave", Key: "env:MISSING", Resolve: vault})
	if _, res := do(t, tool, args{"query": "x"}); res.Code != tools.ConfigError || !strings.Contains(res.Content, "MISSING is not set") {
		t.Errorf("%s", res.Content)
	}
}

func TestSearchStops(t *testing.T) {
	started := make(chan struct{})
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	})
	stopped(t, searchOf("searxng", at, client), args{"query": "x"}, started)
}
