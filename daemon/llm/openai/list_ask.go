package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"hob/daemon/event"
	"hob/daemon/llm"
)

// errSlow is the cause of a list that takes longer than maxWait.
var errSlow = errors.New("the server took longer than 10 s")

// asker sends the requests of one list to one server. It does not use the library: lists need no streaming, and ollama and LM Studio have
// paths of their own.
type asker struct {
	server llm.Config
	base   *url.URL // BaseURL
	client *http.Client
	own    bool // the client belongs to this asker
}

// newAsker checks the address and prepares the client. It sends nothing.
func newAsker(s llm.Config) (*asker, error) {
	if s.BaseURL == "" {
		return nil, event.NewFault(event.Invalid, `set base_url = "https://host/v1"`, "no address is known for the backend %q", s.Provider)
	}
	u, err := url.Parse(strings.TrimRight(s.BaseURL, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, event.NewFault(event.Invalid, `write it as "https://host/v1"`, "base_url %q is not a web address", s.BaseURL)
	}
	// The client is copied, because the redirect rule below must not change the caller's.
	a := &asker{server: s, base: u, client: &http.Client{}}
	if s.HTTP != nil {
		*a.client = *s.HTTP
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.Proxy = nil // the environment's proxy settings are ignored
		a.client.Transport, a.own = t, true
	}
	// A redirect would send the key to an address that the owner did not configure.
	a.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return a, nil
}

// close releases the connections of a client that belongs to the asker.
func (a *asker) close() {
	if a.own {
		a.client.CloseIdleConnections()
	}
}

// root returns the address of a path outside the protocol's "/v1".
func (a *asker) root(path string) *url.URL {
	// The lists of ollama and LM Studio are next to "/v1", not below it.
	u := *a.base
	u.Path = strings.TrimSuffix(u.Path, "/v1") + path
	return &u
}

// get requests a document.
func (a *asker) get(ctx context.Context, u *url.URL) ([]byte, error) {
	return a.send(ctx, http.MethodGet, u, nil)
}

// post sends a JSON document and returns the response's body.
func (a *asker) post(ctx context.Context, u *url.URL, document any) ([]byte, error) {
	body, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	return a.send(ctx, http.MethodPost, u, body)
}

// send makes one request. Errors are *llm.Error, except when the request could not be built.
func (a *asker) send(ctx context.Context, method string, u *url.URL, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("User-Agent", "hob")
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := a.sign(ctx, req); err != nil {
		return nil, err
	}
	res, err := a.client.Do(req)
	if err != nil {
		return nil, &llm.Error{Fault: llm.Network, Err: cause(err)}
	}
	defer func() { _ = res.Body.Close() }() // everything needed has been read
	return a.read(res)
}

// sign adds the credentials of the key or of the account.
func (a *asker) sign(ctx context.Context, req *http.Request) error {
	// An account takes the place of the key.
	who := llm.Credentials{Token: a.server.APIKey}
	if a.server.Auth != nil {
		var err error
		if who, err = a.server.Auth(ctx); err != nil {
			return err
		}
	}
	if who.Token != "" {
		req.Header.Set("Authorization", "Bearer "+who.Token)
	}
	if who.Account != "" {
		req.Header.Set("ChatGPT-Account-ID", who.Account)
	}
	return nil
}

// read returns the body of a good response, or the error of a bad one.
func (a *asker) read(res *http.Response) ([]byte, error) {
	if res.StatusCode != http.StatusOK {
		return nil, a.refusal(res)
	}
	// One byte above the limit shows that the body is too long.
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return nil, &llm.Error{Fault: llm.Network, Err: fmt.Errorf("read the answer: %w", err)}
	}
	if len(body) > maxBody {
		return nil, &llm.Error{Fault: llm.Malformed, Text: "the answer is longer than 16 MB"}
	}
	return bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\uFEFF"))), nil
}

// cause strips the address from a network error, because the caller adds it.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
