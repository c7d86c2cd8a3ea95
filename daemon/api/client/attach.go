package client

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hob/daemon/api"
	"hob/daemon/event"
)

// Limits of the daemon for the attachments of a message. The client checks them before it sends anything.
const (
	MaxAttachments     = 10
	MaxAttachment      = 8 << 20  // bytes of one attachment
	MaxAttachmentBytes = 20 << 20 // bytes of all attachments together
)

// Attachment is a file sent with a message.
type Attachment = api.Attachment

// Attach reads files to send them with a message. A file that cannot be sent is an *event.Fault.
// The order of the paths is kept. The first file that cannot be sent ends it.
func Attach(paths ...string) ([]Attachment, error) {
	if len(paths) > MaxAttachments {
		return nil, event.NewFault(event.TooLarge, "send the rest with another message", "a message takes at most %d attachments", MaxAttachments)
	}
	var list []Attachment
	all := 0
	for _, path := range paths {
		data, err := readWhole(path)
		if err != nil {
			return nil, err
		}
		if all += len(data); all > MaxAttachmentBytes {
			return nil, event.NewFault(event.TooLarge, "send some of them with another message", "the attachments of a message may have %d MB together", MaxAttachmentBytes>>20)
		}
		list = append(list, Attachment{Name: filepath.Base(path), Data: data})
	}
	return list, nil
}

// readWhole reads a regular file. It must not block, which opening a pipe would: it refuses anything else than a regular file before and
// after opening it, and opens without waiting, as the file may be replaced in between.
func readWhole(path string) (data []byte, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, unread(path, err)
	}
	if err := unfit(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // #nosec G304 -- the user named it
	if err != nil {
		return nil, unread(path, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err = f.Stat(); err != nil {
		return nil, unread(path, err)
	}
	if err := unfit(path, info); err != nil {
		return nil, err
	}
	data, err = io.ReadAll(io.LimitReader(f, MaxAttachment+1))
	switch {
	case err != nil:
		return nil, unread(path, err)
	case len(data) > MaxAttachment:
		return nil, tooLarge(path)
	case len(data) == 0:
		return nil, event.NewFault(event.Invalid, "attach a file that holds something", "%s is empty", path)
	}
	return data, nil
}

// unfit returns why a file cannot be sent, nil if it can.
func unfit(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return event.NewFault(event.Invalid, "attach the files in it, or an archive of it", "%s is a folder", path)
	case !info.Mode().IsRegular():
		return event.NewFault(event.Invalid, "copy what it holds into a file and attach that", "%s is not a regular file", path)
	case info.Size() > MaxAttachment:
		return tooLarge(path)
	}
	return nil
}

// tooLarge is the error for a file over the limit. It is checked here so that a large file is not sent first.
func tooLarge(path string) error {
	return event.NewFault(event.TooLarge, "put it into the workspace and name the file", "%s is over %d MB", path, MaxAttachment>>20)
}

// unread explains why a file could not be read.
func unread(path string, err error) error {
	f := &event.Fault{Kind: event.Clash, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Kind, f.Text, f.Hint = event.Missing, "there is no file "+path, "paths begin at the folder that you are in"
	case errors.Is(err, fs.ErrPermission):
		f.Text, f.Hint = "you may not read "+path, "check its rights"
	default:
		f.Text, f.Hint = fmt.Sprintf("%s cannot be read: %v", path, plainly(err)), "copy it to this machine's disk and attach the copy"
	}
	return f
}

// plainly returns the error without the path, which the message has already.
func plainly(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
