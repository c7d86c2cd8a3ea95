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
	"hob/daemon/filename"
)

// maxFile is the largest file that hob sends, in bytes. A homeserver may take less ("m.upload.size"), and says so when it is asked to.
const maxFile = 50 << 20

// MaxFile is the largest file that hob sends.
func (c *Channel) MaxFile() int64 { return maxFile }

// about tells of a file ("m.file", "m.image").
type about struct {
	MIME string `json:"mimetype,omitempty"`
	Size int64  `json:"size,omitempty"`
}

// enclosed uploads a delivery's file, and is the message that shows it. An upload that fails has shown nothing to anybody; one that
// is made twice is two files, and the message is sent once.
func enclosed(ctx context.Context, api *client, d channels.Delivery) (outgoing, error) {
	f := d.File
	out := outgoing{Type: "m.file", Body: f.Name, FileName: f.Name, Info: &about{f.MIME, f.Size}}
	if filename.Picture(f.MIME) {
		out.Type = "m.image"
	}
	if caption := strings.TrimSpace(markup.Plain().Render(d.Body).Text); caption != "" {
		out.Body = caption
	}
	content, err := f.Whole(ctx)
	if err != nil {
		return out, err
	}
	defer func() { _ = content.Close() }() // only read
	out.URL, err = api.upload(ctx, f.Name, f.MIME, f.Size, content)
	return out, err
}

// upload stores a file at the homeserver and returns its mxc address ("Content repository").
func (c *client) upload(ctx context.Context, name, mime string, size int64, content io.Reader) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wire.FileTime, fmt.Errorf("the file did not go out within %s", wire.FileTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/_matrix/media/v3/upload?filename="+url.QueryEscape(name), content)
	if err != nil {
		return "", fmt.Errorf("make a request: %w", wire.Bare(ctx, err))
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
