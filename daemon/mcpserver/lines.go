package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the longest line that a client may send.
const maxLine = 16 << 20

// lines is the protocol over standard input and output: one message in a line. A line that is no message is answered with an error, and the client's session
// goes on. The SDK's own transport ends the session there, and with it the program that the client started.
type lines struct {
	in  *goodLines
	out *wholeLines
}

func newLines(in io.ReadCloser, out io.WriteCloser) *lines {
	w := &wholeLines{to: out}
	return &lines{&goodLines{from: in, lines: bufio.NewReader(in), out: w}, w}
}

// Connect begins the only session.
func (l *lines) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := (&mcp.IOTransport{Reader: l.in, Writer: l.out, MaxLineLength: -1}).Connect(ctx) // goodLines has the limit
	return &lineConn{c, l.out}, err
}

// lineConn answers JSON that is no message. It hides from the SDK's connection which version was agreed on, so batches are served with each.
type lineConn struct {
	mcp.Connection
	out *wholeLines
}

// Read returns the next message.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err == nil || errors.Is(err, io.EOF) || ctx.Err() != nil {
			return m, err
		}
		if err := c.out.refuse(jsonrpc.CodeInvalidRequest, err.Error()); err != nil {
			return nil, err
		}
	}
}

// goodLines passes on the lines that are JSON, and answers the others. It ends with io.EOF whatever ends its input.
type goodLines struct {
	from  io.Closer
	lines *bufio.Reader
	out   *wholeLines
	rest  []byte // of the line that is being passed on
}

// Read reads what is left of a line, or the next one.
func (g *goodLines) Read(p []byte) (int, error) {
	for len(g.rest) == 0 {
		line, long, err := g.next()
		text := bytes.TrimSpace(line)
		var refused error
		switch {
		case long:
			refused = g.out.refuse(jsonrpc.CodeInvalidRequest, "the line is longer than 16 MB")
		case json.Valid(text):
			g.rest = append(text, '\n')
			continue // an end of the input comes again
		case len(text) > 0:
			refused = g.out.refuse(jsonrpc.CodeParseError, "the line is not JSON")
		}
		if err != nil || refused != nil {
			return 0, io.EOF
		}
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// next reads a line, and passes over one that is too long.
func (g *goodLines) next() (line []byte, long bool, err error) {
	for {
		var part []byte
		part, err = g.lines.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// Close closes the input.
func (g *goodLines) Close() error { return g.from.Close() }

// wholeLines keeps the answers of the session and those to lines that are no messages apart.
type wholeLines struct {
	mu sync.Mutex
	to io.WriteCloser
}

// Write writes a line.
func (w *wholeLines) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

// Close closes the output.
func (w *wholeLines) Close() error { return w.to.Close() }

// refuse answers a line whose request, if it has one, is not known.
func (w *wholeLines) refuse(code int64, why string) error {
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": why}})
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
