package channelstest

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"hob/channels"
	"hob/daemon/netguard"
)

// Proxy is a small proxy on a real socket that requires a user and a password: HTTP with tunnels (RFC 9110,
// section 9.3.6) or SOCKS5 (RFC 1928 and 1929).
type Proxy struct {
	lis   net.Listener
	socks bool
	srv   *http.Server
	done  sync.WaitGroup

	mu   sync.Mutex
	asks []string // requested addresses
	host map[string]string
	open []net.Conn
}

// NewProxy starts a proxy for user sam with the password "s3cret/@".
func NewProxy(t testing.TB, socks bool) *Proxy {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{lis: lis, socks: socks}
	p.srv = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	p.done.Add(1)
	launch(func() {
		defer p.done.Done()
		if !socks {
			_ = p.srv.Serve(lis) // until it is closed
			return
		}
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}
			p.done.Add(1)
			launch(func() { defer p.done.Done(); p.serve(conn) })
		}
	})
	t.Cleanup(p.Close)
	return p
}

// Close closes the proxy with all connections.
func (p *Proxy) Close() {
	_ = p.lis.Close() // the fake ends anyway
	_ = p.srv.Close()
	p.mu.Lock()
	for _, c := range p.open {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.done.Wait()
}

// URL returns the address for a config, with the password.
func (p *Proxy) URL(password string) string {
	scheme := "http"
	if p.socks {
		scheme = "socks5"
	}
	return scheme + "://sam:" + password + "@" + p.lis.Addr().String()
}

// Asked returns the addresses to which it has connected, each once.
func (p *Proxy) Asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := slices.Clone(p.asks)
	slices.Sort(list)
	return slices.Compact(list)
}

// Names returns the requested host names, which the proxy resolves.
func (p *Proxy) Names(list map[string]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.host = list
}

func (p *Proxy) named(host string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.host[host]; at != "" {
		return at
	}
	return host
}

// to connects to an address.
func (p *Proxy) to(conn net.Conn, address string) (net.Conn, error) {
	out, err := net.Dial("tcp", p.named(address)) // #nosec G704 -- a proxy of the tests
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asks = append(p.asks, address)
	if err == nil {
		p.open = append(p.open, out, conn)
	}
	return out, err
}

// ServeHTTP forwards a request, or opens a tunnel.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Proxy-Authorization") != "Basic "+base64.StdEncoding.EncodeToString([]byte("sam:s3cret/@")) {
		w.Header().Set("Proxy-Authenticate", `Basic realm="proxy"`)
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if r.Method != http.MethodConnect {
		p.mu.Lock()
		p.asks = append(p.asks, r.URL.Host)
		p.mu.Unlock()
		own := &http.Transport{DisableKeepAlives: true}
		pass := &httputil.ReverseProxy{FlushInterval: -1, Transport: own, Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host, r.Out.URL.Host = r.In.Host, p.named(r.In.URL.Host)
		}}
		pass.ServeHTTP(w, r)
		return
	}
	in, rest, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	out, err := p.to(in, r.Host)
	if err != nil {
		_, _ = io.WriteString(in, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		_ = in.Close()
		return
	}
	_, _ = io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n")
	splice(in, rest.Reader, out)
}

// splice copies data in both directions until one side ends.
func splice(in net.Conn, from io.Reader, out net.Conn) {
	var both sync.WaitGroup
	both.Add(1)
	launch(func() {
		defer both.Done()
		_, _ = io.Copy(out, from)
		_ = out.Close()
	})
	_, _ = io.Copy(in, out)
	_ = in.Close()
	both.Wait()
}

// serve serves one SOCKS5 connection.
func (p *Proxy) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	take := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(in, b) // a closed connection fails later
		return b
	}
	defer func() { _ = conn.Close() }()
	methods := take(int(take(2)[1]))
	if !slices.Contains(methods, 2) {
		_, _ = conn.Write([]byte{5, 0xff})
		return
	}
	_, _ = conn.Write([]byte{5, 2})
	user := string(take(int(take(2)[1])))
	password := string(take(int(take(1)[0])))
	if user != "sam" || password != "s3cret/@" {
		_, _ = conn.Write([]byte{1, 1})
		return
	}
	_, _ = conn.Write([]byte{1, 0})
	host := ""
	switch head := take(4); head[3] {
	case 1:
		host = net.IP(take(4)).String()
	case 4:
		host = net.IP(take(16)).String()
	default:
		host = string(take(int(take(1)[0])))
	}
	port := binary.BigEndian.Uint16(take(2))
	out, err := p.to(conn, net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		_, _ = conn.Write([]byte{5, 5, 0, 1, 0, 0, 0, 0, 0, 0})
		return
	}
	_, _ = conn.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	splice(conn, in, out)
}

// Proxied is a proxy, and the function that makes an Env use it.
type Proxied struct {
	*Proxy
	Through func(channels.Env) channels.Env
}

// ThroughProxy checks that a channel sends and receives through a proxy of each kind, that it asks the proxy
// only for its own servers, that it reports a refusal of the proxy, and that it ignores proxies of the
// environment. open makes the world of a channel whose Env uses the proxy.
func ThroughProxy(t *testing.T, servers int, open func(t *testing.T, p Proxied) World) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		t.Setenv(name, "http://127.0.0.1:9")
	}
	for _, socks := range []bool{false, true} {
		name := map[bool]string{false: "http", true: "socks5"}[socks]
		t.Run(name, func(t *testing.T) {
			p := NewProxy(t, socks)
			w := open(t, Proxied{p, through(t, p.URL("s3cret%2F%40"))})
			ch, b := w.Open(), &MessageInbox{}
			Keep(t, ch, b)
			w.Listening(t.Context())
			w.Say("through the proxy")
			b.Until(t, func() bool { return len(b.List())+len(b.Accepted()) > 0 })
			d := channels.Delivery{Outbox: 1, Parts: 1, To: w.To, Body: "and back", Nonce: "n0nce", Attempts: 1}
			if _, err := ch.Send(t.Context(), d); err != nil || !slices.ContainsFunc(w.Sent(), func(s string) bool { return strings.Contains(s, "and back") }) {
				t.Errorf("sent %q, %v", w.Sent(), err)
			}
			if got := p.Asked(); len(got) == 0 || len(got) > servers {
				t.Errorf("the proxy was asked for %q, want at most %d servers", got, servers)
			}
		})
		t.Run(name+" with a wrong password", func(t *testing.T) {
			p := NewProxy(t, socks)
			w := open(t, Proxied{p, through(t, p.URL("wrong"))})
			tester, ok := w.Open().(channels.Tester)
			if !ok {
				t.Fatal("the channel cannot be tested")
			}
			_, err := tester.Test(t.Context())
			if len(p.Asked()) > 0 || err == nil || !strings.Contains(err.Error(), "through the proxy "+p.lis.Addr().String()) || strings.Contains(err.Error(), "wrong") {
				t.Errorf("%v; the proxy was asked for %q", err, p.Asked())
			}
		})
	}
}

// through makes an Env use a proxy.
func through(t *testing.T, address string) func(channels.Env) channels.Env {
	p, err := netguard.NewProxy(address)
	if err != nil {
		t.Fatal(err)
	}
	return func(e channels.Env) channels.Env {
		limit := 20 * time.Second
		if e.HTTP != nil {
			limit = e.HTTP.Timeout
		}
		e.HTTP, e.Dial = &http.Client{Transport: p.Transport(), Timeout: limit}, p.DialContext
		t.Cleanup(e.HTTP.CloseIdleConnections)
		return e
	}
}
