package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"hob/daemon/netguard"
	"hob/tools"
	"hob/tools/web"
)

// article is a page with a readable part and its surroundings.
func article() string {
	para := strings.Repeat("A chore is done best when nobody has to think of it, and that is what a daemon is for. ", 6)
	return `<!DOCTYPE html><html><head><title>On chores</title><script>alert("no")</script><style>p{}</style></head><body>
<nav><a href="/home">Home</a> <a href="/shop">Shop</a></nav>
<article><h1>On chores</h1><p>` + para + `</p><p>See <a href="../notes?id=1">the <b>notes</b></a> and <a href="javascript:alert(1)">this</a>.</p>
<img src="data:image/png;base64,AAAA" alt="dot"><img src="cat.png" alt="a cat">
<h2>Lists</h2><ul><li>one</li><li>two</li></ul><pre><code>go test</code></pre>
<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table><p>` + para + `</p></article>
<footer>Copyright, terms, imprint</footer></body></html>`
}

func TestFetchAPage(t *testing.T) {
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a/b" {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			write(t, w, article())
		}
	})
	tool := newFetch(t, client)
	described(t, tool)
	if s := tool.Spec(); !s.Core || !s.ReadOnly || s.SelfPaging {
		t.Errorf("%+v", s)
	}
	intent, res := do(t, tool, args{"url": at + "/a/b#part"})
	if res.IsError {
		t.Fatal(res.Content)
	}
	for _, want := range []string{
		"# On chores\n" + at + "/a/b\n", "A chore is done best", "](" + at + "/notes?id=1)", "**notes**", "## Lists", "- one\n- two", "go test", "| a | b |", "](" + at + "/a/cat.png)",
	} {
		if !strings.Contains(res.Content, want) {
			t.Errorf("%q is missing in:\n%s", want, res.Content)
		}
	}
	for _, no := range []string{"alert(", "data:image", "Shop", "imprint", "<p>"} {
		if strings.Contains(res.Content, no) {
			t.Errorf("%q is there", no)
		}
	}
	p := res.Data.(web.FetchOutput)
	if p.Title != "On chores" || p.Type != "text/html" || p.Bytes != len(article()) || p.Cut || p.Cached || p.Chars != len([]rune(p.Text)) {
		t.Errorf("%+v", p)
	}
	if intent.Effect != tools.Read || !slices.Equal(intent.Links, []string{at + "/a/b"}) || !slices.Equal(intent.Hosts, []string{strings.TrimPrefix(at, "https://")}) ||
		!intent.Private || intent.Foreign != "web: 127.0.0.1" || !slices.Equal(intent.Scopes, []tools.Scope{tools.Net}) {
		t.Errorf("%+v", intent)
	}
}

