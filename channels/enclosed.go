package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"hob/daemon/event"
)

// Opener opens the bytes of a file that goes with a message, by the id of its artifact. An error that is fs.ErrNotExist: they are there
// no more.
type Opener func(ctx context.Context, artifact string) (io.ReadSeekCloser, error)

// carried are the files of a row that a channel can send, and lines for the text that name the others: how large they are, why they do
// not come and, to the owner, where they lie.
func carried(row Row, ch Channel, owner bool) (files []event.Enclosed, named string) {
	for _, f := range row.Files {
		why := refusal(f, ch)
		if why == "" {
			files = append(files, f)
			continue
		}
		named += fmt.Sprintf("\n\n[file %s, %s, was not sent: %s]", f.Name, Bytes(f.Size), row.To.Channel()+" "+why)
		if owner && f.Path != "" {
			named = named[:len(named)-1] + "; it lies in " + f.Path + "]"
		}
	}
	if row.Body == "" && len(named) > 0 {
		named = named[2:]
	}
	return files, named
}

// refusal says why a channel cannot send a file, "" when it can.
func refusal(f event.Enclosed, ch Channel) string {
	most := AbilitiesOf(ch).MaxFile
	switch {
	case most == 0:
		return "carries no files"
	case f.Size > most:
		return "takes files of up to " + Bytes(most)
	case f.Artifact == "":
		return "gets files of up to " + Bytes(event.MaxEnclosed) + " from hob"
	}
	return ""
}

// opened is a file that can be opened.
func opened(f *File, open Opener) *File {
	if f == nil {
		return nil
	}
	own := *f
	own.Open = func(ctx context.Context) (io.ReadSeekCloser, error) {
		r, err := open(ctx, own.Artifact)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: the file is there no more: %w", ErrPermanent, err)
		}
		return r, err
	}
	return &own
}

// Whole opens the file, and sees to it that it has the Size that its receiver is told before: a file of another length would end in the
// middle. ErrPermanent: it has not, or is there no more.
func (f *File) Whole(ctx context.Context) (io.ReadSeekCloser, error) {
	content, err := f.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", f.Name, err)
	}
	size, err := content.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	switch {
	case err != nil:
		err = fmt.Errorf("read %s: %w", f.Name, err)
	case size != f.Size:
		err = fmt.Errorf("%s has %d bytes and had %d: %w", f.Name, size, f.Size, ErrPermanent)
	default:
		return content, nil
	}
	_ = content.Close() // it was not read
	return nil, err
}

// names names files behind an excerpt of the text that they go with.
func names(files []event.Enclosed) (text string) {
	for _, f := range files {
		text += "\n[file " + f.Name + "]"
	}
	return text
}

// excerptOf is the beginning of what a delivery says, or the name of its file.
func excerptOf(d Delivery) string {
	if d.File != nil {
		return Excerpt(d.Body + " [file " + d.File.Name + "]")
	}
	return Excerpt(d.Body)
}

// Bytes is a size for people, rounded to what they read easily.
func Bytes(n int64) string {
	const kilo, mega = 1 << 10, 1 << 20
	switch {
	case n < kilo:
		return fmt.Sprintf("%d bytes", n)
	case n < mega:
		return fmt.Sprintf("%d KB", (n+kilo/2)/kilo)
	case n%mega == 0:
		return fmt.Sprintf("%d MB", n/mega)
	default:
		return fmt.Sprintf("%.1f MB", float64(n)/mega)
	}
}
