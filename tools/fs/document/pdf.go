package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ledongthuc/pdf"
)

// tail is the maximum distance of the end mark from the end of a PDF file, in bytes (ISO 32000-1,
// annex H, implementation note 18).
const tail = 1024

// pdfFile is an open PDF file. Its methods may panic, loop or exhaust the memory, so only the
// helper process uses it.
type pdfFile struct {
	r     *pdf.Reader
	fonts map[string]*font // by the text of their dictionaries
}

// openPDF opens a PDF file without a password.
func openPDF(r io.ReaderAt, size int64) (*pdfFile, error) {
	if err := sized(size); err != nil {
		return nil, err
	}
	// Some files have bytes after the end mark. The library gets the file without them.
	size, err := whole(r, size)
	if err != nil {
		return nil, err
	}
	reader, err := pdf.NewReader(header{r}, size)
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return nil, ErrEncrypted
	case err != nil && (strings.Contains(err.Error(), "encryption version") || strings.Contains(err.Error(), "encryption revision") || strings.Contains(err.Error(), "encryption filter")):
		return nil, fmt.Errorf("%w, or in a way that is not known", ErrEncrypted) // the library has no error values for these cases
	case err != nil:
		return nil, broken(err)
	}
	return &pdfFile{reader, map[string]*font{}}, nil
}

// whole checks both ends of a PDF file and returns the offset of its end. Some files have bytes
// after the end mark.
func whole(r io.ReaderAt, size int64) (int64, error) {
	head := make([]byte, 8)
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	if !bytes.HasPrefix(head, []byte("%PDF-")) {
		return 0, fmt.Errorf("%w: it does not begin like a PDF file", ErrBroken)
	}
	from := max(0, size-tail)
	end := make([]byte, size-from)
	if _, err := r.ReadAt(end, from); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	at := bytes.LastIndex(end, []byte("%%EOF"))
	if at < 0 {
		return 0, fmt.Errorf("%w: its end is missing", ErrBroken)
	}
	return from + int64(at) + int64(len("%%EOF")), nil
}

// header presents every PDF version as 1.7 with a line break. The library accepts no other version,
// and nothing else depends on it.
type header struct{ io.ReaderAt }

// ReadAt reads the file with the replaced header.
func (h header) ReadAt(p []byte, at int64) (int, error) {
	n, err := h.ReaderAt.ReadAt(p, at)
	if first := "%PDF-1.7\n"; at < int64(len(first)) {
		copy(p[:n], first[at:])
	}
	return n, err
}

// pages returns the number of pages.
func (b *pdfFile) pages() (int, error) {
	n := b.r.NumPage()
	if n < 0 || n > 1_000_000 {
		return 0, fmt.Errorf("%w: it claims to have %d pages", ErrBroken, n)
	}
	if n == 0 {
		return 0, fmt.Errorf("%w: it has no pages", ErrBroken)
	}
	return n, nil
}

// page returns the text of a page, from 1. If the page is broken, the text so far ends with a note,
// and the other pages remain readable.
func (b *pdfFile) page(n int) (text string) {
	s := &textExtractor{file: b, at: identity()}
	defer func() {
		if p := recover(); p != nil {
			text = closed(s.out.done()) + fmt.Sprintf("(the rest of this page cannot be read: %s)\n", word(fmt.Sprint(p)))
		}
	}()
	p := b.r.Page(n)
	if p.V.IsNull() {
		return "(this page is missing)\n"
	}
	s.run(p.V.Key("Contents"), p.Resources(), 0)
	if text = s.out.done(); strings.TrimSpace(text) == "" {
		return "(no text on this page: it may be a picture of one)\n"
	}
	return text
}

// write writes the text of the requested pages, each below a line with its number.
func (b *pdfFile) write(w io.Writer, want Pages, all int) error {
	for _, r := range want {
		for n := r.From; n <= r.To; n++ {
			if _, err := fmt.Fprintf(w, "--- page %d of %d ---\n%s", n, all, closed(b.page(n))); err != nil {
				return err
			}
		}
	}
	return nil
}
