package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"hob/daemon/netguard"
	"hob/daemon/text"
	"hob/tools"
)

// SearchInput is the input of web_search.
type SearchInput struct {
	Query   string   `json:"query" jsonschema:"what to search for" min:"1" max:"400"`
	Allowed []string `json:"allowed_domains,omitempty" jsonschema:"only results of these domains and what is below them" max:"20"`
	Blocked []string `json:"blocked_domains,omitempty" jsonschema:"no results of these" max:"20"`
	Limit   int      `json:"limit,omitempty" jsonschema:"results" default:"8" min:"1" max:"20"`
}

// SearchOutput is the output of web_search.
type SearchOutput struct {
	Query   string `json:"query" jsonschema:"what was searched for"`
	Engine  string `json:"engine" jsonschema:"who answered"`
	Results []Hit  `json:"results" jsonschema:"best first"`
}

// Hit is one result of a search.
type Hit struct {
	Title   string `json:"title" jsonschema:"title of the page"`
	URL     string `json:"url" jsonschema:"its address"`
	Snippet string `json:"snippet,omitempty" jsonschema:"what it says, in short"`
}

// Limits of a result, in characters.
const (
	maxTitle   = 200
	maxSnippet = 500
)

// SearchDeps holds the dependencies of web_search, and its settings from [tools.web].
type SearchDeps struct {
	Client  *netguard.Client
	Engine  string // searxng, brave, tavily or duckduckgo; "" is duckduckgo
	URL     string // "": the engine's own address; searxng has none
	Key     string // a reference to the key, for brave and tavily
	Resolve Resolve
}

// NewSearch builds the tool web_search. It is tools.Available: an engine without its address or key
// is missing.
func NewSearch(d SearchDeps) tools.Tool {
	s := searcher{deps: d}
	s.engine, s.base, s.missing = s.choose()
	t := tools.New[SearchInput, SearchOutput](tools.Spec{
		Name: "web_search", Group: "web", ReadOnly: true, Positional: "query", Example: "'go 1.26 release notes' --limit 5",
		Description: "Search the web: titles, snippets and, at the end, their addresses. They are somebody else's text; web_fetch reads a page.",
	}, s.intent, s.run)
	return tools.Needing(t, s.missing, func() bool { return s.missing == "" })
}

// searcher implements web_search.
type searcher struct {
	deps    SearchDeps
	engine  engine
	base    *url.URL
	missing string
}

// choose returns the configured engine, its address, and what it lacks.
func (s searcher) choose() (engine, *url.URL, string) {
	all := engines()
	name := cmp.Or(s.deps.Engine, "duckduckgo")
	i := slices.IndexFunc(all, func(e engine) bool { return e.name == name })
	if i < 0 {
		return engine{}, nil, fmt.Sprintf("[tools.web] search = %q is not a search engine that hob knows", name)
	}
	e := all[i]
	at := cmp.Or(s.deps.URL, e.home)
	switch {
	case at == "":
		return e, nil, "[tools.web] search_url: the address of a " + e.name
	case e.key && s.deps.Key == "":
		return e, nil, "[tools.web] search_key: the key for " + e.name
	}
	// The canonical form is what the permission rules compare.
	link, _, err := netguard.Canonical(at)
	if err != nil {
		return e, nil, "[tools.web] search_url: " + err.Error()
	}
	base, err := url.Parse(link)
	if err != nil {
		return e, nil, "[tools.web] search_url: " + err.Error()
	}
	return e, base, ""
}

// intent names the address that the engine would be asked with.
func (s searcher) intent(_ context.Context, _ tools.Call, in SearchInput) (tools.Intent, error) {
	if s.missing != "" {
		return tools.Intent{}, tools.Refuse(tools.ConfigError, "", "there is no search engine: it needs %s", s.missing)
	}
	in, err := in.normalised()
	if err != nil {
		return tools.Intent{}, err
	}
	req := s.engine.ask(s.base, in)
	link, host, err := netguard.Canonical(req.Link)
	if err != nil {
		return tools.Intent{}, tools.Refuse(tools.ConfigError, "look at [tools.web] search_url", "%v", err)
	}
	canonical, err := tools.Canonical(struct {
		Tool   string `json:"tool"`
		Engine string `json:"engine"`
		SearchInput
	}{"web_search", s.engine.name, in})
	i := asking(target{link: link, host: host}, tools.Read, "search the web: "+text.Shorten(in.Query, 200), canonical, link)
	// The text comes from many sites, so the engine is named as its source and not its host.
	i.Foreign = "web search: " + s.engine.name
	return i, err // the owner chose the host, so a private one needs no approval
}

