package matrix

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"hob/channels/wire"
)

// maxMoves limits the redirects that are followed for one file.
const maxMoves = 5

// file opens the file at an mxc address ("Content repository"). It retries, because the message with the file
// comes only once.
func (c *client) file(ctx context.Context, mxc string) (io.ReadCloser, error) {
	u, err := url.Parse(mxc)
	if err != nil || u.Scheme != "mxc" || u.Host == "" || len(u.Path) < 2 || strings.Contains(u.Path[1:], "/") {
		return nil, fmt.Errorf("%.100q is not the address of a file", mxc)
	}
	open := func(ctx context.Context) (io.ReadCloser, error) { return c.fetch(ctx, u.Host, u.Path[1:]) }
	return wire.Fetch(ctx, open, func(err error) bool {
		return errors.Is(err, wire.ErrLost) || wire.Final(err)
	})
}

// fetch requests a file. Homeservers before v1.11 use another path.
func (c *client) fetch(ctx context.Context, server, id string) (io.ReadCloser, error) {
	body, err := c.download(ctx, path("v1", "media", "download", server, id))
	if wire.HasCode(err, "M_UNRECOGNIZED") {
		return c.download(ctx, "/_matrix/media/v3/download/"+url.PathEscape(server)+"/"+url.PathEscape(id))
	}
	return body, err
}

// download opens a file where the homeserver says it is: instead of the file, the answer may be a redirect
// (MSC3860, MSC3916). The token is sent to the homeserver only.
func (c *client) download(ctx context.Context, at string) (io.ReadCloser, error) {
	link := c.base + at
	for range maxMoves {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
		if err != nil {
			return nil, fmt.Errorf("make a request: %w", wire.WithoutAddress(ctx, err))
		}
		resp, err := c.send(ctx, req)
		if err == nil {
			return resp.Body, nil
		}
		// A redirect arrives as a refusal with an address.
		no := wire.Refused(err)
		if no == nil || no.Moved == "" {
			return nil, err
		}
		to, err := req.URL.Parse(no.Moved)
		if err != nil {
			return nil, fmt.Errorf("read where the file is: %w", wire.WithoutAddress(ctx, err))
		}
		// Another host gets no token, and is asked with the guarded client.
		if to.Scheme != req.URL.Scheme || to.Host != req.URL.Host || to.User != nil {
			return wire.Elsewhere(ctx, c.base, to.String())
		}
		link = to.String()
	}
	return nil, fmt.Errorf("%w: the homeserver moves it again and again", wire.ErrLost)
}
