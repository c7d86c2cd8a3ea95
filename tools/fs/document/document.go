// Package document makes text of files that are not: Word documents, notebooks and PDF files. What it reads may be made to break it, so
// everything is bounded, and PDF files are read by a process of their own (see Helper). It opens no files by name and decides nothing.
package document

import (
	"errors"
	"fmt"
	"io"
)

// Limits of what is read.
const (
	maxFile = 256 << 20 // bytes of a file
	maxText = 32 << 20  // bytes of text made of one
)

// What can be wrong with a document.
var (
	ErrBroken    = errors.New("broken")                        // it is not what its name or its beginning says
	ErrLarge     = errors.New("too large")                     // more than is read
	ErrEncrypted = errors.New("encrypted with a password")     //
	ErrPages     = errors.New("no such pages")                 // of Pages, or of this document
	ErrTime      = errors.New("reading it took too long")      //
	ErrHelper    = errors.New("the reader could not be begun") // nothing is known about the document
)

// page is text that grows up to maxText bytes.
type page struct {
	text []byte
	full bool
}

// add appends text and reports whether there is room for more.
func (p *page) add(parts ...string) bool {
	for _, s := range parts {
		if len(p.text)+len(s) > maxText {
			p.full = true
		}
		if !p.full {
			p.text = append(p.text, s...)
		}
	}
	return !p.full
}

// done is the text; cut text says so in its last line.
func (p *page) done() string {
	if p.full {
		p.text = fmt.Appendf(p.text, "\n[cut: there is more than %d MB of text]\n", maxText>>20)
	}
	return string(p.text)
}

// sized refuses a file that is too large.
func sized(size int64) error {
	if size > maxFile {
		return fmt.Errorf("%w: the file has more than %d MB", ErrLarge, maxFile>>20)
	}
	return nil
}

// broken wraps what a parser said; errors of r itself stay what they are, as far as the parser lets them through.
func broken(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrBroken)
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}