// The links of an intent are what the owner's words are compared with: https in the place of http.
func TestFetchIntents(t *testing.T) {
	tool := newFetch(t, netguard.NewClient(netguard.Config{}))
	for _, c := range []struct {
		url     string
		links   []string
		private bool
	}{
		{"https://example.org", []string{"https://example.org/"}, false},
		{"http://example.org/x", []string{"https://example.org/x"}, false},
		{"example.org/x", []string{"https://example.org/x"}, false},
		{"HTTP://EXAMPLE.org:8080/x#y", []string{"https://example.org:8080/x"}, false},
		{"http://192.168.1.1/", []string{"https://192.168.1.1/", "http://192.168.1.1/"}, true},
		{"https://printer.local", []string{"https://printer.local/"}, true},
	} {
		intent, err := tool.Intent(t.Context(), callOf(t, args{"url": c.url}, morning()))
		if err != nil || !slices.Equal(intent.Links, c.links) || intent.Private != c.private {
			t.Errorf("%s: %q, private %v, %v", c.url, intent.Links, intent.Private, err)
		}
		// What may go without https is what the question names.
		want := "fetch " + c.links[0]
		if len(c.links) > 1 {
			want = "fetch " + c.links[1] + " (https is tried first)"
		}
		if intent.Summary != want {
			t.Errorf("%s: the question says %q, want %q", c.url, intent.Summary, want)
		}
		for _, l := range intent.Links {
			if !slices.Contains(netguard.Links("read "+c.url+" please"), l) {
				t.Errorf("%s is not what the owner gave with %s", l, c.url)
			}
			if !strings.Contains(string(intent.Canonical), l) {
				t.Errorf("%s is not shown: %s", l, intent.Canonical)
			}
		}
	}
	for _, url := range []string{"ftp://example.org", "https://user:pw@example.org", "user@example.org", "http://0x7f.1/", "file:///etc/passwd", "javascript:alert(1)", "https://exa mple.org"} {
		_, err := tool.Intent(t.Context(), callOf(t, args{"url": url}, morning()))
		if res := tools.ErrorResult(err); err == nil || res.Code != tools.Validation || strings.Contains(res.Content, "pw") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestFetchOtherAnswers(t *testing.T) {
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		kind, body := r.URL.Query().Get("type"), r.URL.Query().Get("body")
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "https://example.org/there", http.StatusFound)
		case "/near":
			http.Redirect(w, r, "/?type=text/plain&body=here", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		case "/busy":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusTooManyRequests)
		case "/gone":
			w.WriteHeader(http.StatusNotFound)
		case "/closed":
			w.WriteHeader(http.StatusForbidden)
		case "/broken":
			w.WriteHeader(http.StatusBadGateway)
		case "/large":
			w.Header().Set("Content-Length", "20000000")
		default:
			write(t, w, body)
		}
	})
	tool := newFetch(t, client)
	for _, c := range []struct {
		path string
		code tools.Code
		want string
	}{
		{"/?type=text/plain&body=a%20<b>%20c", "", "a <b> c"},
		{"/?type=application/json&body={\"a\":1}", "", `{"a":1}`},
		{"/?type=application/ld%2bjson&body={}", "", "{}"},
		{"/?type=text/markdown&body=%23%20T", "", "# T"},
		{"/?type=text/html%3Bcharset=iso-8859-1&body=<p>gr%fcn</p>", "", "grün"},
		{"/?type=text/html&body=<meta%20charset=windows-1251><p>%ef%f0%e8%e2%e5%f2</p>", "", "привет"},
		{"/?type=text/html&body=" + strings.Repeat("%20", 2000) + "<meta%20http-equiv=Content-Type%20content=%22text/html%3B%20charset=gb2312%22><p>%c4%e3%ba%c3</p>", "", "你好"}, // after the scripts of a forum
		{"/?type=text/xml&body=<%3Fxml%20version='1.0'%20encoding='euc-kr'%3F><a>%b0%a1</a>", "", "가"},                                                                           // a feed of Naver
		{"/?type=text/html%3Bcharset=iso-8859-1&body=<p>%93hi%94%20%80</p>", "", "“hi” €"},
		{"/?type=text/html%3Bcharset=x-gbk&body=<p>%c4%e3%ba%c3</p>", "", "你好"},
		{"/?type=text/csv&body=name%0a%cf%f0%e8%e2%e5%f2%20%ec%e8%f0", "", "Привет мир"}, // a bank's export
		{"/?type=text/plain%3Bcharset=shift_jis&body=%93%fa%96%7b", "", "日本"},
		{"/?type=text/plain&body=%c3%a4", "", "ä"},
		{"/?type=text/html&body=", "", "the page has no text"},
		{"/?type=application/pdf&body=%25PDF-1.7", tools.IO, "application/pdf, cannot be read: broken: its end is missing"},
		{"/?type=image/png&body=x", "", "image/png"},
		{"/?type=application/octet-stream&body=%25PDF-1.7", tools.IO, "application/pdf"},
		{"/?type=text/plain&body=a%00b", "", "is not text but text/plain"},
		{"/near", "", "here"},
		{"/away", "", "https://example.org/there\nTo read it, call web_fetch"},
		{"/round", tools.IO, "too many redirects: more than 5"},
		{"/busy", tools.RateLimited, "try again after 120"},
		{"/gone", tools.NotFound, "404 Not Found"},
		{"/closed", tools.Denied, "403"},
		{"/broken", tools.IO, "502"},
		{"/large", tools.IO, "at most 10485760 are read"},
	} {
		_, res := do(t, tool, args{"url": at + c.path})
		if res.Code != c.code || !strings.Contains(res.Content, c.want) || strings.Contains(strings.ReplaceAll(res.Content, c.path, ""), "PDF-1.7") {
			t.Errorf("%s: %s", c.path, res.Content)
		}
	}
	_, res := do(t, tool, args{"url": at + "/away"})
	if p := res.Data.(web.FetchOutput); p.Moved != "https://example.org/there" || p.Text != "" {
		t.Errorf("%+v", p)
	}
}

// A site without https is not asked without it, unless it is a machine of a private network that the permission rules let through.
func TestFetchUpgrades(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(t, w, "the router") }))
	defer s.Close()
	tool := newFetch(t, netguard.NewClient(netguard.Config{}))
	if _, res := do(t, tool, args{"url": s.URL}); !strings.Contains(res.Content, "the router") {
		t.Errorf("a private machine without https: %s", res.Content)
	}
	if _, res := do(t, tool, args{"url": strings.Replace(s.URL, "http:", "https:", 1)}); res.Code != tools.IO {
		t.Errorf("https was asked for: %s", res.Content)
	}
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) { write(t, w, "over "+fmt.Sprint(r.TLS != nil)) })
	if _, res := do(t, newFetch(t, client), args{"url": strings.Replace(at, "https:", "http:", 1)}); !strings.Contains(res.Content, "over true") {
		t.Errorf("http where there is https: %s", res.Content)
	}
	if _, res := do(t, tool, args{"url": closed(t)}); res.Code != tools.IO || !strings.Contains(res.Content, "the tool http") {
		t.Errorf("nobody there: %s", res.Content)
	}
}

