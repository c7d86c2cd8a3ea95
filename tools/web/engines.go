package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"hob/daemon/netguard"
)

// errChallenge says that an engine wants proof that a person is asking.
var errChallenge = errors.New("a challenge in the place of results")

// engine describes how to query one search engine. search.go sends what ask returns and passes the body of the answer to read; an engine
// itself makes no request, so all of them share the limits, the proxy and the check of addresses.
type engine struct {
	name, home     string // home is its address; "" if each owner runs one
	key            bool   // it requires a key, in this header after scheme
	header, scheme string
	hint           string // what to check if its answer is unexpected
	ask            func(base *url.URL, in SearchInput) netguard.Request
	read           func(body []byte) ([]Hit, error)
}

// engines lists the search engines. Their names are the words of the key search in [tools.web] (config/toolweb.go).
func engines() []engine {
	return []engine{
		{name: "searxng", ask: askSearXNG, read: readSearXNG, hint: "SearXNG must allow the format json (search.formats in its settings.yml)"},
		{name: "brave", home: "https://api.search.brave.com/res/v1/web/search", key: true, header: "X-Subscription-Token", ask: askBrave, read: readBrave},
		{name: "tavily", home: "https://api.tavily.com/search", key: true, header: "Authorization", scheme: "Bearer ", ask: askTavily, read: readTavily},
		{name: "duckduckgo", home: "https://html.duckduckgo.com/html/", ask: askDuckDuckGo, read: readDuckDuckGo},
	}
}

// with returns an address with additional query parameters.
func with(base *url.URL, values url.Values) string {
	u := *base
	q := u.Query()
	for name, v := range values {
		q[name] = v
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// narrowed adds the domain filters to the query text, for engines without a parameter for them.
func narrowed(in SearchInput) string {
	var sites []string
	for _, d := range in.Allowed {
		sites = append(sites, "site:"+d)
	}
	q := in.Query
	if len(sites) > 0 {
		// Engines read several site: filters in a row as "all of them", so they are joined by OR.
		q += " " + strings.Join(sites, " OR ")
	}
	for _, d := range in.Blocked {
		q += " -site:" + d
	}
	return q
}

// wantJSON returns the header that requests JSON.
func wantJSON() http.Header { return http.Header{"Accept": {"application/json"}} }

// askSearXNG builds the request (https://docs.searxng.org/dev/search_api.html).
func askSearXNG(base *url.URL, in SearchInput) netguard.Request {
	u := *base
	// The owner may name the home page of the instance or its search page.
	if !strings.HasSuffix(strings.TrimSuffix(u.Path, "/"), "/search") {
		u = *u.JoinPath("search")
	}
	return netguard.Request{Link: with(&u, url.Values{"q": {narrowed(in)}, "format": {"json"}}), Header: wantJSON()}
}

// readSearXNG parses the answer.
func readSearXNG(body []byte) ([]Hit, error) {
	var out struct {
		Results []struct{ Title, URL, Content string } `json:"results"`
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var hits []Hit
	for _, r := range out.Results {
		hits = append(hits, Hit{r.Title, r.URL, r.Content})
	}
	return hits, nil
}

// askBrave builds the request
// (https://api-dashboard.search.brave.com/app/documentation/web-search/get-started).
func askBrave(base *url.URL, in SearchInput) netguard.Request {
	// 20 is the most that Brave accepts. More than the limit are requested, because show drops some of them.
	return netguard.Request{Link: with(base, url.Values{"q": {narrowed(in)}, "count": {strconv.Itoa(20)}, "text_decorations": {"false"}}), Header: wantJSON()}
}

// readBrave parses the answer.
func readBrave(body []byte) ([]Hit, error) {
	var out struct {
		Web struct {
			Results []struct{ Title, URL, Description string } `json:"results"`
		} `json:"web"`
	}
	if err := json.Unmarshal(body, &out); err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var hits []Hit
	for _, r := range out.Web.Results {
		// Brave marks up its texts with tags and entities.
		hits = append(hits, Hit{plainText(r.Title), r.URL, plainText(r.Description)})
	}
	return hits, nil
}

// askTavily builds the request
// (https://docs.tavily.com/documentation/api-reference/endpoint/search).
func askTavily(base *url.URL, in SearchInput) netguard.Request {
	body, err := json.Marshal(struct {
		Query   string   `json:"query"`
		Max     int      `json:"max_results"`
		Include []string `json:"include_domains,omitempty"`
		Exclude []string `json:"exclude_domains,omitempty"`
	}{in.Query, in.Limit, in.Allowed, in.Blocked})
	if err != nil {
		panic(err) // cannot happen: texts and numbers can always be encoded
	}
	h := wantJSON()
	h.Set("Content-Type", "application/json")
	return netguard.Request{Method: http.MethodPost, Link: base.String(), Header: h, Body: body}
}

func readTavily(body []byte) ([]Hit, error) { return readSearXNG(body) } // the results have the same three fields

// askDuckDuckGo requests the page without scripts.
func askDuckDuckGo(base *url.URL, in SearchInput) netguard.Request {
	return netguard.Request{Link: with(base, url.Values{"q": {narrowed(in)}}), Header: http.Header{"Accept": {"text/html"}, "Accept-Language": {"en"}}}
}

// readDuckDuckGo finds the results by their CSS classes: a.result__a is the title with the address
// in uddg, .result__snippet the text, .result--ad an advertisement.
func readDuckDuckGo(body []byte) ([]Hit, error) {
	doc, err := html.Parse(strings.NewReader(string(body)))
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	var hits []Hit
	// known tells a page without results from a page that has been redesigned.
	known := false
	for n := range doc.Descendants() {
		switch {
		case hasClass(n, "anomaly-modal"), attr(n, "id") == "challenge-form":
			return nil, errChallenge
		case hasClass(n, "no-results"), attr(n, "id") == "links", hasClass(n, "results"):
			known = true
		case hasClass(n, "result") && !hasClass(n, "result--ad"):
			if h, ok := hitOf(n); ok {
				hits = append(hits, h)
			}
		}
	}
	if len(hits) == 0 && !known {
		return nil, errors.New("a page without a list of results")
	}
	return hits, nil
}

// hitOf reads one result.
func hitOf(result *html.Node) (Hit, bool) {
	var h Hit
	for n := range result.Descendants() {
		switch {
		case n.DataAtom == atom.A && hasClass(n, "result__a"):
			h.Title, h.URL = textOf(n), direct(attr(n, "href"))
		case hasClass(n, "result__snippet"):
			h.Snippet = textOf(n)
		}
	}
	return h, h.URL != ""
}

// direct extracts the address from the engine's redirect, //duckduckgo.com/l/?uddg=ADDRESS.
func direct(href string) string {
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if to := u.Query().Get("uddg"); to != "" && strings.HasSuffix(u.Path, "/l/") {
		return to
	}
	return href
}

// attr returns an attribute, or "".
func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// hasClass reports whether an element has a CSS class.
func hasClass(n *html.Node, class string) bool {
	return slices.Contains(strings.Fields(attr(n, "class")), class)
}

// textOf returns the text inside an element.
func textOf(n *html.Node) string {
	var b strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			b.WriteString(c.Data)
		}
	}
	return b.String()
}

// plainText removes tags and entities from a piece of HTML.
func plainText(s string) string {
	nodes, err := html.ParseFragment(strings.NewReader(s), &html.Node{Type: html.ElementNode, Data: "div", DataAtom: atom.Div})
	if err != nil {
		return s
	}
	var b strings.Builder
	for _, n := range nodes {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		b.WriteString(textOf(n))
	}
	return b.String()
}
