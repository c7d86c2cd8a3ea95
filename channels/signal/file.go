package signal

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/url"

	"hob/channels"
)

// maxFile is the largest file that hob sends, in bytes. Signal takes 100 MB; but the whole goes to signal-cli in one piece of JSON.
const maxFile = 20 << 20

// MaxFile is the largest file that hob sends.
func (c *Channel) MaxFile() int64 { return maxFile }

// dataURI is a file as signal-cli takes it ("--attachment" in signal-cli(1): RFC 2397, with the name as a parameter that is escaped as in a query).
func dataURI(ctx context.Context, f *channels.File) (string, error) {
	content, err := f.Whole(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = content.Close() }() // only read
	data, err := io.ReadAll(content)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", f.Name, err)
	}
	return "data:" + cmp.Or(f.MIME, "application/octet-stream") + ";filename=" + url.QueryEscape(f.Name) + ";base64," + base64.StdEncoding.EncodeToString(data), nil
}
