package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/tools/search/pattern"
)

// Limits of a line in the results.
const (
	maxText   = 500      // characters shown, starting shortly before the match
	lead      = 80       // bytes shown before a match far inside a line
	maxSearch = 64 << 10 // bytes of a long line searched for the match to show
)

// scanner searches files one after the other, for one worker.
type scanner struct {
	pattern  *pattern.Pattern
	searcher *pattern.Searcher
	reader   text.Reader
	mode     string
	whole    bool // a match may span lines
	keep     int  // lines to keep per file
}

// file searches a file; size is its expected size. wants says whether its lines are needed. A
// binary file yields no lines, except those before a NUL that appears late: like with ripgrep,
// these count for content and file names only.
func (s *scanner) file(ctx context.Context, src source, size int64, wants bool) (h hit, binary bool, err error) {
	keep := 0
	if wants && s.mode == modeContent {
		keep = s.keep
	}
	// A large file is split among all workers, unless matches may span lines.
	if size >= largeFile && !s.whole {
		if h, err := s.byParts(ctx, src, size, keep); !errors.Is(err, errOdd) {
			return h, false, err
		}
	}
	s.reader.Reset(sys.Interruptible(ctx, src))
	if s.whole {
		return s.overLines(wants)
	}
	for number := 1; ; {
		block, err := s.reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return h, false, err
		}
		h.encoding = s.reader.Encoding
		if number = s.lines(&h, block, number, keep); s.mode == modeFiles && h.count > 0 {
			return h, false, nil
		}
	}
	// A NUL may appear only after some lines have matched. ripgrep then drops the count.
	atOnce, later := s.reader.Binary()
	if later && s.mode == modeCount {
		h.count = 0
	}
	return h, atOnce || later, nil
}

// lines searches a block of lines; number is the number of the first. It returns the number after
// the last line, which is only correct while fewer lines than keep have matched. If only file names
// are wanted, it stops at the first match.
func (s *scanner) lines(h *hit, block []byte, number, keep int) int {
	s.searcher.Reset(block)
	counted := 0 // bytes of block already counted in number
	for from := 0; ; {
		start, end := s.searcher.Next(from)
		if start < 0 {
			break
		}
		if h.count++; s.mode == modeFiles {
			return number
		}
		if len(h.lines) < keep {
			number += bytes.Count(block[counted:start], []byte{'\n'})
			counted = start
			h.lines = append(h.lines, s.clip(number, block[start:end]))
		}
		from = end + 1
	}
	if len(h.lines) < keep {
		number += bytes.Count(block[counted:], []byte{'\n'})
	}
	return number
}

// overLines searches a file as one text. Matches that share a line count once.
func (s *scanner) overLines(wants bool) (h hit, binary bool, err error) {
	all, err := s.reader.Whole()
	if errors.Is(err, io.EOF) {
		return h, true, nil
	}
	if err != nil {
		return h, false, err
	}
	h.encoding = s.reader.Encoding
	s.searcher.Reset(all)
	if len(all) == 0 || !s.searcher.Any() {
		return h, false, nil
	}
	number, counted, last := 1, 0, -1
	for _, bounds := range s.pattern.All(all) {
		if bounds[0] == len(all) && all[len(all)-1] == '\n' {
			break // after the last line
		}
		start := bytes.LastIndexByte(all[:bounds[0]], '\n') + 1
		if start > last {
			h.count++
		}
		if s.mode == modeFiles {
			break
		}
		// A match may span lines, and each of them is shown. Lines of an earlier match are skipped.
		for from := max(start, last+1); from <= max(bounds[0], bounds[1]-1); {
			end := from + lineLength(all[from:])
			if wants && s.mode == modeContent && len(h.lines) < s.keep {
				number += bytes.Count(all[counted:from], []byte{'\n'})
				counted = from
				h.lines = append(h.lines, s.clip(number, all[from:end]))
			}
			last = end
			from = end + 1
		}
	}
	return h, false, nil
}

// lineLength returns the length of the first line without its line break.
func lineLength(rest []byte) int {
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		return i
	}
	return len(rest)
}

// clip prepares a line for display. Of a long line it shows the part around the match.
// The searcher reports only the line, so the match is searched for again.
func (s *scanner) clip(number int, raw []byte) line {
	start := 0
	if len(raw) <= maxText {
		return plainLine(number, raw)
	}
	if bounds := s.pattern.Bounds(raw[:min(len(raw), maxSearch)]); bounds != nil && bounds[1] > maxText {
		start = max(0, bounds[0]-lead)
	}
	return windowed(number, raw, start)
}

// plainLine prepares a line for display from its beginning.
func plainLine(number int, raw []byte) line { return windowed(number, raw, 0) }

// windowed prepares a line for display from the byte start on.
// The carriage return of a line that ends in CR LF is not shown.
func windowed(number int, raw []byte, start int) line {
	raw = bytes.TrimSuffix(raw, []byte("\r"))
	shown, cut := window(raw, min(start, len(raw)))
	return line{number: number, text: shown, cut: cut}
}

// window cuts a line to maxText characters from start on, and marks what is left out.
func window(raw []byte, start int) (shown string, cut bool) {
	// A window must not begin inside a character.
	for start > 0 && start < len(raw) && !utf8.RuneStart(raw[start]) {
		start--
	}
	end := start
	for chars := 0; chars < maxText && end < len(raw); chars++ {
		_, size := utf8.DecodeRune(raw[end:])
		end += size
	}
	shown = strings.ToValidUTF8(string(raw[start:end]), "\uFFFD")
	if start > 0 {
		shown = fmt.Sprintf("[%s before] …%s", count(start, "byte"), shown)
	}
	if end < len(raw) {
		shown += fmt.Sprintf("… [line cut: %s more]", count(len(raw)-end, "byte"))
	}
	return shown, start > 0 || end < len(raw)
}
