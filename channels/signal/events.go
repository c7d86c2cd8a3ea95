package signal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line of an event, in bytes. Files are not part of events.
const maxLine = 8 << 20

// errLongLine ends a stream that does not come from signal-cli.
var errLongLine = fmt.Errorf("a line has more than %d MB", maxLine>>20)

// sse is one server-sent event (HTML standard, "Server-sent events") without its name: the daemon sends only
// one kind.
type sse struct {
	ID   string // "": the daemon sends no ids
	Data []byte
}

// events parses a stream of server-sent events.
type events struct {
	r     *bufio.Reader
	alive func() // called for each line, including keep-alives
}

// newEvents reads events from r.
func newEvents(r io.Reader, alive func()) *events {
	return &events{r: bufio.NewReaderSize(r, 64<<10), alive: alive}
}

// next returns the event up to the next empty line; it may have no data. An incomplete last event is dropped.
func (s *events) next() (sse, error) {
	var e sse
	lines := 0
	for {
		line, err := s.line()
		if err != nil {
			return sse{}, err
		}
		if len(line) == 0 {
			return e, nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "id":
			e.ID = string(value)
		case "data":
			if lines++; lines > 1 {
				e.Data = append(e.Data, '\n')
			}
			e.Data = append(e.Data, value...)
			if len(e.Data) > maxLine {
				return sse{}, errLongLine
			}
		}
	}
}

// line returns the next line without its end.
func (s *events) line() ([]byte, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, errLongLine
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		s.alive()
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
}

// ready reports whether a complete event is already in the buffer.
func (s *events) ready() bool {
	waiting, err := s.r.Peek(s.r.Buffered())
	return err == nil && bytes.Contains(waiting, []byte("\n\n"))
}
