package channels

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"hob/daemon/event"
)

// Opener opens the content of a file by the id of its artifact. An error that is fs.ErrNotExist means that
// the content no longer exists.
type Opener func(ctx context.Context, artifact string) (io.ReadSeekCloser, error)

// carried splits the files of a row into those that the channel can send, and lines for the text that name
// the others: their size, the reason and, for the owner, the path.
func carried(row Row, ch Channel, owner bool) (files []event.Enclosed, named string) {
	for _, f := range row.Files {
		why := refusal(f, ch)
		if why == "" {
			files = append(files, f)
			continue
		}
		named += fmt.Sprintf("\n\n[file %s, %s, was not sent: %s]", f.Name, Bytes(f.Size), row.To.Channel()+" "+why)
		if owner && f.Path != "" {
			named = named[:len(named)-1] + "; it is in " + f.Path + "]"
		}
	}
	if row.Body == "" && len(named) > 0 {
		named = named[2:]
	}
	return files, named
}

// refusal says why a channel cannot send a file, "" if it can.
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

// opened returns the file with an Open method that reads the artifact.
func opened(f *File, open Opener) *File {
	if f == nil {
		return nil
	}
	own := *f
	own.Open = func(ctx context.Context) (io.ReadSeekCloser, error) {
		r, err := open(ctx, own.Artifact)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: the file no longer exists: %w", ErrPermanent, err)
		}
		return r, err
	}
	return &own
}

// Whole opens the content and checks its length. Receivers are told Size before the content, so that a file
// of another length would break off in the middle. ErrPermanent: the length differs, or the content no longer
// exists.
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
	_ = content.Close() // nothing was read from it
	return nil, err
}

// names lists the names of files, to follow an excerpt of their text.
func names(files []event.Enclosed) (text string) {
	for _, f := range files {
		text += "\n[file " + f.Name + "]"
	}
	return text
}

// excerptOf returns the beginning of a delivery's text, with the name of its file.
func excerptOf(d Delivery) string {
	if d.File != nil {
		return Excerpt(d.Body + " [file " + d.File.Name + "]")
	}
	return Excerpt(d.Body)
}

// Bytes formats a size for people.
func Bytes(n int64) string {
	const kilo, mega = 1 << 10, 1 << 20
	switch {
	case n < kilo:
		return fmt.Sprintf("%d bytes", n)
	case n < mega:
		return fmt.Sprintf("%d KB", (n+kilo/2)/kilo)
	case n%mega == 0:
		return fmt.Sprintf("%d MB", n/mega)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/mega)
}
