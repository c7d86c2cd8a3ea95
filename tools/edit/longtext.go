package edit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"

	"hob/daemon/fsguard"
)

// Sizes in bytes.
const (
	window = 1 << 20   // size of one read
	direct = 256 << 10 // minimum size for a copy by the kernel
	flush  = 8 << 20   // bytes copied between two calls of startWriting
)

// span is a range of a text, in bytes from its beginning.
type span struct{ From, To int64 }

// longText is the content of an open file that is too large for memory, with changes that are not
// written yet. It is a list of parts: ranges of the file, and the inserted bytes between them. Find
// reads the text in windows, Replace changes the list, and Fill writes the result into a new file. The
// file must not change meanwhile.
type longText struct {
	src   *os.File
	size  int64
	parts []part
	known lineMark // a line count in the unchanged file
}

// part is a piece of a text: either inserted bytes or a range of the file.
type part struct {
	at   int64 // offset in the text
	n    int64
	from int64  // offset in the file
	put  []byte // the inserted bytes, if own is set
	own  bool   // the part is put, which may be empty, and not a range of the file
}

// lineMark caches how many lines end before an offset.
type lineMark struct {
	at    int64
	lines int
}

// newLongText returns the text of an open file of the given size.
func newLongText(src *os.File, size int64) *longText {
	t := &longText{src: src, size: size}
	if size > 0 {
		t.parts = []part{{n: size}}
	}
	return t
}

// Close closes the file.
func (t *longText) Close() error { return t.src.Close() }

// Size returns the length of the text with its changes.
func (t *longText) Size() int64 {
	if len(t.parts) == 0 {
		return 0
	}
	last := t.parts[len(t.parts)-1]
	return last.at + last.n
}

// Changed reports whether the text differs from the file.
func (t *longText) Changed() bool {
	if len(t.parts) == 0 {
		return t.size > 0
	}
	return len(t.parts) > 1 || t.parts[0].own || t.parts[0].n != t.size
}

