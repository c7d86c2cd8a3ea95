package channelstest

import (
	"context"
	"io"
	"strings"

	"hob/channels"
)

// inMemory is the content of a file; Close does nothing.
type inMemory struct{ *strings.Reader }

func (inMemory) Close() error { return nil }

// Enclosed returns a file to send whose content is in memory.
func Enclosed(name, mime, data string) *channels.File {
	return &channels.File{Name: name, MIME: mime, Size: int64(len(data)), Open: func(context.Context) (io.ReadSeekCloser, error) {
		return inMemory{strings.NewReader(data)}, nil
	}}
}
