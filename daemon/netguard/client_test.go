package netguard_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hob/daemon/netguard"
)

// TestMain sets a proxy at which nothing listens. The standard library reads it once per process.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	for _, name := range []string{"NO_PROXY", "no_proxy", "REQUEST_METHOD"} {
		if err := os.Unsetenv(name); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// home is the one private network that the tests allow: their own server's address.
func home() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")} }

func serve(t *testing.T, h http.HandlerFunc) (*httptest.Server, *netguard.Client) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s, netguard.NewClient(netguard.Config{Allow: home(), Timeout: time.Minute, MaxBytes: 1 << 20})
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Logf("the client has gone: %v", err)
	}
}

func TestDo(t *testing.T) {
	s, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("X-Back", "yes")
		w.WriteHeader(http.StatusTeapot)
		write(t, w, fmt.Sprintf("%s %s %s %s %s", r.Method, r.URL, body, r.Header.Get("X-Mine"), r.Host))
	})
	answer, err := client.Do(t.Context(), netguard.Request{
		Method: "POST", Link: s.URL + "/a/../b?q=1#frag", Body: []byte("hello"), Header: http.Header{"x-mine": {"here"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "POST /b?q=1 hello here " + strings.TrimPrefix(s.URL, "http://")
	if answer.Status != 418 || string(answer.Body) != want || answer.Header.Get("X-Back") != "yes" || answer.Link != s.URL+"/b?q=1" || answer.Moved != "" {
		t.Errorf("%+v %s", answer, answer.Body)
	}
}

// A name that changes its address after the first lookup never reaches the second address: the address that is checked is the one that is
// dialled.
func TestRebinding(t *testing.T) {
	var got atomic.Int64
	s, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		got.Add(1)
		write(t, w, "public")
	})
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	inner, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:"+port)
	if err != nil {
		t.Skipf("this system has no 127.0.0.2: %v", err)
	}
	secret := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the private server was reached") }))
	secret.Listener = inner
	secret.Start()
	defer secret.Close()
	n, resolver := serveNames(t, map[string][][]netip.Addr{"rebind.example.org": {addrs("127.0.0.1"), addrs("127.0.0.2")}})
	client := netguard.NewClient(netguard.Config{Allow: home(), Resolver: resolver})
	link := "http://rebind.example.org:" + port + "/"
	if answer, err := client.Do(t.Context(), netguard.Request{Link: link}); err != nil || string(answer.Body) != "public" {
		t.Fatalf("the first look: %v", err)
	}
	for range 3 {
		if _, err := client.Do(t.Context(), netguard.Request{Link: link}); !errors.Is(err, netguard.ErrForbidden) {
			t.Errorf("after the name moved: %v", err)
		}
	}
	if asked := n.lookups("rebind.example.org"); asked != 4 || got.Load() != 1 {
		t.Errorf("%d look-ups, %d answers", asked, got.Load())
	}
}

// A redirect looks up its name again. If the name has moved to a private address meanwhile, it is refused too.
func TestRebindingBetweenRedirects(t *testing.T) {
	s, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		http.Redirect(w, r, "/next", http.StatusFound)
	})
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	_, resolver := serveNames(t, map[string][][]netip.Addr{"rebind.example.org": {addrs("127.0.0.1"), addrs("10.0.0.1")}})
	client := netguard.NewClient(netguard.Config{Allow: home(), Resolver: resolver})
	_, err := client.Do(t.Context(), netguard.Request{Link: "http://rebind.example.org:" + port + "/"})
	if !errors.Is(err, netguard.ErrForbidden) || !strings.Contains(err.Error(), "/next") {
		t.Errorf("%v", err)
	}
}

