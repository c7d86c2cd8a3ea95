package cli

import (
	"context"
	"fmt"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/fsguard"
)

// Limits for the files of one message.
const (
	MaxFiles     = 10
	MaxFile      = 8 << 20  // bytes of one file
	MaxFileBytes = 20 << 20 // bytes of all files
)

// File is a file that comes with a message.
type File struct {
	Name string // the sender's name for it
	MIME string // according to the sender; "" if unknown
	Data []byte
}

// Inbox commits inputs.
type Inbox interface {
	// Accept commits the inputs; an input whose (source, id) is already stored is skipped.
	Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error)
}

// Files commits an input together with its files.
type Files interface {
	// AcceptFiles stores contents, one for each file part of in and in the same order, and commits the input.
	// An input whose (source, id) is already stored is skipped. After an error nothing is stored.
	AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error)
}

// checkFiles checks files against the limits. Its errors are *event.Fault.
func checkFiles(files []File) error {
	if len(files) > MaxFiles {
		return event.NewFault(event.TooLarge, "send the rest with another message", "a message takes at most %d attachments, this one has %d", MaxFiles, len(files))
	}
	all := 0
	for i, f := range files {
		what := fmt.Sprintf("attachment %d (%s)", i+1, fsguard.SafeName(f.Name))
		if len(f.Data) == 0 {
			return event.NewFault(event.Invalid, "attach a file that holds something", "%s is empty", what)
		}
		if len(f.Data) > MaxFile {
			return event.NewFault(event.TooLarge, "put it into the workspace and name the file", "%s is over %d MB", what, MaxFile>>20)
		}
		all += len(f.Data)
	}
	if all > MaxFileBytes {
		return event.NewFault(event.TooLarge, "send some of them with another message", "the attachments of a message are over %d MB together", MaxFileBytes>>20)
	}
	return nil
}

// partsOf describes files as parts of a message, each with a unique name.
func partsOf(files []File) []event.Part {
	parts := make([]event.Part, 0, len(files))
	taken := map[string]bool{}
	for _, f := range files {
		parts = append(parts, channels.Part(f.Name, f.MIME, f.Data, taken))
	}
	return parts
}
