package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"hob/channels/channelstest"
	"hob/daemon/netguard"
)

func TestProxyAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"": "none", "none": "none", "direct": "none", "http://p.test": "p.test:80", "https://p.test": "p.test:443", "socks5://p.test": "p.test:1080",
		"socks5h://p.test:9": "p.test:9", "http://sam:s3cret@p.test:3128": "p.test:3128", "http://[::1]:3128/": "[::1]:3128",
	} {
		if p, err := netguard.NewProxy(address); err != nil || p.String() != want {
			t.Errorf("%q: %s, %v, want %s", address, p, err, want)
		}
	}
	for _, address := range []string{"p.test:3128", "ftp://sam:s3cret@p.test", "http://", "http://sam:s3cret@p.test/path", "http://sam:s3cret%zz@p.test", "http://p.test?a=s3cret"} {
		if _, err := netguard.NewProxy(address); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestProxyPasswords(t *testing.T) {
	for address, want := range map[string]string{
		"http://sam:env:PW@p.test:3128": "env:PW", "socks5://sam:a:b@p.test": "a:b", "http://sam:cmd:pass show x@p.test": "cmd:pass show x",
		"http://p.test:3128": "", "http://sam@p.test:3128": "", "none": "", "http://sam:a@b@p.test": "a@b",
	} {
		got, put := netguard.Password(address)
		if got != want || (put == nil) != (want == "") {
			t.Errorf("%q: %q", address, got)
		}
		if put == nil {
			continue
		}
		p, err := netguard.NewProxy(put("p@ss/w:rd%"))
		if err != nil || strings.Contains(p.String(), "ss") && !strings.HasPrefix(p.String(), "p.test") {
			t.Errorf("%q with another password: %s, %v", address, p, err)
		}
	}
}

// TestTheEnvironmentHasNoProxy: the proxy of the environment is never used, with or without a proxy in hob's config.
func TestTheEnvironmentHasNoProxy(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(srv.Close)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	resp, err := (&http.Client{Transport: netguard.Proxy{}.Transport()}).Get(srv.URL)
	if err != nil || resp.StatusCode != http.StatusTeapot {
		t.Fatalf("%v, %v", resp, err)
	}
	_ = resp.Body.Close()
}

// A connection that could not be made is known as such through an HTTP client, with the text and the kinds of its cause.
func TestUnreachable(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = (&http.Client{Transport: netguard.Proxy{}.Transport()}).Get("http://" + at) //nolint:bodyclose // there is none
	u, ok := errors.AsType[*netguard.Unreachable](err)
	if dial, of := errors.AsType[*net.OpError](err); !ok || !of || u.Error() != dial.Error() || u.Timeout() {
		t.Fatalf("%#v", err)
	}
	if again, ok := errors.AsType[*netguard.Unreachable](u.Again(t.Context())); !ok || again.Error() != u.Error() {
		t.Errorf("again: %v", again)
	}
	slow := &url.Error{Err: &netguard.Unreachable{Err: &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}}}
	if !slow.Timeout() {
		t.Error("a slow server is no timeout")
	}
}

// A client with a proxy reaches public names through it, and private hosts without it, whose addresses it still checks. An error of the proxy's own
// address is no way around it.
func TestClientThroughAProxy(t *testing.T) {
	secure := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { write(t, w, "hello "+r.Host) }))
	t.Cleanup(secure.Close)
	at := secure.Listener.Addr().String()
	for _, socks := range []bool{false, true} {
		p := channelstest.NewProxy(t, socks)
		p.Names(map[string]string{"example.com:443": at})
		var broken error
		c := netguard.NewClient(netguard.Config{Roots: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, Proxy: func(context.Context, string) (netguard.Proxy, error) {
			if broken != nil {
				return netguard.Proxy{}, broken
			}
			return netguard.NewProxy(p.URL("s3cret%2F%40"))
		}})
		a, err := c.Do(t.Context(), netguard.Request{Link: "https://example.com/"})
		if err != nil || string(a.Body) != "hello example.com" {
			t.Errorf("%s, %v", a.Body, err)
		}
		if _, err := c.Do(t.Context(), netguard.Request{Link: "https://" + at}); !errors.Is(err, netguard.ErrForbidden) {
			t.Errorf("a private host: %v", err)
		}
		if _, err := c.Do(t.Context(), netguard.Request{Link: "https://" + at, Private: true}); err != nil {
			t.Errorf("a private host that the owner named: %v", err)
		}
		if asked := p.Asked(); len(asked) != 1 || asked[0] != "example.com:443" {
			t.Errorf("the proxy was asked for %q", asked)
		}
		broken = errors.New("no such secret")
		if _, err := c.Do(t.Context(), netguard.Request{Link: "https://example.com/"}); !errors.Is(err, broken) {
			t.Errorf("without the proxy's password: %v", err)
		}
	}
}
