package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/fsguard"
)

// maxFile is hob's limit, in bytes. A homeserver may allow less ("m.upload.size") and then refuses the
// upload.
const maxFile = 50 << 20

// MaxFile returns the size of the largest file that hob sends.
func (c *Channel) MaxFile() int64 { return maxFile }

// about describes a file ("m.file", "m.image").
type about struct {
	MIME string `json:"mimetype,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// fileMessage uploads the file of a delivery, and returns the message that shows it. Nobody sees an upload
// without its message. A repeated upload makes a second file, but the message is still sent once.
func fileMessage(ctx context.Context, api *client, d channels.Delivery) (outgoing, error) {
	f := d.File
	out := outgoing{Type: "m.file", Body: f.Name, FileName: f.Name, Info: &about{f.MIME, f.Size}}
	if fsguard.IsPicture(f.MIME) {
		out.Type = "m.image"
	}
	if caption := strings.TrimSpace(markup.Plain().Render(d.Body).Text); caption != "" {
		out.Body = caption
	}
	content, err := f.Whole(ctx)
	if err != nil {
		return out, err
	}
	defer func() { _ = content.Close() }() // it was only read
	out.URL, err = api.upload(ctx, f.Name, f.MIME, f.Size, content)
	return out, err
}

// upload stores a file at the homeserver and returns its mxc address ("Content repository"). The file is
// streamed.
func (c *client) upload(ctx context.Context, name, mime string, size int64, content io.Reader) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wire.FileTime, fmt.Errorf("the file did not go out within %s", wire.FileTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/_matrix/media/v3/upload?filename="+url.QueryEscape(name), content)
	if err != nil {
		return "", fmt.Errorf("make a request: %w", wire.WithoutAddress(ctx, err))
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", cmp.Or(mime, "application/octet-stream"))
	var made struct {
		URI string `json:"content_uri"`
	}
	if err := c.do(ctx, req, &made); err != nil {
		return "", err
	}
	if !strings.HasPrefix(made.URI, "mxc://") {
		return "", unread(errors.New("no content_uri"))
	}
	return made.URI, nil
}
