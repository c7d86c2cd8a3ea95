package channels

import (
	"context"
	"fmt"
	"io"

	"hob/daemon/event"
)

// The limits of what comes with a message.
const (
	MaxFile  = 20 << 20 // bytes of one file; a larger one is named and not kept
	maxFiles = 10
	tooLarge = "it has more than 20 MB" // of MaxFile
)

// fetch reads the files of a message. One that is too large, or cannot be had, is named with the reason.
func fetch(ctx context.Context, in event.In, files []Attachment) (event.In, [][]byte) {
	var contents [][]byte
	for i, f := range files {
		var data []byte
		why := fmt.Sprintf("only %d files of a message are kept", maxFiles)
		if i < maxFiles {
			data, why = content(ctx, f)
		}
		if why != "" {
			in.Parts = append(in.Parts, event.Say(fmt.Sprintf("[attachment %s was not kept: %s]", f.Name, why))...)
			continue
		}
		contents = append(contents, data)
		in.Parts = append(in.Parts, event.Part{Kind: kindOf(f.MIME), Name: f.Name, MIME: f.MIME, Size: int64(len(data))})
	}
	return in, contents
}

func content(ctx context.Context, f Attachment) (data []byte, why string) {
	if f.Size > MaxFile {
		return nil, tooLarge
	}
	body, err := f.Open(ctx)
	if err != nil {
		return nil, err.Error()
	}
	defer func() { _ = body.Close() }() // read to its end, or not wanted any more
	data, err = io.ReadAll(io.LimitReader(body, MaxFile+1))
	switch {
	case err != nil:
		return nil, err.Error()
	case len(data) > MaxFile:
		return nil, tooLarge
	}
	return data, ""
}

func kindOf(mime string) event.PartKind {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return event.Image
	default:
		return event.File
	}
}
