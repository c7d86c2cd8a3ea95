// Package picture prepares image files for a model: not larger than a model uses, upright, in a
// format that servers accept, and complete. The header of a file decides first whether decoding
// would use too much memory (maxMemory). A decoder may still misbehave, so package document calls
// this package in a separate process. It opens no files.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/bmp"
	"golang.org/x/image/webp"
)

// Limits of pictures.
const (
	MaxSide   = 2000       // pixels of the longer side of a shown picture
	maxMemory = 69_000_000 // bytes for decoding and scaling: enough for a screen of 5120 × 2880 or a photograph of 12 megapixels in the worst case
	maxFile   = 64 << 20   // bytes of a file
	maxShown  = 3_500_000  // bytes of a shown picture: 5 MB in base64, the limit of most servers
)

// Reasons to refuse a picture.
var (
	ErrFormat = errors.New("not a picture that can be read")
	ErrLarge  = errors.New("too large a picture")
)

// Shown is a picture as a model gets it.
type Shown struct {
	Data          []byte `json:"-"`
	MIME          string // image/png, image/jpeg or image/webp
	Width, Height int    // pixels of Data
	From          Header // header of the file
}

// Header holds the facts from the beginning of a picture's file.
type Header struct {
	Format        string // "png", "jpeg", "gif", "webp", "bmp"
	Width, Height int    // pixels as stored, before the picture is turned
}

// Changed reports whether Data differs from the file.
func (s Shown) Changed() bool { return s.MIME != "image/"+s.From.Format || s.Width != s.From.Width }

// format is a picture format.
type format struct {
	name   string
	at     int // offset of the magic
	magic  string
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// formats lists the formats that can be decoded. The magics are from their specifications.
func formats() []format {
	return []format{
		{"png", 0, "\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode},
		{"jpeg", 0, "\xff\xd8\xff", jpeg.DecodeConfig, jpeg.Decode},
		{"gif", 0, "GIF8", gif.DecodeConfig, gif.Decode}, // decodes the first frame only
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

// Known reports whether Fit can decode a file that starts with head.
func Known(head []byte) bool {
	_, ok := formatOf(head)
	return ok
}

// Fit prepares a picture. It decodes the whole picture even if the file can be shown unchanged,
// because a server refuses a whole conversation over one broken picture. Errors: ErrFormat,
// ErrLarge, or those of r.
func Fit(r io.ReaderAt, size int64) (Shown, error) { return fit(r, size, false) }

// Redraw is Fit for a picture that is always drawn and encoded anew, as PNG or JPEG: nothing but the pixels of its first frame is left.
func Redraw(r io.ReaderAt, size int64) (Shown, error) { return fit(r, size, true) }

func fit(r io.ReaderAt, size int64, anew bool) (s Shown, err error) {
	if size > maxFile {
		return s, fmt.Errorf("%w: its file has more than %d MB", ErrLarge, maxFile>>20)
	}
	// The decoders may panic on a broken picture.
	defer caught(&err)
	// The header decides about the memory before anything is decoded.
	f, head, err := headerOf(io.NewSectionReader(r, 0, size))
	if err != nil {
		return s, err
	}
	s.From = head
	img, err := f.decode(io.NewSectionReader(r, 0, size))
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
	// A file that is small, upright and accepted by servers is sent as it is: to encode it again would lose quality.
	if as := "image/" + f.name; !anew && turn == upright && max(b.Dx(), b.Dy()) <= MaxSide && size <= maxShown && sendable(as) {
		s.MIME, s.Data = as, make([]byte, size)
		_, err = io.ReadFull(io.NewSectionReader(r, 0, size), s.Data)
		return s, err
	}
	// Shrink first, so that fewer pixels are turned.
	return s, s.redraw(turned(shrunk(img), turn), f.name == "jpeg")
}

// sendable reports whether servers accept a format unchanged. They refuse animated GIFs, so GIF is
// not among them.
func sendable(mime string) bool {
	return mime == "image/png" || mime == "image/jpeg" || mime == "image/webp"
}

// caught turns a panic of a decoder into an error.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrFormat, p)
	}
}

// headerOf reads the header, and refuses a picture that would use too much memory.
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
	h := Header{Format: f.name, Width: c.Width, Height: c.Height}
	if h.Width <= 0 || h.Height <= 0 {
		return f, h, fmt.Errorf("%w: it has no pixels", ErrFormat)
	}
	most, err := h.memory(r, c.ColorModel)
	if err == nil && most > maxMemory {
		err = fmt.Errorf("%w: %d × %d pixels take %d MB when they are decoded, and at most %d are given to a picture", ErrLarge, h.Width, h.Height, int64(most)/1_000_000, maxMemory/1_000_000)
	}
	return f, h, err
}

// redraw encodes img into s: photographs as JPEG, all others as PNG unless that is too large.
func (s *Shown) redraw(img *image.RGBA, photo bool) error {
	s.Width, s.Height = img.Rect.Dx(), img.Rect.Dy()
	if !photo {
		full, err := s.encode("image/png", func(w io.Writer) error { return png.Encode(w, img) })
		if err != nil || !full {
			return err
		}
		// JPEG has no transparency.
		img = onWhite(img)
	}
	// Lower the quality step by step until the picture fits.
	for _, quality := range []int{85, 60, 30} {
		full, err := s.encode("image/jpeg", func(w io.Writer) error { return jpeg.Encode(w, img, &jpeg.Options{Quality: quality}) })
		if err != nil || !full {
			return err
		}
	}
	return fmt.Errorf("%w: it has more than %d KB however it is shown", ErrLarge, maxShown/1000)
}

// encode stores the output of one encoder, and reports whether it exceeds the limit.
func (s *Shown) encode(mime string, write func(io.Writer) error) (full bool, err error) {
	var b bounded
	if err := write(&b); err != nil && !errors.Is(err, errFull) {
		return false, fmt.Errorf("encode picture: %w", err)
	} else if err != nil {
		return true, nil
	}
	s.MIME, s.Data = mime, b.Bytes()
	return false, nil
}

// errFull says that an encoded picture exceeds maxShown.
var errFull = errors.New("more than the limit of a picture")

// bounded is a buffer for at most maxShown bytes.
type bounded struct{ bytes.Buffer }

// Write appends p, or returns errFull.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxShown {
		return 0, errFull
	}
	return b.Buffer.Write(p)
}
