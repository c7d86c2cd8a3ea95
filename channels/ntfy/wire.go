package ntfy

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// message is one line of the JSON stream (https://docs.ntfy.sh/subscribe/api, "JSON message format").
type message struct {
	ID         string   `json:"id"`
	Time       int64    `json:"time"` // Unix seconds of the server's clock
	Event      string   `json:"event"`
	Topic      string   `json:"topic"`
	Title      string   `json:"title"`
	Message    string   `json:"message"`
	Tags       []string `json:"tags"`
	Encoding   string   `json:"encoding"`    // "base64" for bytes that are not text
	Sequence   string   `json:"sequence_id"` // from server 2.16: the publisher's X-Sequence-ID
	Attachment *struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	} `json:"attachment"`
}

// The events that hob handles; others (message_delete, poll_request, …) are ignored.
const (
	eventOpen    = "open"
	eventMessage = "message"
)

// maxLine is the longest line that is read, in bytes; ntfy's own are below 20 KB.
const maxLine = 1 << 20

// errLong reports a line over maxLine; reading continues after it.
var errLong = errors.New("the line is over 1 MB")

// readLine returns the next complete line. A last line without line break is incomplete: io.ErrUnexpectedEOF.
func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := r.ReadSlice('\n')
		if !long {
			line = append(line, piece...)
			if len(line) > maxLine {
				line, long = nil, true
			}
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (len(line) > 0 || long):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case long:
			return nil, errLong
		default:
			return line, nil
		}
	}
}

// decode parses one line of the stream.
func decode(line []byte) (message, error) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("read a line of the stream: %w", err)
	}
	if m.Event != eventMessage {
		return m, nil
	}
	// The id becomes a key in the store, so it must be short and printable.
	if m.ID == "" || len(m.ID) > 64 || strings.ContainsFunc(m.ID, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return message{}, fmt.Errorf("read a line of the stream: a message with the id %.80q", m.ID)
	}
	if m.Encoding == "base64" {
		b, err := base64.StdEncoding.DecodeString(m.Message)
		if err != nil || !utf8.Valid(b) {
			m.Message = "" // an app's own data (UnifiedPush), not text
		} else {
			m.Message = string(b)
		}
	}
	return m, nil
}

// own reports whether hob published the message.
func (m message) own() bool { return slices.Contains(m.Tags, ownTag) }

// text returns the readable content of a message.
func (m message) text() string {
	var lines []string
	for _, s := range []string{m.Title, m.Message} {
		if strings.TrimSpace(s) != "" {
			lines = append(lines, s)
		}
	}
	if m.Attachment != nil {
		lines = append(lines, fmt.Sprintf("[attachment %s: %s]", m.Attachment.Name, m.Attachment.URL))
	}
	return strings.Join(lines, "\n")
}