// A public name that leads to a private machine is refused, and says what would open it.
func TestFetchIsForbidden(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("asked") }))
	defer s.Close()
	resolver := localNames(t)
	tool := newFetch(t, netguard.NewClient(netguard.Config{Resolver: resolver}))
	_, res := do(t, tool, args{"url": strings.Replace(s.URL, "127.0.0.1", "example.com", 1)})
	if res.Code != tools.Denied || !strings.Contains(res.Hint, "[tools.web] networks") || !strings.Contains(res.Content, "127.0.0.1 is loopback") {
		t.Errorf("%s", res.Content)
	}
	_, res = do(t, tool, args{"url": "https://nobody.example.net"})
	if res.Code != tools.NotFound || !strings.Contains(res.Content, "there is no host nobody.example.net") {
		t.Errorf("%s", res.Content)
	}
}

func TestFetchCache(t *testing.T) {
	asked := 0
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.URL.Path == "/gone" {
			w.WriteHeader(http.StatusNotFound)
		}
		write(t, w, fmt.Sprint("answer ", asked))
	})
	tool := newFetch(t, client)
	for i, c := range []struct {
		path string
		at   time.Duration
		want string
		hit  bool
	}{
		{"/a", 0, "answer 1", false},
		{"/a", 14*time.Minute + 59*time.Second, "answer 1", true},
		{"/a#other", time.Minute, "answer 1", true},
		{"/a", 15 * time.Minute, "answer 2", false},
		{"/a", 16 * time.Minute, "answer 2", true},
		{"/a", time.Minute, "answer 3", false}, // the clock was set back
		{"/a?b", time.Minute, "answer 4", false},
		{"/gone", time.Minute, "404", false},
		{"/gone", time.Minute, "404", false}, // what went wrong is not kept
	} {
		_, res := doAt(t, tool, args{"url": at + c.path}, morning().Add(c.at))
		if !strings.Contains(res.Content, c.want) || strings.Contains(res.Content, "15 minutes") != c.hit {
			t.Errorf("%d, %s: %s", i, c.path, res.Content)
		}
	}
	if asked != 6 {
		t.Errorf("asked %d times", asked)
	}
}

// However much is read, the cache stays within its bounds: the oldest pages go.
func TestFetchCacheIsBounded(t *testing.T) {
	asked := map[string]int{}
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		size := 10
		if strings.HasPrefix(r.URL.Path, "/large") {
			size = 3 << 20
		}
		w.Header().Set("Content-Type", "text/plain")
		write(t, w, strings.Repeat("x", size))
	})
	tool := newFetch(t, client)
	get := func(path string) {
		t.Helper()
		if _, res := do(t, tool, args{"url": at + path, "max_chars": 5}); res.IsError {
			t.Fatal(res.Content)
		}
	}
	for i := range 65 {
		get(fmt.Sprint("/", i))
	}
	get("/64")
	get("/0")
	if asked["/64"] != 1 || asked["/0"] != 2 {
		t.Errorf("the newest was asked for %d times, the oldest %d times", asked["/64"], asked["/0"])
	}
	for i := range 6 {
		get(fmt.Sprint("/large", i))
	}
	get("/large5")
	get("/large0")
	if asked["/large5"] != 1 || asked["/large0"] != 2 {
		t.Errorf("18 MB: the newest was asked for %d times, the oldest %d times", asked["/large5"], asked["/large0"])
	}
}

func TestFetchCuts(t *testing.T) {
	at, client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		write(t, w, strings.Repeat("ä", 300_000))
	})
	tool := newFetch(t, client)
	_, res := do(t, tool, args{"url": at, "max_chars": 100})
	if p := res.Data.(web.FetchOutput); p.Text != strings.Repeat("ä", 100) || !p.Cut || p.Chars != 300_000 || !strings.HasSuffix(res.Content, "(the first 100 of 300000 characters)") {
		t.Errorf("%.200s", res.Content)
	}
	_, res = do(t, tool, args{"url": at})
	if p := res.Data.(web.FetchOutput); len(p.Text) != 600_000 || p.Cut {
		t.Errorf("%d bytes", len(p.Text))
	}
	if _, res = do(t, tool, args{"url": at, "max_chars": 0}); res.Code != tools.Validation {
		t.Errorf("%.200s", res.Content)
	}
	_, res = do(t, tool, args{"url": at, "prompt": "What does it say?"})
	if res.Assist == nil || strings.Count(res.Assist.Text, "ä") != 100_000 || !strings.Contains(res.Assist.Suffix, "the first 100000 of 300000") {
		t.Errorf("%+v", res.Code)
	}
}

