package ntfy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"hob/channels"
)

// maxFile is hob's limit, in bytes: what ntfy.sh allows without an account. A server may allow more, or no
// files at all, and then refuses.
const maxFile = 2 << 20

// MaxFile returns the size of the largest file that hob publishes.
func (c *Channel) MaxFile() int64 { return maxFile }

// fileRequest makes a request that publishes a file ("Attach local file"): the body is the content, and a header
// contains the name.
func (c *Channel) fileRequest(ctx context.Context, topic string, d channels.Delivery, content io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, c.server+"/"+topic, content)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.ContentLength = d.File.Size
	c.authorize(req)
	req.Header.Set("Content-Type", cmp.Or(d.File.MIME, "application/octet-stream"))
	req.Header.Set("Filename", mime.BEncoding.Encode("utf-8", d.File.Name)) // the server decodes RFC 2047
	if caption := strings.Join(strings.Fields(c.Form().Render(d.Body).Text), " "); caption != "" {
		req.Header.Set("Message", mime.BEncoding.Encode("utf-8", caption))
	}
	return req, nil
}
