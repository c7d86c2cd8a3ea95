package cli

import (
	"context"
	"fmt"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/filename"
)

// Limits of what comes with one message.
const (
	MaxFiles     = 10
	MaxFile      = 8 << 20  // bytes of one
	MaxFileBytes = 20 << 20 // bytes of all
)

// File is something that comes with a message.
type File struct {
	Name string // as its sender calls it
	MIME string // what its sender takes it for; "" when he does not say
	Data []byte
}

// Inbox commits inputs.
type Inbox interface {
	// Accept commits the inputs; a pair (source, id) that is there already is passed over.
	Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error)
}

// Files commits an input together with the files that came with it.
type Files interface {
	// AcceptFiles stores contents, one for each part of in that is no text and in their order, and commits the input. A pair
	// (source, id) that is there already is passed over. After an error nothing is stored.
	AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error)
}

// checkFiles holds what comes with a message against the limits. Its errors are of the kind *event.Fault.
func checkFiles(files []File) error {
	if len(files) > MaxFiles {
		return event.NewFault(event.TooLarge, "send the rest with another message", "a message takes at most %d attachments, this one has %d", MaxFiles, len(files))
	}
	all := 0
	for i, f := range files {
		what := fmt.Sprintf("attachment %d (%s)", i+1, filename.Name(f.Name))
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

// partsOf describes files as parts of a message, each under a name of its own.
func partsOf(files []File) []event.Part {
	parts := make([]event.Part, 0, len(files))
	taken := map[string]bool{}
	for _, f := range files {
		parts = append(parts, channels.Part(f.Name, f.MIME, f.Data, taken))
	}
	return parts
}
