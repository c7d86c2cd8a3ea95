package openai

import (
	"context"
	"io"
	"net/http"
	"strings"

	"hob/daemon/llm"
	"hob/daemon/llm/wire"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/webhooks"
)

// poster posts requests with the vendor's library.
type poster struct{ service webhooks.WebhookService }

// newPoster makes the poster of a model. A service of the library is what sends a request, and this one is the smallest: its package registers no types when the
// program starts. The package of the Responses API would make the program 4 MB larger, the root client 13 MB more (docs/decisions/0004). Unlike the root
// client's constructor, it reads no OPENAI_* variables.
func newPoster(c llm.Config) poster {
	return poster{webhooks.NewWebhookService(
		option.WithBaseURL(c.BaseURL),
		option.WithAPIKey(c.APIKey),
		option.WithMaxRetries(0),
		option.WithHeader("User-Agent", "hob"),
		option.WithHeader("Accept", "text/event-stream"),
		option.WithMiddleware(withoutMachine),
	)}
}

// send is the Send of a wire.Server. The library decodes no answer here: it hands over the response, whose body hob reads itself.
func (o poster) send(ctx context.Context, web *http.Client, p wire.Post) (*http.Response, error) {
	var res *http.Response
	options := []option.RequestOption{option.WithHTTPClient(web), option.WithRequestBody("application/json", p.Body), option.WithResponseBodyInto(&res), option.WithMiddleware(to(p.Path))}
	for name := range p.Header {
		options = append(options, option.WithHeader(name, p.Header.Get(name)))
	}
	_, err := o.service.New(ctx, webhooks.WebhookNewParams{}, options...)
	if res != nil {
		return res, nil
	}
	// The library returned neither a response nor an error; the caller needs one of them.
	if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// own is the path that the library's service appends to the base address.
const own = "webhook_endpoints"

// to replaces that path by the path of a protocol. The library's azure package changes paths in the same way.
func to(path string) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		req.URL.Path = strings.TrimSuffix(req.URL.Path, own) + path
		req.URL.RawPath = ""
		return next(req)
	}
}

// maxFault limits what the library reads of an error's body, in bytes.
const maxFault = 64 << 10

// withoutMachine removes the library's headers about this machine, and limits how much of an error's body is read.
func withoutMachine(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	for name := range req.Header {
		if strings.HasPrefix(name, "X-Stainless-") {
			req.Header.Del(name)
		}
	}
	res, err := next(req)
	if err == nil && res.StatusCode >= http.StatusBadRequest {
		res.Body = bounded{Reader: io.LimitReader(res.Body, maxFault), Closer: res.Body}
	}
	return res, err
}

// bounded is a body that is read only in part.
type bounded struct {
	io.Reader
	io.Closer
}
