// Package document extracts text from files that are not plain text: Word documents, notebooks, PDF
// files and web pages. It also prepares pictures for a model.
//
// A file may be made to attack its reader. So Read starts a separate process, whose main function
// is Helper, and passes it the open file. Helper limits its own memory, time and stack, reads the
// file with the reader for its kind, and writes a line of JSON (Opening) followed by the text. The
// caller gets both through a function that may stop early.
//
// The package opens no files by name and decides nothing about permission.
package document

import (
	"errors"
	"fmt"
	"io"
)

// Limits of reading.
const (
	maxFile = 256 << 20 // bytes of a file
	maxText = 32 << 20  // bytes of text from one file
	maxKept = 4 << 20   // bytes of text held at once
)

// Reasons why a document cannot be read.
var (
	ErrBroken    = errors.New("broken")                          // its content does not match its name or its first bytes
	ErrLarge     = errors.New("too large")                       // it exceeds a limit
	ErrEncrypted = errors.New("encrypted with a password")       //
	ErrPages     = errors.New("no such pages")                   // wrong syntax, or not in this document
	ErrTime      = errors.New("reading it took too long")        //
	ErrHelper    = errors.New("the reader could not be started") // so nothing is known about the document
)

// page collects text up to a limit: maxText if it passes the text on, maxKept if it keeps it.
type page struct {
	w    io.Writer // nil: the text is kept
	text []byte
	size int
	full bool
	err  error // of w
}

// add appends text, and reports whether there is room for more.
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

// limit returns the limit in bytes.
func (p *page) limit() int {
	if p.w == nil {
		return maxKept
	}
	return maxText
}

// flush passes on the text collected so far.
func (p *page) flush() {
	if p.err == nil {
		_, p.err = p.w.Write(p.text)
	}
	p.text = p.text[:0]
}

// done returns the collected text. If the text was cut, its last line says so.
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

// broken wraps the error of a parser as ErrBroken, except ErrLarge.
func broken(err error) error {
	if errors.Is(err, ErrLarge) {
		return err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it ends too early", ErrBroken)
	}
	return fmt.Errorf("%w: %w", ErrBroken, err)
}
