// Package picture makes image files fit for a model: not larger than it looks at, the right way up, in a format that servers take, and
// whole. It never believes a header further than to refuse by it, and it opens no files. What it takes is bounded by maxMemory; a
// decoder may still do what it likes, so it is called in a process of its own (see package document).
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
	MaxSide   = 2000       // pixels of the longer side of what is shown
	maxMemory = 69_000_000 // bytes of the decoded picture and what is made of it: a screen of 5120 × 2880, a photograph of 12 megapixels at its worst
	maxFile   = 64 << 20   // bytes of a picture's file
	maxShown  = 3_500_000  // bytes of what is shown: 5 MB in base64, which is what most servers take
)

// What can be wrong with a picture.
var (
	ErrFormat = errors.New("not a picture that can be read")
	ErrLarge  = errors.New("too large a picture")
)

// Shown is a picture as a model gets it.
type Shown struct {
	Data          []byte `json:"-"`
	MIME          string // image/png, image/jpeg or image/webp
	Width, Height int    // pixels of Data
	From          Header // the file's
}

// Header is what a picture's first bytes say.
type Header struct {
	Format        string // "png", "jpeg", "gif", "webp", "bmp"
	Width, Height int    // pixels, as they are stored: before the picture is turned
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
// whole conversation for a picture that is broken. Errors: ErrFormat, ErrLarge, or that of r.
func Fit(r io.ReaderAt, size int64) (s Shown, err error) {
	if size > maxFile {
		return s, fmt.Errorf("%w: its file has more than %d MB", ErrLarge, maxFile>>20)
	}
	defer caught(&err)
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
	if as := "image/" + f.name; turn == upright && max(b.Dx(), b.Dy()) <= MaxSide && size <= maxShown && sendable(as) {
		s.MIME, s.Data = as, make([]byte, size)
		_, err = io.ReadFull(io.NewSectionReader(r, 0, size), s.Data)
		return s, err
	}
	return s, s.redraw(turned(shrunk(img), turn), f.name == "jpeg")
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

// redraw encodes img into s: photographs as JPEG, everything else as PNG unless that is too large.
func (s *Shown) redraw(img *image.RGBA, photo bool) error {
	s.Width, s.Height = img.Rect.Dx(), img.Rect.Dy()
	if !photo {
		full, err := s.encode("image/png", func(w io.Writer) error { return png.Encode(w, img) })
		if err != nil || !full {
			return err
		}
		img = onWhite(img)
	}
	for _, quality := range []int{85, 60, 30} {
		full, err := s.encode("image/jpeg", func(w io.Writer) error { return jpeg.Encode(w, img, &jpeg.Options{Quality: quality}) })
		if err != nil || !full {
			return err
		}
	}
	return fmt.Errorf("%w: it has more than %d KB however it is shown", ErrLarge, maxShown/1000)
}

// encode keeps what one encoder writes, and says whether it would be more than is shown.
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

var errFull = errors.New("more than is shown")

// bounded holds maxShown bytes.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxShown {
		return 0, errFull
	}
	return b.Buffer.Write(p)
}
