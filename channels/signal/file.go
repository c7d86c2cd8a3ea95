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

// maxFile is hob's limit, in bytes. Signal's is 100 MB, but the file goes to signal-cli inside one JSON
// document.
const maxFile = 20 << 20

// MaxFile returns the size of the largest file that hob sends.
func (c *Channel) MaxFile() int64 { return maxFile }

// dataURI encodes a file for signal-cli ("--attachment" in signal-cli(1)): RFC 2397, with the name as a
// parameter that is escaped like a query.
func dataURI(ctx context.Context, f *channels.File) (string, error) {
	content, err := f.Whole(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = content.Close() }() // it was only read
	data, err := io.ReadAll(content)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", f.Name, err)
	}
	return "data:" + cmp.Or(f.MIME, "application/octet-stream") + ";filename=" + url.QueryEscape(f.Name) + ";base64," + base64.StdEncoding.EncodeToString(data), nil
}
