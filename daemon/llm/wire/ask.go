package wire

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
	"time"

	"hob/daemon/llm"
)

// errSlow is the cause of a list that takes longer than maxWait.
var errSlow = errors.New("the server took longer than 10 s")

// maxWait is the time that a list may take, with all its requests.
const maxWait = 10 * time.Second

// Asker sends the requests of one list to one server. Config.Auth takes the place of the key, if it is set.
type Asker struct {
	Config llm.Config
	Sign   func(http.Header, llm.Credentials) // adds the credentials; nil: a bearer token
	Hint   func(llm.Fault) string             // advice of the backend for a fault; nil or "": the usual advice

	base   *url.URL // BaseURL
	client *http.Client
	own    bool // the client belongs to this asker
}

// NewAsker checks the address and prepares the client. It sends nothing.
func NewAsker(c llm.Config) (*Asker, error) {
	u, err := address(c)
	if err != nil {
		return nil, err
	}
	web := client(c)
	web.CheckRedirect = nil
	return &Asker{Config: c, base: u, client: withoutRedirects(web), own: c.HTTP == nil}, nil
}

// List runs ask within 10 s and returns what it has collected, sorted by ID. Errors are *event.Fault with a hint and wrap the *llm.Error
// that a call of the model would return. When ctx ends, the result wraps its cause.
func (a *Asker) List(ctx context.Context, ask func(context.Context) (*Collection, error)) ([]llm.Entry, error) {
	defer a.close()
	inner, stop := context.WithTimeoutCause(ctx, maxWait, errSlow)
	defer stop()
	found, err := ask(inner)
	// A caller that has left gets an error, even if the list was complete.
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, a.explain(ctx, inner, err)
	}
	return found.Entries(), nil
}

// close releases the connections of a client that belongs to the asker.
func (a *Asker) close() {
	if a.own {
		a.client.CloseIdleConnections()
	}
}

// Root returns the address of a path outside the protocol's "/v1".
func (a *Asker) Root(path string) *url.URL {
	// Some servers have lists of their own next to "/v1", not below it.
	u := *a.base
	u.Path = strings.TrimSuffix(u.Path, "/v1") + path
	return &u
}

// Below returns the address of a path below the base address.
func (a *Asker) Below(path string) *url.URL { return a.base.JoinPath(path) }

// Fetch requests a document.
func (a *Asker) Fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	return a.send(ctx, http.MethodGet, u, nil)
}

// Post sends a JSON document and returns the response's body.
func (a *Asker) Post(ctx context.Context, u *url.URL, document any) ([]byte, error) {
	body, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	return a.send(ctx, http.MethodPost, u, body)
}

// send makes one request. Errors are *llm.Error, except when the request could not be built.
func (a *Asker) send(ctx context.Context, method string, u *url.URL, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("User-Agent", "hob")
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if err := a.sign(ctx, req.Header); err != nil {
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
func (a *Asker) sign(ctx context.Context, h http.Header) error {
	// An account takes the place of the key.
	who := llm.Credentials{Token: a.Config.APIKey}
	if a.Config.Auth != nil {
		var err error
		if who, err = a.Config.Auth(ctx); err != nil {
			return err
		}
	}
	switch {
	case a.Sign != nil:
		a.Sign(h, who)
	case who.Token != "":
		h.Set("Authorization", "Bearer "+who.Token)
	}
	return nil
}

// read returns the body of a good response, or the error of a bad one.
func (a *Asker) read(res *http.Response) ([]byte, error) {
	if res.StatusCode != http.StatusOK {
		return nil, a.refusal(res)
	}
	// One byte above the limit shows that the body is too long.
	body, err := io.ReadAll(io.LimitReader(res.Body, MaxBody+1))
	if err != nil {
		return nil, &llm.Error{Fault: llm.Network, Err: fmt.Errorf("read the answer: %w", err)}
	}
	if len(body) > MaxBody {
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
