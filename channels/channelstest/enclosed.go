package channelstest

import (
	"context"
	"io"
	"strings"

	"hob/channels"
)

// inMemory is a file's bytes; closing it ends nothing.
type inMemory struct{ *strings.Reader }

func (inMemory) Close() error { return nil }

// Enclosed is a file on its way out that lies in memory.
func Enclosed(name, mime, data string) *channels.File {
	return &channels.File{Name: name, MIME: mime, Size: int64(len(data)), Open: func(context.Context) (io.ReadSeekCloser, error) {
		return inMemory{strings.NewReader(data)}, nil
	}}
}
