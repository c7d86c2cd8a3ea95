// Package wire is what the backends that speak HTTP share: a request is posted and its stream of server-sent events read with a limit on
// silences and sizes (exchange.go, events.go); statuses and error bodies become llm.Error, without the key (refusal.go); the parts of a
// message become texts, images and documents (media.go, attach.go); counts of tokens are checked (usage.go); a server is asked for its
// models (ask.go, collection.go); what a server refuses by name is left out or fitted, once (adapt.go).
//
// It knows no protocol. Every other refusal is final: the package never retries, never follows a redirect, and never reads the environment.
package wire

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"hob/daemon/event"
	"hob/daemon/llm"
	"hob/daemon/sys"
)

// Limits and defaults.
const (
	MaxBody  = 16 << 20 // of a request and of an answer, in bytes
	maxFault = 64 << 10 // of an error's body, in bytes; the rest is not read
	maxID    = 100      // of the id of a request, in characters

	defaultIdle      = 60 * time.Second
	defaultFirst     = 120 * time.Second
	defaultMaxOutput = 8192 // tokens
)

// Server is one model at one address. Config has its defaults; the other fields are set before the first request.
type Server struct {
	Config    llm.Config
	Usual     int         // the size of a request where neither the server nor the config tells one, in tokens
	Local     bool        // it runs on this machine and costs nothing
	Documents bool        // it takes PDF files
	MostImage int         // the size of an image that it takes, in bytes; 0: as any file
	Header    http.Header // of each request, its credentials among them
	RequestID string      // the response header with the id of a request; "" for none

	// Send posts a request with the client in place of net/http. A response with any status is a result. Nil: Server posts it.
	Send func(ctx context.Context, web *http.Client, p Post) (*http.Response, error)

	web   *http.Client
	blind atomic.Bool // the model has refused an image; later requests describe images in words
}

// NewServer fills in the zero values of c. The key is sent as a bearer token; a protocol with another header replaces Server.Header.
func NewServer(c llm.Config) *Server {
	c.MaxOutput = OrElse(c.MaxOutput, defaultMaxOutput)
	c.Idle = OrElse(c.Idle, defaultIdle)
	c.First = OrElse(c.First, defaultFirst)
	if c.Now == nil {
		c.Now = sys.RealClock().Wall
	}
	if c.Learned == nil {
		c.Learned = &llm.Learned{}
	}
	s := &Server{Config: c, web: withoutRedirects(client(c)), Header: http.Header{}}
	if c.APIKey != "" {
		s.Header.Set("Authorization", "Bearer "+c.APIKey)
	}
	return s
}

// Check returns what the owner must correct in the model's name and in the address.
func Check(c llm.Config) error {
	if strings.TrimSpace(c.Model) == "" {
		return event.NewFault(event.Invalid, `set model = "…" in [model]`, "the model has no name")
	}
	_, err := address(c)
	return err
}

// address parses the base address.
func address(c llm.Config) (*url.URL, error) {
	if c.BaseURL == "" {
		return nil, event.NewFault(event.Invalid, `set base_url = "https://host/v1"`, "no address is known for the backend %q", c.Provider)
	}
	u, err := url.Parse(strings.TrimRight(c.BaseURL, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, event.NewFault(event.Invalid, `write it as "https://host/v1"`, "base_url %q is not a web address", c.BaseURL)
	}
	return u, nil
}

// Info describes the model.
func (s *Server) Info() llm.Info {
	i := llm.Info{
		Provider: s.Config.Provider, Model: s.Config.Model, Server: s.Config.BaseURL + "#" + sys.Digest(s.Config.APIKey), Local: s.Local,
		Context: s.window(), MaxOutput: s.Limit(0), Price: s.Config.Price,
	}
	i.Few = s.Config.Tools == "few" || s.Config.Tools == "" && i.Small()
	return i
}

// window returns the size of one request: what a refusal or the server's list has told, else what is configured, else the usual size. A configured size
// below the server's own holds, because the owner may want shorter requests than possible.
func (s *Server) window() int {
	told := s.Config.Learned.Request()
	if told <= 0 {
		return OrElse(s.Config.Context, s.Usual)
	}
	return min(told, OrElse(s.Config.Context, told))
}

// Limit returns the limit of an answer of which the request asks for so many tokens; 0 asks for the model's own limit.
func (s *Server) Limit(asked int) int {
	s.Config.Learned.Lock()
	defer s.Config.Learned.Unlock()
	return min(s.Config.MaxOutput, OrElse(asked, s.Config.MaxOutput), OrElse(s.Config.Learned.Output, s.Config.MaxOutput))
}

// OrElse returns v if it is positive, and the other value if not.
func OrElse[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Client returns a copy of a client, or a new one without a proxy.
func Client(given *http.Client) *http.Client {
	web := &http.Client{}
	if given != nil {
		*web = *given
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.Proxy = nil // the environment's proxy settings are ignored
		web.Transport = t
	}
	return web
}

// client returns the client of a config, watched as it says.
func client(c llm.Config) *http.Client {
	web := Client(c.HTTP)
	if c.Watch != nil {
		web.Transport = c.Watch(web.Transport)
	}
	return web
}

// withoutRedirects lets the client follow no redirect. A redirect would send the whole conversation to another address;
// instead the user sees the server's answer.
func withoutRedirects(c *http.Client) *http.Client {
	if c.CheckRedirect == nil {
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return c
}
