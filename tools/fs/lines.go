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
)

// chunk is how much is read at once: what a core's second cache holds.
const chunk = 128 << 10

// lines walks a file by lines. Skipping counts line breaks in whole chunks and looks at nothing else.
type lines struct {
	r    io.Reader
	buf  []byte
	rest []byte // of buf, not yet used
	err  error  // of the last read
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, chunk)} }

// fill reads the next chunk once the last one is used up. It reports whether there is any.
func (l *lines) fill() bool {
	for len(l.rest) == 0 && l.err == nil {
		var n int
		n, l.err = l.r.Read(l.buf)
		l.rest = l.buf[:n]
	}
	return len(l.rest) > 0
}

// ended says that nothing is left.
func (l *lines) ended() bool { return !l.fill() }

// failure is the error that stopped the reading; the end of the file is none.
func (l *lines) failure() error {
	if errors.Is(l.err, io.EOF) {
		return nil
	}
	return l.err
}

// skip passes over n lines and returns how many there were; a last line without a break counts.
func (l *lines) skip(ctx context.Context, n int) (int, error) {
	done, open := 0, false
	for done < n && l.fill() {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		breaks := bytes.Count(l.rest, []byte{'\n'})
		if done+breaks < n {
			open = l.rest[len(l.rest)-1] != '\n'
			done += breaks
			l.rest = nil
			continue
		}
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

// next returns a line without its break: at most keep bytes of it, how many bytes were left out, and
// whether there was a line.
func (l *lines) next(keep int) (line []byte, dropped int, ok bool) {
	for l.fill() {
		ok = true
		end := bytes.IndexByte(l.rest, '\n')
		part := l.rest
		if end >= 0 {
			part = l.rest[:end]
			l.rest = l.rest[end+1:]
		} else {
			l.rest = nil
		}
		take := min(len(part), keep-len(line))
		line = append(line, part[:take]...)
		dropped += len(part) - take
		if end >= 0 {
			break
		}
	}
	return line, dropped, ok
}

// shot is a page with what is needed to draw it.
type shot struct {
	Page
	list []string
	what string // what the lines are of, for people; "" is a file of text
	note string // what else is to be said
}

// collect takes lines until the limits are reached.
func (s *shot) collect(ctx context.Context, l *lines, in Reading) error {
	budget, limit := defaultBytes, defaultLines
	if in.Limit > 0 {
		budget, limit = maxBytes, in.Limit
	}
	for len(s.list) < limit {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, dropped, ok := l.next(maxLineChars*utf8.UTFMax + 1)
		if !ok {
			break
		}
		text, crlf, cut := tidy(raw, dropped, in.Offset == 0 && len(s.list) == 0)
		if budget -= len(text) + 8; budget < 0 && len(s.list) > 0 {
			s.Next = in.Offset + len(s.list)
			break
		}
		s.list = append(s.list, text)
		s.CRLF = s.CRLF || crlf
		if cut {
			s.Cut++
		}
	}
	if s.Lines = len(s.list); s.Lines > 0 {
		s.First = in.Offset + 1
	}
	if s.Next == 0 && !l.ended() {
		s.Next = in.Offset + s.Lines
	}
	s.Text = strings.Join(s.list, "\n")
	return l.failure()
}

// tidy makes a raw line fit to show: valid UTF-8, no byte order mark, no CR at its end, not too long.
func tidy(raw []byte, dropped int, first bool) (text string, crlf, cut bool) {
	if first {
		raw = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	}
	if dropped == 0 && bytes.HasSuffix(raw, []byte("\r")) {
		raw, crlf = raw[:len(raw)-1], true
	}
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

// numbered draws the page for the model: numbers from 1, and how to go on.
func (s shot) numbered() string {
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
	if s.note != "" {
		b.WriteString(" (" + s.note + ")")
	}
	return b.String()
}
