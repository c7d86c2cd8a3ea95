package fs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"hob/daemon/text"
)

// chunk is the size of one read: it fits the second-level cache of a core.
const chunk = 128 << 10

// lines reads a file line by line. To skip lines it only counts the line breaks in whole chunks.
type lines struct {
	r    io.Reader
	buf  []byte
	rest []byte // the unused part of buf
	err  error  // error of the last read

	broken bool // the last line had a line break
}

// newLines starts at the current position of r.
func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, chunk)} }

// fill reads the next chunk when the last one is used up, and reports whether there is any data.
func (l *lines) fill() bool {
	for len(l.rest) == 0 && l.err == nil {
		var n int
		n, l.err = l.r.Read(l.buf)
		l.rest = l.buf[:n]
	}
	return len(l.rest) > 0
}

// ended reports whether the file is used up.
func (l *lines) ended() bool { return !l.fill() }

// failure returns the error that stopped the reading. The end of the file is not an error.
func (l *lines) failure() error {
	if errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}

// skip skips n lines and returns how many there were. A last line without a line break counts.
func (l *lines) skip(ctx context.Context, n int) (int, error) {
	done, open := 0, false
	for done < n && l.fill() {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		// If line n starts after this chunk, its breaks are only counted. open remembers whether the chunk ended inside a line.
		breaks := bytes.Count(l.rest, []byte{'\n'})
		if done+breaks < n {
			open = l.rest[len(l.rest)-1] != '\n'
			done += breaks
			l.rest = nil
			continue
		}
		// Line n starts in this chunk: step from break to break, and leave the rest for next.
		for ; done < n; done++ {
			l.rest = l.rest[bytes.IndexByte(l.rest, '\n')+1:]
		}
		open = false
	}
	if done < n && open {
		done++
	}
	return done, l.failure()
}

// next returns at most keep bytes of the next line without its line break, the number of bytes left
// out, and whether there was a line.
func (l *lines) next(keep int) (line []byte, dropped int, ok bool) {
	for l.fill() {
		ok = true
		end := bytes.IndexByte(l.rest, '\n')
		l.broken = end >= 0
		part := l.rest
		if end >= 0 {
			part = l.rest[:end]
			l.rest = l.rest[end+1:]
		} else {
			l.rest = nil
		}
		// The rest of a long line is counted and not kept, so that memory is bounded.
		take := min(len(part), keep-len(line))
		line = append(line, part[:take]...)
		dropped += len(part) - take
		if end >= 0 {
			break
		}
	}
	return line, dropped, ok
}

// pageView is a page together with the facts needed to format it.
type pageView struct {
	ReadOutput
	list []string
	what string // the source of the lines, for people; "" for a text file
	note string // an additional note

	latin bool // a line is not UTF-8
}

// collect takes lines until a limit is reached.
func (s *pageView) collect(ctx context.Context, l *lines, in ReadInput) error {
	// A caller that names a limit gets the larger number of bytes.
	budget, limit := defaultBytes, defaultLines
	if in.Limit > 0 {
		budget, limit = maxBytes, in.Limit
	}
	for len(s.list) < limit {
		if err := ctx.Err(); err != nil {
			return err
		}
		// One byte more than the longest line that is shown, so that a CR at its end is seen.
		raw, dropped, ok := l.next(maxLineChars*utf8.UTFMax + 1)
		if !ok {
			break
		}
		if dropped == 0 && !utf8.Valid(raw) {
			western, _ := text.Labelled("windows-1252")
			raw, s.latin = western.Decode(raw), true
		}
		shown, crlf, cut := tidy(raw, dropped, in.Offset == 0 && len(s.list) == 0)
		// 8 bytes are the line number, the tab and the line break of numbered. The first line is always shown.
		if budget -= len(shown) + 8; budget < 0 && len(s.list) > 0 {
			s.Next = in.Offset + len(s.list)
			break
		}
		s.list = append(s.list, shown)
		s.CRLF = s.CRLF || crlf && l.broken
		if cut {
			s.Cut++
		}
	}
	if s.Lines = len(s.list); s.Lines > 0 {
		s.First = in.Offset + 1
	}
	// The limit of lines stopped it: there is more only if the file goes on.
	if s.Next == 0 && !l.ended() {
		s.Next = in.Offset + s.Lines
	}
	s.Text = strings.Join(s.list, "\n")
	return l.failure()
}

// tidy prepares a line for display: valid UTF-8, without byte order mark and trailing CR, cut to
// maxLineChars.
func tidy(raw []byte, dropped int, first bool) (text string, crlf, cut bool) {
	if first {
		raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	}
	if dropped == 0 && bytes.HasSuffix(raw, []byte("\r")) {
		raw, crlf = raw[:len(raw)-1], true
	}
	// Limits are in characters, not in bytes, so that a character is never cut in two.
	end := 0
	for chars := 0; chars < maxLineChars && end < len(raw); chars++ {
		_, n := utf8.DecodeRune(raw[end:])
		end += n
	}
	text = strings.ToValidUTF8(string(raw[:end]), "\uFFFD")
	if dropped += len(raw) - end; dropped == 0 {
		return text, crlf, false
	}
	return fmt.Sprintf("%s… [line cut: %s more]", text, count(dropped, "byte")), crlf, true
}

// numbered formats the page for the model, with line numbers from 1 and a hint how to continue.
func (s pageView) numbered() string {
	var b strings.Builder
	for i, line := range s.list {
		fmt.Fprintf(&b, "%6d\t%s\n", s.First+i, line)
	}
	switch {
	case s.Lines == 0:
		b.WriteString("(the file is empty)")
	case s.Next > 0:
		fmt.Fprintf(&b, "(%s shown of %s; continue with offset=%d)", count(s.Lines, "line"), cmp.Or(s.what, "a file of "+sized(s.Size)), s.Next)
	default:
		fmt.Fprintf(&b, "(end of file)")
	}
	if s.CRLF {
		b.WriteString(" (lines end in CR LF)")
	}
	if s.latin {
		b.WriteString(" (some lines are not UTF-8; they are shown as windows-1252, and edit does not find their special characters)")
	}
	for _, note := range []string{s.Encoding, s.note} {
		if note != "" {
			b.WriteString(" (" + note + ")")
		}
	}
	return b.String()
}