// run asks the engine once. An engine that cannot answer is an error with a hint for the owner.
func (s searcher) run(ctx context.Context, _ tools.Call, in SearchInput, _ tools.Intent) (tools.Result, error) {
	if s.missing != "" {
		return tools.Fail(tools.ConfigError, "", "there is no search engine: it needs %s", s.missing), nil
	}
	in, err := in.normalised()
	if err != nil {
		return tools.Result{}, err
	}
	req := s.engine.ask(s.base, in)
	req.Private = true // the owner named this host
	// The key is resolved for each request, so that a changed secret needs no restart.
	if s.engine.key {
		key, err := s.deps.Resolve(ctx, "tools.web.search_key", s.deps.Key)
		if err != nil {
			return tools.Fail(tools.ConfigError, "look at [tools.web] search_key", "%v", err), nil
		}
		req.Header.Set(s.engine.header, s.engine.scheme+key)
	}
	answer, err := s.deps.Client.Do(ctx, req)
	if err != nil {
		return unanswered(ctx, err, "")
	}
	switch {
	case answer.Moved != "":
		return tools.Fail(tools.ConfigError, "[tools.web] search_url must be the address of the engine itself", "%s redirects to %s", s.engine.name, answer.Moved), nil
	case answer.Status == 401 || answer.Status == 403 && s.engine.key:
		return tools.Fail(tools.ConfigError, "look at [tools.web] search_key", "%s does not take the key (%d)", s.engine.name, answer.Status), nil
	case answer.Status < 200 || answer.Status > 299:
		return tools.ErrorResult(tools.Unsuccessful(s.engine.name, answer.Status, answer.Header)), nil
	}
	hits, err := s.engine.read(answer.Body)
	if errors.Is(err, errChallenge) {
		return tools.Fail(tools.RateLimited, "try again later, or set another engine: [tools.web] search", "%s wants proof that a person is asking", s.engine.name), nil
	}
	if err != nil {
		return tools.Fail(tools.IO, s.engine.hint, "%s did not send results: %v", s.engine.name, err), nil
	}
	return s.show(in, hits), nil
}

// show formats the requested results, with their addresses at the end.
func (s searcher) show(in SearchInput, hits []Hit) tools.Result {
	out := SearchOutput{Query: in.Query, Engine: s.engine.name, Results: []Hit{}}
	var list, sources strings.Builder
	for _, h := range hits {
		// Drop invalid and repeated addresses, and those that the engine should have filtered.
		link, host, err := netguard.Canonical(h.URL)
		if err != nil || !in.wants(host) || len(out.Results) == in.Limit || slices.ContainsFunc(out.Results, func(o Hit) bool { return o.URL == link }) {
			continue
		}
		h = Hit{Title: oneLine(h.Title, maxTitle), URL: link, Snippet: oneLine(h.Snippet, maxSnippet)}
		h.Title = cmp.Or(h.Title, host)
		out.Results = append(out.Results, h)
		n := len(out.Results)
		fmt.Fprintf(&list, "%d. %s\n", n, h.Title)
		if h.Snippet != "" {
			fmt.Fprintf(&list, "   %s\n", h.Snippet)
		}
		fmt.Fprintf(&sources, "\n%d. %s", n, h.URL)
	}
	// An engine that answers and finds nothing is no error.
	if len(out.Results) == 0 {
		return tools.Result{Content: fmt.Sprintf("%s found nothing for %q", s.engine.name, in.Query), Data: out}
	}
	return tools.Result{Content: list.String() + "\nSources:" + sources.String(), Data: out}
}

// oneLine returns a text without line breaks, at most n characters.
func oneLine(s string, n int) string {
	return text.Shorten(strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " "), n)
}

// normalised returns the search with its domains as plain host names.
func (in SearchInput) normalised() (SearchInput, error) {
	for _, list := range []*[]string{&in.Allowed, &in.Blocked} {
		hosts := make([]string, len(*list))
		for i, d := range *list {
			t, err := targetOf(d)
			if err != nil {
				return in, tools.Refuse(tools.Validation, "want names like example.org", "%q is not a domain", text.Shorten(d, 80))
			}
			hosts[i] = t.host
		}
		*list = hosts
	}
	return in, nil
}

// wants reports whether the domain filters admit a host.
func (in SearchInput) wants(host string) bool {
	below := func(list []string) bool {
		return slices.ContainsFunc(list, func(d string) bool { return host == d || strings.HasSuffix(host, "."+d) })
	}
	return (len(in.Allowed) == 0 || below(in.Allowed)) && !below(in.Blocked)
}
