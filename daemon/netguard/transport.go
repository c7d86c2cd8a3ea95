package netguard

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
)

// Transport makes requests within the rules of a client for code that wants an http.RoundTripper, such as the libraries of protocols. It
// checks each address that it dials, follows no redirect and keeps no cookies. Unlike Do it limits neither the time nor the size of an
// answer: its caller does. It is safe for concurrent use.
type Transport struct {
	client  *Client
	private []string

	mu     sync.Mutex
	byHost map[string]*http.Transport
}

// Transport returns a transport. private are the hosts, as Canonical writes them, that the owner named although they may be in a private
// network.
func (c *Client) Transport(private ...string) *Transport {
	return &Transport{client: c, private: private, byHost: map[string]*http.Transport{}}
}

// RoundTrip makes one request.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	link, host, err := Canonical(req.URL.String())
	if err == nil {
		err = CheckHeader(req.Header)
	}
	if err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes the body, also when it fails
		}
		return nil, &Error{Link: req.URL.Redacted(), Err: err}
	}
	resp, err := t.to(host).RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", link, err)
	}
	return resp, nil
}

// maxHosts limits the hosts whose connections are kept.
const maxHosts = 16

// to returns the transport of a host. Its connections serve this host only.
func (t *Transport) to(host string) *http.Transport {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.byHost[host]; one != nil {
		return one
	}
	if len(t.byHost) >= maxHosts {
		for name, one := range t.byHost {
			one.CloseIdleConnections()
			delete(t.byHost, name)
		}
	}
	one := t.client.transport(host, slices.Contains(t.private, host))
	t.byHost[host] = one
	return one
}

// CloseIdleConnections closes what is not in use.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.byHost {
		one.CloseIdleConnections()
	}
}
