package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"hob/daemon/llm"
)

// Events reads server-sent events (HTML Living Standard, section 9.2.6). It is stricter in two points: a bare CR, and a first line that
// cannot start an event stream, are malformed. Both come from servers that speak another protocol.
type Events struct {
	r     *bufio.Reader
	read  int    // bytes read so far
	given int    // events returned so far
	any   bool   // a field or comment has been read
	long  []byte // a line longer than the reader's buffer
	data  []byte // of the current event
	name  string // of the current event
	start bool   // nothing has been read yet
}

// newEvents reads a body from its beginning.
func newEvents(r io.Reader) *Events {
	return &Events{r: bufio.NewReaderSize(r, 32<<10), start: true}
}

// Next returns the name and the data of the next event. The data is valid until the next call. At the end of the stream it returns io.EOF;
// an incomplete last event is dropped.
func (e *Events) Next() (name string, data []byte, err error) {
	e.data, e.name = e.data[:0], ""
	has := false
	for {
		line, err := e.line()
		if err != nil {
			return "", nil, err
		}
		// An empty line ends an event. Without data there is no event, and the name is forgotten.
		if len(line) == 0 {
			if has {
				e.given++
				return e.name, e.data, nil
			}
			e.name = ""
			continue
		}
		if err := e.field(line, &has); err != nil {
			return "", nil, err
		}
	}
}

// field handles one line of an event. The fields id and retry are for reconnecting, which hob does not do.
func (e *Events) field(line []byte, has *bool) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		// The lines of one event are joined by line breaks.
		if *has {
			e.data = append(e.data, '\n')
		}
		e.data = append(e.data, value...)
		*has = true
	case "event":
		e.name = string(value)
	// An empty name is a comment.
	case "", "id", "retry":
	default:
		if !e.any {
			return e.foreign(line)
		}
	}
	e.any = true
	return nil
}

// line returns the next line without its line end. A last line without a line end is incomplete and not returned.
func (e *Events) line() ([]byte, error) {
	e.long = e.long[:0]
	for {
		// The usual line fits into the reader's buffer and is not copied. A longer one is collected in e.long.
		piece, err := e.r.ReadSlice('\n')
		e.read += len(piece)
		if e.read > MaxBody {
			return nil, tooLong()
		}
		if err == nil && len(e.long) == 0 {
			return e.trim(piece)
		}
		e.long = append(e.long, piece...)
		switch {
		case err == nil:
			return e.trim(e.long)
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, e.endError()
		default:
			return nil, fmt.Errorf("read the stream: %w", err)
		}
	}
}

// trim removes the line end, and from the first line a byte order mark.
func (e *Events) trim(line []byte) ([]byte, error) {
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if e.start {
		line = bytes.TrimPrefix(line, []byte("\uFEFF"))
		e.start = false
	}
	if bytes.IndexByte(line, '\r') >= 0 {
		return nil, bareCR()
	}
	return line, nil
}

// endError returns the error for a stream whose last line is incomplete.
func (e *Events) endError() error {
	rest := bytes.TrimSuffix(e.long, []byte("\r"))
	if bytes.IndexByte(rest, '\r') >= 0 {
		return bareCR()
	}
	// A body without a line end, such as one JSON object, arrives here.
	if !e.any && len(rest) > 0 && !opening(rest) {
		return e.foreign(rest)
	}
	return io.EOF
}

// opening reports whether b can be the start of an event stream, possibly cut off.
func opening(b []byte) bool {
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	return slices.ContainsFunc([]string{"data", "event", "id", "retry", ":"}, func(name string) bool {
		return strings.HasPrefix(name, string(b)) || bytes.HasPrefix(b, []byte(name))
	})
}

// bareCR is the error for lines that end with a bare CR. The standard allows them; Events says why hob does not.
func bareCR() error {
	return &llm.Error{Fault: llm.Malformed, Text: "the stream's lines end with a bare CR"}
}

// tooLong is the error for a body of more than MaxBody bytes. The rest is not read.
func tooLong() error {
	return &llm.Error{Fault: llm.Endless, Text: fmt.Sprintf("the answer is longer than %d MB", MaxBody>>20)}
}

// WholeBody is the cause of the error for a body that is one JSON object instead of a stream. Its receiver may still use the object.
type WholeBody struct{ JSON []byte }

// Error is the last part of the message about a body that is not a stream.
func (w *WholeBody) Error() string { return "one JSON object" }

// foreign returns the error for a body that is not an event stream: JSON, a web page or plain text. An error object in JSON becomes the
// error it describes.
func (e *Events) foreign(first []byte) error {
	begin := bytes.TrimLeft(first, " \t")
	// A body in JSON is read whole, because it may be an error or a complete answer. Of others the beginning is enough.
	rest, err := e.remainder(len(begin) == 0 || begin[0] == '{')
	if err != nil {
		return err
	}
	body := append(append(bytes.Clone(first), '\n'), rest...)
	var shape struct {
		Error json.RawMessage `json:"error"`
	}
	// The text for the user quotes the body; it is cleaned by the caller (cleaned).
	strange := &llm.Error{Fault: llm.Malformed, Text: "not a stream: " + plain(body)}
	// No model has computed a web page, and another try would bring it again.
	if page(body) {
		return &llm.Error{Fault: llm.NotFound, Text: plain(body) + checkURL}
	}
	if json.Unmarshal(body, &shape) != nil {
		return strange
	}
	if Present(shape.Error) {
		return StreamError(shape.Error)
	}
	strange.Err = &WholeBody{JSON: body}
	return strange
}

// remainder reads the body after the first line. It reads all when the caller can use it, and otherwise only enough for the error.
func (e *Events) remainder(all bool) ([]byte, error) {
	if !all {
		rest, err := io.ReadAll(io.LimitReader(e.r, maxFault))
		if err != nil {
			rest = nil // the first line is enough for the error
		}
		return rest, nil
	}
	rest, err := io.ReadAll(io.LimitReader(e.r, int64(MaxBody-e.read)+1))
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if e.read+len(rest) > MaxBody {
		return nil, tooLong()
	}
	return rest, nil
}
