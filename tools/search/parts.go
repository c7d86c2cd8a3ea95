package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/daemon/walk"
)

// Sizes in bytes.
const (
	partSize  = 256 << 10 // size of a part; it fits a processor's cache
	largeFile = 16 * partSize
	tailSize  = 4 << 10 // first read after a part, to find the end of its last line
	maxTail   = 4 << 20 // a file with a longer line is odd
	maxAhead  = 16      // parts that may be finished before an earlier one
)

// errOdd says that a file cannot be searched in parts: it has very long lines, another encoding or
// a NUL, or it became shorter.
var errOdd = errors.New("not to be searched by parts")

// source is an open file.
type source interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// parts searches a large file with one worker per processor. Each worker takes the next part. The
// results are joined in file order, and no worker may get more than maxAhead parts ahead, which
// bounds the memory.
type parts struct {
	ctx   context.Context //nolint:containedctx // lives for one file
	src   io.ReaderAt
	size  int64
	keep  int  // lines to keep
	first bool // stop at the first match

	mu     sync.Mutex
	turn   sync.Cond
	taken  int64          // parts handed out so far
	joined int64          // parts added to found
	ahead  map[int64]part // searched but not joined
	found  hit
	number int // number of the first line after the joined parts, while lines are kept
	enough bool
	err    error
}

// part holds the matches in one part. Its line numbers start at 0.
type part struct {
	hit
	breaks int
}

// byParts searches a file up to size. On errOdd the caller must read the file sequentially.
func (s *scanner) byParts(ctx context.Context, src io.ReaderAt, size int64, keep int) (hit, error) {
	p := &parts{ctx: ctx, src: src, size: size, keep: keep, first: s.mode == modeFiles, number: 1, ahead: map[int64]part{}}
	p.turn.L = &p.mu
	group := sys.NewGroup(slog.New(slog.DiscardHandler), func(_ string, err error) { p.end(err) })
	for range walk.Workers() {
		mine := &scanner{pattern: s.pattern, searcher: s.pattern.Searcher(), mode: s.mode}
		group.Once("search a part", func() error {
			buf := make([]byte, 0, partSize+tailSize+1)
			for {
				at, keep, ok := p.take()
				if !ok {
					return nil
				}
				block, err := p.read(&buf, at)
				if err != nil {
					return err
				}
				// lines copies what it keeps, so the buffer can be used again.
				var found part
				found.breaks = mine.lines(&found.hit, block, 0, keep)
				p.join(at, found)
			}
		})
	}
	group.Wait()
	return p.found, p.err
}

// take returns the next part and how many of its lines may be needed.
// Earlier parts may be unfinished, so a worker may keep more lines than join uses.
func (p *parts) take() (at int64, keep int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Wait for the slowest worker, so that the results in ahead stay few.
	for p.err == nil && !p.enough && p.taken-p.joined >= maxAhead {
		p.turn.Wait()
	}
	if p.err == nil {
		p.err = p.ctx.Err()
	}
	if p.err != nil || p.enough || p.taken*partSize >= p.size {
		return 0, 0, false
	}
	p.taken++
	return p.taken - 1, p.keep - len(p.found.lines), true
}

// end stops all workers with an error.
func (p *parts) end(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.turn.Broadcast()
}

// join adds the matches of a part as soon as all earlier parts are joined.
func (p *parts) join(at int64, found part) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ahead[at] = found
	for {
		next, ok := p.ahead[p.joined]
		if !ok {
			return
		}
		delete(p.ahead, p.joined)
		p.joined++
		p.found.count += next.count
		for _, l := range next.lines[:min(len(next.lines), p.keep-len(p.found.lines))] {
			// Only now are the line breaks of all earlier parts known.
			l.number += p.number
			p.found.lines = append(p.found.lines, l)
		}
		p.number += next.breaks
		p.enough = p.first && p.found.count > 0
		p.turn.Broadcast()
	}
}

// read reads the lines of a part: those that start after its first byte, up to and including the
// one that starts at the first byte of the next part. Thereby all reads are aligned, which is much
// faster. The buffer grows as the last line requires.
func (p *parts) read(buf *[]byte, at int64) ([]byte, error) {
	low, high := at*partSize, min(p.size, (at+1)*partSize)
	b := (*buf)[:high-low]
	if err := p.full(b, low); err != nil {
		return nil, err
	}
	// The sequential reader handles byte order marks and NUL.
	if bytes.IndexByte(b, 0) >= 0 || at == 0 && odd(b) {
		return nil, errOdd
	}
	start := 0
	if at > 0 {
		if start = bytes.IndexByte(b, '\n') + 1; start == 0 {
			return nil, nil // no line starts here, so the line that ends later belongs to an earlier part
		}
	}
	b, err := p.finish(b, high)
	if err == nil && bytes.IndexByte(b[high-low:], 0) >= 0 {
		err = errOdd
	}
	if err != nil {
		return nil, err
	}
	*buf = b
	return b[start:], nil
}

// finish appends the rest of the line that contains the offset high.
// Each read is twice as long as the one before: most lines end in the first.
func (p *parts) finish(b []byte, high int64) ([]byte, error) {
	for more := int64(tailSize); high < p.size; more *= 2 {
		if more > maxTail {
			return b, errOdd
		}
		n := len(b)
		b = append(b, make([]byte, min(more, p.size-high))...)
		if err := p.full(b[n:], high); err != nil {
			return b, err
		}
		high += int64(len(b) - n)
		if i := bytes.IndexByte(b[n:], '\n'); i >= 0 {
			return b[:n+i+1], nil
		}
	}
	return b, nil
}

// full reads all of b; a file that ends earlier is odd.
func (p *parts) full(b []byte, at int64) error {
	_, err := p.src.ReadAt(b, at)
	if errors.Is(err, io.EOF) {
		return errOdd
	}
	return err
}

// odd reports whether a text starts with a byte order mark, or is in another encoding than UTF-8.
func odd(b []byte) bool {
	e, ok := text.Detect(b, false)
	return ok && !e.UTF8() || bytes.HasPrefix(b, []byte("\xef\xbb\xbf"))
}