// ReadAt reads the text with its changes. It implements io.ReaderAt.
func (t *longText) ReadAt(p []byte, off int64) (int, error) {
	i := t.partAt(off)
	n := 0
	for ; n < len(p) && i < len(t.parts); i++ {
		// Each round continues where the last part ended, so skip is 0 for all parts but the first.
		got, err := t.readPart(t.parts[i], p[n:], off+int64(n)-t.parts[i].at)
		n += got
		if err != nil {
			return n, err
		}
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// partAt returns the index of the part that contains an offset.
func (t *longText) partAt(off int64) int {
	return sort.Search(len(t.parts), func(i int) bool { return t.parts[i].at+t.parts[i].n > off })
}

// readPart reads from one part, skip bytes after its beginning.
func (t *longText) readPart(p part, to []byte, skip int64) (int, error) {
	if p.own {
		return copy(to, p.put[skip:]), nil
	}
	n := int(min(int64(len(to)), p.n-skip))
	return t.readSource(to[:n], p.from+skip)
}

// readSource reads a range of the file. A file that became shorter has been changed by somebody:
// fsguard.ErrMoved.
func (t *longText) readSource(to []byte, off int64) (int, error) {
	n, err := t.src.ReadAt(to, off)
	if n < len(to) && errors.Is(err, io.EOF) {
		return n, fmt.Errorf("read: %w", fsguard.ErrMoved)
	}
	// ReadAt may report the end of the file together with a full buffer.
	if n == len(to) {
		err = nil
	}
	return n, err
}

// Replace replaces each span. The spans ascend and do not overlap. put returns the new bytes; it
// may return the same slice twice, because Replace does not modify it.
func (t *longText) Replace(spans []span, put func(span) ([]byte, error)) error {
	// Build the new list of parts: between the spans, share the parts of the old list.
	next := &longText{}
	at := int64(0)
	for _, s := range spans {
		data, err := put(s)
		if err != nil {
			return err
		}
		t.share(next, at, s.From)
		next.add(part{n: int64(len(data)), put: data, own: true})
		at = s.To
	}
	t.share(next, at, t.Size())
	t.parts = next.parts
	return nil
}

// share adds a range of t to another text.
func (t *longText) share(to *longText, from, end int64) {
	for i := t.partAt(from); i < len(t.parts) && from < end; i++ {
		p := t.parts[i]
		skip, n := from-p.at, min(p.at+p.n, end)-from
		if p.own {
			p.put = p.put[skip : skip+n]
		} else {
			p.from += skip
		}
		p.n = n
		to.add(p)
		from += n
	}
}

// add appends a part, unless it is empty.
func (t *longText) add(p part) {
	if p.n > 0 {
		p.at = t.Size()
		t.parts = append(t.parts, p)
	}
}

// Fill writes the text into an empty file. The kernel copies the large unchanged ranges, without
// copying at all where the file system can share them.
func (t *longText) Fill(f *os.File) error {
	w := bufio.NewWriterSize(f, window)
	for _, p := range t.parts {
		var err error
		switch {
		case p.own:
			_, err = w.Write(p.put)
		case p.n < direct:
			_, err = io.CopyN(w, io.NewSectionReader(t.src, p.from, p.n), p.n)
		default:
			if err = w.Flush(); err == nil {
				err = t.clone(f, p)
			}
		}
		if errors.Is(err, io.EOF) {
			err = fsguard.ErrMoved
		}
		if err != nil {
			return fmt.Errorf("copy the unchanged part: %w", err)
		}
	}
	return w.Flush()
}

// clone copies one range of the file with copy_file_range or the like.
func (t *longText) clone(f *os.File, p part) error {
	if _, err := t.src.Seek(p.from, io.SeekStart); err != nil {
		return err
	}
	// Copy in steps, and let the disk begin with each one, so that the sync at the end is short.
	for done := int64(0); done < p.n; {
		n := min(flush, p.n-done)
		if _, err := io.CopyN(f, t.src, n); err != nil {
			return err
		}
		startWriting(f, p.at+done, n)
		done += n
	}
	return nil
}

// Head returns the beginning of the text, at most n bytes.
func (t *longText) Head(n int) ([]byte, error) { return t.Part(span{0, int64(n)}) }

// Part returns a range of the text, cut at its end.
func (t *longText) Part(s span) ([]byte, error) {
	s.To = min(s.To, t.Size())
	data := make([]byte, max(0, s.To-s.From))
	n, err := t.ReadAt(data, s.From)
	return data[:n], err
}

// Middle returns the range between the common beginning and the common end of file and text: its
// span in the file, and in the text.
func (t *longText) Middle() (old, now span) {
	old, now = span{0, t.size}, span{0, t.Size()}
	if n := len(t.parts); n > 0 {
		first, last := t.parts[0], t.parts[n-1]
		if !first.own && first.from == 0 {
			old.From, now.From = first.n, first.n
		}
		if !last.own && last.from+last.n == t.size && (n > 1 || old.From == 0) {
			old.To, now.To = last.from, last.at
		}
	}
	return old, now
}

// Source returns the text of the file without the changes. Closing either one closes the file.
func (t *longText) Source() *longText {
	s := newLongText(t.src, t.size)
	s.known = t.known
	return s
}

// Inserted returns the spans of the inserted bytes.
func (t *longText) Inserted() []span {
	var spans []span
	for _, p := range t.parts {
		if p.own {
			spans = append(spans, span{p.at, p.at + p.n})
		}
	}
	return spans
}

// note caches how many lines end before an offset, if the text is unchanged.
func (t *longText) note(at int64, lines int) {
	if !t.Changed() {
		t.known = lineMark{at, lines}
	}
}

// newlines counts line feeds.
func newlines(data []byte) int { return bytes.Count(data, []byte("\n")) }
