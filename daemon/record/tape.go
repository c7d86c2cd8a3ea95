package record

import (
	"bytes"
	"context"
	"crypto/sha1" // #nosec G505 -- RFC 6455 wants it
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Tape is a transport that sends nothing: its responses are those of a recording.
type Tape struct {
	// Next returns the exchange with the answer to a request; nil: the recording has none. The body of the request can be read. It is safe for concurrent
	// use if the requests are concurrent.
	Next func(*http.Request) *Heard
	// End is called when hob waits for more over a WebSocket than the recording has; nil: the connection ends.
	End func()
}

// RoundTrip returns the next response. One that did not come, or broke off, is an error as it was.
func (t *Tape) RoundTrip(req *http.Request) (*http.Response, error) {
	h := t.Next(req)
	if req.Body != nil {
		_ = req.Body.Close() // it is in memory
	}
	switch {
	case h == nil:
		return nil, errors.New("the recording has no answer to this request")
	case h.Answer == nil || h.Answer.What == Failed:
		return nil, errors.New(h.Fault)
	}
	e := h.Answer
	resp := &http.Response{
		StatusCode: e.Status, Status: fmt.Sprintf("%d %s", e.Status, http.StatusText(e.Status)), ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Request: req, ContentLength: -1,
	}
	for name, value := range e.Header {
		resp.Header.Set(name, value)
	}
	if key := req.Header.Get("Sec-WebSocket-Key"); e.Status == http.StatusSwitchingProtocols && key != "" { // else hob wants no WebSocket, and reads an empty body
		sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // #nosec G401 -- RFC 6455, section 4.2.2
		for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Accept": base64.StdEncoding.EncodeToString(sum[:])} {
			resp.Header.Set(name, value)
		}
		s := &socket{heard: h, left: h.Frames, wrote: make(chan struct{}, len(h.Frames)), end: t.End}
		s.open, s.close = context.WithCancel(context.WithoutCancel(req.Context())) // the request is over, the connection is not
		resp.Body = s
		return resp, nil
	}
	resp.Body = io.NopCloser(bytes.NewReader(e.Content()))
	if e.Cut || e.early() != "" {
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, broken{}))
	}
	return resp, nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// patience is how long hob may take to send what it sent when it was recorded.
const patience = 2 * time.Second

// socket is a recorded WebSocket, as a server is on it (RFC 6455, section 5.2). A message comes when hob has sent those before it.
type socket struct {
	heard *Heard
	left  []Entry
	next  bytes.Buffer  // the rest of a message
	wrote chan struct{} // a value for each write of hob
	end   func()
	open  context.Context //nolint:containedctx // it ends with Close, which must end a Read
	close context.CancelFunc
}

// Read returns what the server has sent.
func (s *socket) Read(p []byte) (int, error) {
	for s.next.Len() == 0 {
		switch {
		case len(s.left) == 0 && s.end == nil:
			return 0, io.EOF
		case len(s.left) == 0:
			s.end()
			<-s.open.Done()
			return 0, io.EOF
		case s.left[0].What == Sent:
			select {
			case <-s.wrote:
			case <-s.open.Done():
				return 0, io.EOF
			case <-time.After(patience):
				s.heard.Fault, s.left = "hob sends other messages now than when recorded; the rest was not read", s.left[:1]
			}
		default:
			text := s.left[0].Content()
			s.next.Write(binary.BigEndian.AppendUint64([]byte{0x81, 127}, uint64(len(text)))) // a whole text, and its length in 64 bits
			s.next.Write(text)
		}
		s.left = s.left[1:]
	}
	return s.next.Read(p)
}

// Write takes what hob sends. Nothing reads it.
func (s *socket) Write(p []byte) (int, error) {
	select {
	case s.wrote <- struct{}{}:
	default:
	}
	return len(p), nil
}

// Close ends the connection.
func (s *socket) Close() error {
	s.close()
	return nil
}