func TestRedirects(t *testing.T) {
	var seen []string
	s, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen = append(seen, r.Method+" "+r.URL.Path)
		var n int
		switch {
		case r.URL.Path == "/to":
			w.Header().Set("Location", r.URL.Query().Get("u"))
			w.WriteHeader(http.StatusFound)
		case r.URL.Path == "/nowhere":
			w.WriteHeader(http.StatusFound)
		default:
			if _, err := fmt.Sscanf(r.URL.Path, "/hop/%d", &n); err == nil && n > 0 {
				http.Redirect(w, r, fmt.Sprintf("%d", n-1), http.StatusTemporaryRedirect)
				return
			}
			write(t, w, "end")
		}
	})
	to := func(u string) string { return s.URL + "/to?u=" + url.QueryEscape(u) }
	for _, c := range []struct {
		name, method, link string
		kind               error
		moved, body        string
	}{
		{"five", "GET", s.URL + "/hop/5", nil, "", "end"},
		{"six", "GET", s.URL + "/hop/6", netguard.ErrRedirects, "", ""},
		{"head", "HEAD", s.URL + "/hop/2", nil, "", ""},
		{"post stays", "POST", s.URL + "/hop/1", nil, s.URL + "/hop/0", ""},
		{"no location", "GET", s.URL + "/nowhere", nil, "", ""},
		{"metadata", "GET", to("http://169.254.169.254/latest/meta-data/"), nil, "http://169.254.169.254/latest/meta-data/", ""},
		{"another port", "GET", to("http://127.0.0.1:22/"), nil, "http://127.0.0.1:22/", ""},
		{"another name of the host", "GET", to("http://localhost/"), nil, "http://localhost/", ""},
		{"another host", "GET", to("//example.org/x#y"), nil, "http://example.org/x", ""},
		{"a file", "GET", to("file:///etc/passwd"), netguard.ErrAddress, "", ""},
		{"gopher", "GET", to("gopher://127.0.0.1:6379/_INFO"), netguard.ErrAddress, "", ""},
		{"credentials", "GET", to("http://user:pw@example.org/"), netguard.ErrAddress, "", ""},
		{"octal", "GET", to("http://0177.0.0.1/"), netguard.ErrAddress, "", ""},
		{"backslash", "GET", to(`http:\\127.0.0.1\x`), netguard.ErrAddress, "", ""},
	} {
		answer, err := client.Do(t.Context(), netguard.Request{Method: c.method, Link: c.link})
		if !errors.Is(err, c.kind) || c.kind == nil && err != nil || answer.Moved != c.moved || string(answer.Body) != c.body {
			t.Errorf("%s: %v, moved to %q, %q", c.name, err, answer.Moved, answer.Body)
		}
		if _, why, _ := strings.Cut(fmt.Sprint(err), ": it leads to"); strings.Contains(why, "pw") {
			t.Errorf("%s: the error shows the password: %v", c.name, err)
		}
	}
	if strings.Contains(strings.Join(seen, "\n"), "POST /hop/0") {
		t.Error("a POST was sent on")
	}
}

// The size of a response is limited, both as sent and decoded.
func TestLargeAnswers(t *testing.T) {
	packed, sent := bomb(t), atomic.Int64{}
	s, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/fits":
			write(t, w, strings.Repeat("x", 1<<20))
		case "/said":
			w.Header().Set("Content-Length", "99999999999")
		case "/endless":
			for r.Context().Err() == nil {
				n, err := w.Write(make([]byte, 32<<10))
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			write(t, w, packed)
		case "/packed":
			w.Header().Set("Content-Encoding", "br")
			write(t, w, "whatever")
		case "/header":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		}
	})
	for path, kind := range map[string]error{"/fits": nil, "/said": netguard.ErrTooLarge, "/endless": netguard.ErrTooLarge, "/bomb": netguard.ErrTooLarge, "/packed": netguard.ErrEncoding} {
		answer, err := client.Do(t.Context(), netguard.Request{Link: s.URL + path})
		if !errors.Is(err, kind) || kind == nil && (err != nil || len(answer.Body) != 1<<20) {
			t.Errorf("%s: %v, %d bytes", path, err, len(answer.Body))
		}
		var into bytes.Buffer // the same, written to Into as it arrives
		answer, err = client.Do(t.Context(), netguard.Request{Link: s.URL + path, Into: &into})
		if !errors.Is(err, kind) || len(answer.Body) != 0 || kind == nil && (err != nil || into.Len() != 1<<20) {
			t.Errorf("%s, handed on: %v, %d bytes, and %d in the answer", path, err, into.Len(), len(answer.Body))
		}
	}
	if n := sent.Load(); n > 64<<20 { // what two exchanges read, and the contents of their socket buffers
		t.Errorf("%d MB of an endless answer were taken", n>>20)
	}
	if _, err := client.Do(t.Context(), netguard.Request{Link: s.URL + "/header"}); err == nil || !strings.Contains(err.Error(), "header") {
		t.Errorf("a megabyte of header: %v", err)
	}
}

