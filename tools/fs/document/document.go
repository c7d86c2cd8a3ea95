// Package document makes text of files that are not: Word documents, notebooks, PDF files and web pages; and pictures that a model can look
// at. What it reads may be made to break it, so everything is bounded, and read by a process of its own (see Helper). It opens no files by
// name and decides nothing.
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
	maxKept = 4 << 20   // bytes of the part of it that is held at once
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

// page is text that grows up to a limit: maxText where it is written on, maxKept where it is kept.
type page struct {
	w    io.Writer // nil: the text is kept
	text []byte
	size int
	full bool
	err  error // of w
}

// add appends text and reports whether there is room for more.
func (p *page) add(parts ...string) bool {
	for _, s := range parts {
		p.size += len(s)
		if p.size > p.limit() {
			p.full = true
		}
		if !p.full {
			p.text = append(p.text, s...)
		}
	}
	if p.w != nil && len(p.text) > 32<<10 {
		p.flush()
	}
	return !p.full && p.err == nil
}

func (p *page) limit() int {
	if p.w == nil {
		return maxKept
	}
	return maxText
}

func (p *page) flush() {
	if p.err == nil {
		_, p.err = p.w.Write(p.text)
	}
	p.text = p.text[:0]
}

// done is the text that is kept; cut text says so in its last line.
func (p *page) done() string {
	if p.full {
		p.text = fmt.Appendf(p.text, "\n[cut: there is more than %d MB of text]\n", p.limit()>>20)
	}
	return string(p.text)
}

// end writes the rest of the text.
func (p *page) end() error {
	p.text = []byte(p.done())
	p.flush()
	return p.err
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
	if errors.Is(err, ErrLarge) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrBroken)
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}
