// Package picture makes image files fit for a model: not larger than it looks at, the right way up, in a format that servers take, and
// whole. It never believes a header further than to refuse by it, and it opens no files.
package picture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// Limits of pictures.
const (
	MaxSide   = 2000        // pixels of the longer side of what is shown
	maxPixels = 8192 * 6144 // of a picture that is decoded at all: the largest that cameras of telephones make
	maxFile   = 64 << 20    // bytes of a picture's file
	maxShown  = 3_500_000   // bytes of what is shown: 5 MB in base64, which is what most servers take
)

// What can be wrong with a picture.
var (
	ErrFormat = errors.New("not a picture that can be read")
	ErrLarge  = errors.New("too large a picture")
)

// Shown is a picture as a model gets it.
type Shown struct {
	Data          []byte
	MIME          string // image/png, image/jpeg or image/webp
	Width, Height int    // pixels of Data
	From          Header // the file's
}

// Header is what a picture's first bytes say.
type Header struct {
	Format        string // "png", "jpeg", "gif", "webp", "bmp"
	Width, Height int    // pixels, as they are stored: before the picture is turned
	deep          bool   // two bytes a channel
}

// Changed says that Data is not the file as it is.
func (s Shown) Changed() bool { return s.MIME != "image/"+s.From.Format || s.Width != s.From.Width }

// format is a kind of picture.
type format struct {
	name   string
	at     int // where the magic stands
	magic  string
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// formats are the kinds of pictures that are read. The magics are those of the formats' specifications.
func formats() []format {
	return []format{
		{"png", 0, "\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode},
		{"jpeg", 0, "\xff\xd8\xff", jpeg.DecodeConfig, jpeg.Decode},
		{"gif", 0, "GIF8", gif.DecodeConfig, gif.Decode}, // decodes the first frame alone
		{"webp", 8, "WEBP", webp.DecodeConfig, webp.Decode},
		{"bmp", 0, "BM", bmp.DecodeConfig, bmp.Decode},
	}
}

// formatOf finds the format by the first bytes.
func formatOf(head []byte) (format, bool) {
	for _, f := range formats() {
		if len(head) >= f.at+len(f.magic) && string(head[f.at:f.at+len(f.magic)]) == f.magic {
			return f, true
		}
	}
	return format{}, false
}

// Known says whether a file that begins with head is of a format that Fit reads.
func Known(head []byte) bool {
	_, ok := formatOf(head)
	return ok
}

// Fit reads a picture and makes it fit to be shown. It is decoded to its end even when it can be shown as it is: a server refuses a
// whole conversation for a picture that is broken. Errors: ErrFormat, ErrLarge, or that of ctx or r.
func Fit(ctx context.Context, r io.ReaderAt, size int64) (s Shown, err error) {
	if size > maxFile {
		return s, fmt.Errorf("%w: its file has more than %d MB", ErrLarge, maxFile>>20)
	}
	defer caught(&err)
	f, head, err := headerOf(io.NewSectionReader(r, 0, size))
	if err != nil {
		return s, err
	}
	s.From = head
	img, err := f.decode(stopping{ctx.Err, io.NewSectionReader(r, 0, size)})
	if ctx.Err() != nil {
		return s, ctx.Err()
	}
	if err != nil {
		return s, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	turn := upright
	if f.name == "jpeg" {
		if turn, err = orientation(io.NewSectionReader(r, 0, size)); err != nil {
			return s, err
		}
	}
	b := img.Bounds()
	s.Width, s.Height = b.Dx(), b.Dy()
	if as := "image/" + f.name; turn == upright && max(b.Dx(), b.Dy()) <= MaxSide && size <= maxShown && sendable(as) {
		s.MIME, s.Data = as, make([]byte, size)
		_, err = io.ReadFull(io.NewSectionReader(r, 0, size), s.Data)
		return s, err
	}
	return s, s.redraw(ctx, turned(shrunk(ctx, img), turn), f.name == "jpeg")
}

// sendable are the formats that are sent as they are. A GIF may move, which servers refuse.
func sendable(mime string) bool {
	return mime == "image/png" || mime == "image/jpeg" || mime == "image/webp"
}

// caught turns a panic of a decoder into an error.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrFormat, p)
	}
}

// headerOf reads the header and refuses by it what would take too much memory.
func headerOf(r *io.SectionReader) (format, Header, error) {
	magic := make([]byte, 16)
	n, err := r.ReadAt(magic, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return format{}, Header{}, err
	}
	f, ok := formatOf(magic[:n])
	if !ok {
		return f, Header{}, ErrFormat
	}
	c, err := f.config(r)
	if err != nil {
		return f, Header{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	h := Header{Format: f.name, Width: c.Width, Height: c.Height, deep: deep(c.ColorModel)}
	return f, h, h.check()
}

// check refuses what nobody can look at and what would take hundreds of megabytes.
func (h Header) check() error {
	if h.Width <= 0 || h.Height <= 0 {
		return fmt.Errorf("%w: it has no pixels", ErrFormat)
	}
	limit := maxPixels
	if h.deep {
		limit /= 2
	}
	if h.Width > limit/h.Height {
		return fmt.Errorf("%w: %d × %d pixels, and at most %d million are read", ErrLarge, h.Width, h.Height, limit/1_000_000)
	}
	return nil
}

func deep(m color.Model) bool {
	return m == color.RGBA64Model || m == color.NRGBA64Model || m == color.Gray16Model
}

// stopping is a reader that ends with the context whose Err it has.
type stopping struct {
	over func() error
	r    io.Reader
}

func (s stopping) Read(p []byte) (int, error) {
	if err := s.over(); err != nil {
		return 0, err
	}
	return s.r.Read(p)
}

// redraw encodes img into s: photographs as JPEG, everything else as PNG unless that is too large.
func (s *Shown) redraw(ctx context.Context, img *image.RGBA, photo bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.Width, s.Height = img.Rect.Dx(), img.Rect.Dy()
	var b bytes.Buffer
	if !photo {
		if err := png.Encode(&b, img); err != nil {
			return fmt.Errorf("encode picture: %w", err)
		}
		s.MIME, s.Data = "image/png", b.Bytes()
		if b.Len() <= maxShown {
			return nil
		}
		img = onWhite(img)
	}
	for _, quality := range []int{85, 60, 30} {
		b = bytes.Buffer{}
		if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
			return fmt.Errorf("encode picture: %w", err)
		}
		s.MIME, s.Data = "image/jpeg", b.Bytes()
		if b.Len() <= maxShown {
			break
		}
	}
	return ctx.Err()
}