// With a prompt the page goes to a model without tools. Instructions in the page stay part of the page.
func TestFetchWithAPrompt(t *testing.T) {
	at, client := serve(t, func(w http.ResponseWriter, _ *http.Request) { write(t, w, article()) })
	_, res := do(t, newFetch(t, client), args{"url": at, "prompt": "What is a daemon for?"})
	a := res.Assist
	if !res.IsError || res.Code != tools.AssistRequired || a == nil {
		t.Fatalf("%+v", res)
	}
	if !strings.HasSuffix(a.Prompt, "What is a daemon for?") || !strings.Contains(a.Prompt, "no instruction") || !strings.Contains(a.Text, "A chore is done best") ||
		a.Suffix != "\n\nSource: On chores "+at+"/" || strings.Contains(a.Prompt, "chore") {
		t.Errorf("%+v", a)
	}
	if strings.Contains(res.Content, "A chore is done best") || !strings.Contains(res.Hint, "leave prompt out") {
		t.Errorf("%s", res.Content)
	}
}

// Pages that are made to break their readers cost little and never panic.
func TestHostilePages(t *testing.T) {
	pages := map[string]string{
		"deep":       strings.Repeat("<div>", 20_000) + "<p>text inside</p>",
		"deep lists": strings.Repeat("<ul><li>", 250) + "text inside",
		"formatting": strings.Repeat("<b><i><a>", 3_000) + "text inside",
		"wide":       strings.Repeat("<p>x</p>", 51_000) + "<p>text inside</p>",
		"table":      "<table>" + strings.Repeat("<tr><td>", 5_000) + "text inside",
		"spans":      "<table><tr><th>a<th>b</tr><tr><td colspan=100000000 rowspan=100000000>text inside</td><td>x</td></tr><tr><td>y</td></tr></table>",
		"ragged":     "<table><tr>" + strings.Repeat("<td>x", 5_000) + "</tr>" + strings.Repeat("<tr><td>x</tr>", 5_000) + "</table><p>text inside</p>",
		"one cell":   "<table><tr><th>" + strings.Repeat("long ", 50_000) + "</th></tr>" + strings.Repeat("<tr><td>x</td></tr>", 5_000) + "</table><p>text inside</p>",
		"tables":     strings.Repeat("<table><tr><td>x<td>", 120) + "text inside",
		"commas":     strings.Repeat("<div class=x><p>a, b, c, text inside, and so on</p></div>", 4_000),
		"brs":        "<p>text inside" + strings.Repeat("<br> <br>", 20_000),
		"entities":   "<p>text inside " + strings.Repeat("&amp;&lt;&notit;", 20_000),
		"blanks":     "<pre>text inside" + strings.Repeat("\n \t", 100_000) + "</pre>",
		"code":       "<p>text inside<code>" + strings.Repeat("` ", 100_000) + "</code><pre>" + strings.Repeat("``` ", 100_000) + "</pre>",
		"lists":      "<ul>" + strings.Repeat("<li>x", 20_000) + "</ul><p>text inside</p>",
		"attributes": "<p " + strings.Repeat("a=b ", 100_000) + ">text inside</p>",
		"open":       "<p>text inside<!-- " + strings.Repeat("-", 1<<20),
		"quotes":     "<p>text inside</p>" + strings.Repeat("<blockquote>", 400),
		"stars":      "<p>text inside " + strings.Repeat("*_[`<", 100_000),
	}
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		write(t, w, pages[r.URL.Query().Get("page")])
	})
	tool := newFetch(t, client)
	for name := range pages {
		start := time.Now()
		_, res := do(t, tool, args{"url": at + "/?page=" + strings.ReplaceAll(name, " ", "+"), "max_chars": 2_000_000})
		if res.IsError || !strings.Contains(res.Content, "text inside") {
			t.Errorf("%s: %.200s", name, res.Content)
		}
		if took := time.Since(start); took > 20*time.Second { // all take less than one; what grows with the square takes minutes
			t.Errorf("%s: %v", name, took)
		}
	}
}

func TestFetchStops(t *testing.T) {
	started := make(chan struct{})
	at, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		close(started)
		<-r.Context().Done()
	})
	stopped(t, newFetch(t, client), args{"url": at}, started)
}