// bomb is 16 MB of zeros, compressed to 16 KB.
func bomb(t *testing.T) string {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	write(t, z, strings.Repeat("0", 16<<20))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// A server that sends slowly is abandoned at the time limit, in its header and in its body. A cancellation by the caller is reported as
// such.
func TestSlowAnswers(t *testing.T) {
	s, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			w.WriteHeader(http.StatusOK)
		}
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				if r.URL.Path == "/body" {
					write(t, w, "x")
					if err := http.NewResponseController(w).Flush(); err != nil {
						return
					}
				}
			}
		}
	})
	client := netguard.NewClient(netguard.Config{Allow: home(), Timeout: 150 * time.Millisecond})
	for _, path := range []string{"/header", "/body"} {
		_, err := client.Do(t.Context(), netguard.Request{Link: s.URL + path})
		e, ok := errors.AsType[*netguard.Error](err)
		if !errors.Is(err, netguard.ErrTimeout) || !ok || !e.Sent {
			t.Errorf("%s: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Do(ctx, netguard.Request{Link: s.URL + "/body"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Neither the environment nor an earlier exchange affects a later one.
func TestNothingIsKept(t *testing.T) {
	from := map[string]bool{}
	s, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if from[r.RemoteAddr] {
			t.Error("a connection served two exchanges")
		}
		from[r.RemoteAddr] = true
		if r.Header.Get("Cookie") != "" || r.Header.Get("Authorization") != "" || r.Header.Get("Referer") != "" {
			t.Errorf("kept: %v", r.Header)
		}
		w.Header().Set("Set-Cookie", "id=1")
	})
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	// By a name, because proxies are never used for this machine's own addresses.
	_, resolver := serveNames(t, map[string][][]netip.Addr{"example.com": {addrs("127.0.0.1")}})
	client := netguard.NewClient(netguard.Config{Allow: home(), Resolver: resolver})
	for range 3 {
		if _, err := client.Do(t.Context(), netguard.Request{Link: "http://example.com:" + port, Header: http.Header{"X-Once": {"1"}}}); err != nil {
			t.Error(err)
		}
	}
	if len(from) != 3 {
		t.Errorf("%d requests", len(from))
	}
}

func TestHeadersThatMayNotBeSet(t *testing.T) {
	s, client := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked: %v", r.Header) })
	for _, h := range []http.Header{
		{"Host": {"example.org"}},
		{"host": {"example.org"}},
		{"HOST": {""}},
		{"X-A": {"a\r\nHost: b"}},
		{"X-A": {"a\nb"}},
		{"X-A": {"a\x00"}},
		{"X-A": {"\x7f"}},
		{"X-A": {"ä"}},
		{"X-A\r\nB": {"a"}},
		{"X A": {"a"}},
		{"": {"a"}},
		{"X-A:": {"a"}},
		{"Content-Length": {"5"}},
		{"Transfer-Encoding": {"chunked"}},
		{"Connection": {"x"}},
		{"Upgrade": {"h2c"}},
		{"Proxy-Authorization": {"x"}},
		{"Te": {"trailers"}},
		{"Accept-Encoding": {"br"}},
		{"Expect": {"100-continue"}},
		{"X-A": {strings.Repeat("x", 40<<10)}},
	} {
		_, err := client.Do(t.Context(), netguard.Request{Link: s.URL, Header: h})
		if !errors.Is(err, netguard.ErrHeader) {
			t.Errorf("%q: %v", h, err)
		}
	}
}

func TestApprovedHost(t *testing.T) {
	s, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { write(t, w, "the router") })
	client := netguard.NewClient(netguard.Config{})
	if _, err := client.Do(t.Context(), netguard.Request{Link: s.URL}); !errors.Is(err, netguard.ErrForbidden) {
		t.Errorf("without approval: %v", err)
	}
	answer, err := client.Do(t.Context(), netguard.Request{Link: s.URL, Private: true})
	if err != nil || string(answer.Body) != "the router" {
		t.Errorf("with approval: %v", err)
	}
	if _, err := client.Do(t.Context(), netguard.Request{Link: s.URL}); !errors.Is(err, netguard.ErrForbidden) {
		t.Errorf("after an approved exchange: %v", err)
	}
}

func TestCertificates(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { write(t, w, "sure") }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would log each refused certificate
	s.StartTLS()
	defer s.Close()
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	_, resolver := serveNames(t, map[string][][]netip.Addr{"example.com": {addrs("127.0.0.1")}, "example.net": {addrs("127.0.0.1")}})
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	known := netguard.NewClient(netguard.Config{Allow: home(), Resolver: resolver, Roots: pool})
	if answer, err := known.Do(t.Context(), netguard.Request{Link: "https://example.com:" + port}); err != nil || string(answer.Body) != "sure" {
		t.Errorf("%v", err)
	}
	if _, err := known.Do(t.Context(), netguard.Request{Link: "https://example.net:" + port}); err == nil {
		t.Error("a certificate of another name was taken")
	} else if e, ok := errors.AsType[*netguard.Error](err); !ok || e.Sent {
		t.Errorf("it says that something was sent: %v", err)
	}
	unknown := netguard.NewClient(netguard.Config{Allow: home(), Resolver: resolver})
	if _, err := unknown.Do(t.Context(), netguard.Request{Link: "https://example.com:" + port}); err == nil {
		t.Error("a certificate that nobody vouches for was taken")
	}
}
