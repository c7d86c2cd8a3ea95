package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/record"
)

// lines is the connection to a program. The protocol allows only messages on its standard output, each on a line of its own (specification
// 2025-11-25, basic/transports). Many programs write a banner or a log there too. Lines that are no message are counted and skipped; nothing is
// taken out of the middle of one. A message may have several lines.
type lines struct {
	p     *program
	in    *bufio.Reader
	queue []message // read, but not delivered yet
	sent  sync.Map  // the methods of the requests that have no answer yet, by id
	write sync.Mutex

	part    []byte // the lines of a value that is not complete
	level   int    // of its brackets
	quoted  bool   // in a string of it
	escaped bool   // after a backslash in that
}

// Connect connects the transport.
func (l *lines) Connect(context.Context) (sdk.Connection, error) { return l, nil }

// SessionID returns nothing: there are no sessions here.
func (l *lines) SessionID() string { return "" }

// Close ends the program's input and the reading of its output.
func (l *lines) Close() error { return errors.Join(l.p.out.Close(), l.p.in.Close()) }

// Write sends a message.
func (l *lines) Write(ctx context.Context, m jsonrpc.Message) error {
	raw, err := jsonrpc.EncodeMessage(m)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	l.write.Lock()
	defer l.write.Unlock()
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		l.sent.Store(r.ID.Raw(), r.Method)
	}
	l.p.note(record.Sent, raw)
	_, err = l.p.out.Write(append(raw, '\n'))
	return err
}

// Read returns the next message. It fails only at the end of the output, or if there is more of it than a server may send.
func (l *lines) Read(context.Context) (jsonrpc.Message, error) {
	for len(l.queue) == 0 {
		line, err := l.line()
		if len(line) > 0 {
			l.p.note(record.Received, bytes.TrimSuffix(line, []byte("\n")))
		}
		l.add(line)
		if err == nil {
			err = l.p.in.fault()
		}
		if errors.Is(err, os.ErrClosed) {
			err = io.EOF
		}
		if err != nil && len(l.queue) == 0 {
			return nil, err
		}
	}
	next := l.queue[0].Message
	l.queue = l.queue[1:]
	if r, ok := next.(*jsonrpc.Request); ok && r.IsCall() { // before the SDK takes it into a queue that has no limit
		return next, l.p.in.take(requestCost)
	}
	return next, nil
}

// line reads a line.
func (l *lines) line() (line []byte, err error) {
	for {
		piece, err := l.in.ReadSlice('\n')
		line = append(line, piece...)
		if len(l.part)+len(line) >= l.p.frame {
			l.p.in.stop(tooLarge(l.p.frame))
			return nil, l.p.in.fault()
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// add takes one more line.
func (l *lines) add(line []byte) {
	line = bytes.TrimPrefix(line, []byte("\ufeff"))
	text := bytes.TrimSpace(line)
	if len(text) == 0 || l.p.in.take(messageCost) != nil {
		return
	}
	if l.part == nil || line[0] == '{' && !l.inList() {
		if list := l.messages(text); list != nil {
			l.skip(l.part) // it only began like JSON
			l.queue = list
			return
		}
	}
	l.part = append(l.part, line...)
	if l.open(line) && strings.IndexByte("{[", l.part[0]) >= 0 {
		return
	}
	if l.queue = l.messages(bytes.TrimSpace(l.part)); l.queue != nil {
		l.part = nil
	}
	l.skip(l.part)
}

// inList reports whether the value that is not complete is a batch.
func (l *lines) inList() bool {
	return l.part[0] == '[' && len(l.part) < l.p.frame/8 && json.Valid(append(bytes.TrimRight(slices.Clone(l.part), ", \r\n\t"), ']'))
}

// open reads one more line of a value. It reports whether further lines belong to it.
func (l *lines) open(line []byte) bool {
	for _, b := range line {
		switch {
		case l.escaped:
			l.escaped = false
		case l.quoted:
			l.escaped, l.quoted = b == '\\', b != '"'
		case b == '"':
			l.quoted = true
		case b == '{', b == '[':
			l.level++
		case b == '}', b == ']':
			l.level--
		}
	}
	return l.level > 0 && !l.quoted
}

// skip counts what is no message, and begins anew.
func (l *lines) skip(text []byte) {
	if len(text) > 0 {
		l.p.stray.add(text)
	}
	l.part, l.level, l.quoted, l.escaped = nil, 0, false, false
}

func (l *lines) messages(text []byte) []message {
	return messages(text, l.p.in, func(id int64) string {
		method, _ := l.sent.LoadAndDelete(id)
		name, _ := method.(string)
		return name
	})
}

// strayKept is how many bytes are kept of what is no message, and strayLogged how many times of it are in the log.
const (
	strayKept   = 400
	strayLogged = 3
)

// strays counts what a server has sent since its last start that is no message.
type strays struct {
	log   func(text string)
	mu    sync.Mutex
	n     int
	first string
}

func (s *strays) add(text []byte) {
	shown := string(bytes.ToValidUTF8(bytes.TrimSpace(text[:min(len(text), strayKept)]), []byte("?")))
	s.mu.Lock()
	if s.n++; s.n == 1 {
		s.first = shown
	}
	n := s.n
	s.mu.Unlock()
	if n <= strayLogged {
		s.log(shown)
	}
}

// reset begins anew.
func (s *strays) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n, s.first = 0, ""
}

// said tells the owner about them; "": there are none.
func (s *strays) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.n == 0 {
		return ""
	}
	return fmt.Sprintf("hob skipped output that is no message, %d times since the server's start; first: %s", s.n, quoted(s.first, 80))
}
