package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/sys"
)

// gauge is a reader that fails when more comes than a server may send.
type gauge struct {
	io.ReadCloser
	clock sys.Clock
	burst float64 // bytes that may come at once

	messages bool   // each line is a message
	inBatch  bool   // the line that comes is a batch
	inLine   bool   // something of a line has come
	line     []byte // the beginning of the line that comes

	mu   sync.Mutex
	odd  string // the beginning of the first line that is no message
	left float64
	last time.Duration
	eof  bool
	err  error
}

func newGauge(r io.ReadCloser, s *Service) *gauge {
	return &gauge{ReadCloser: r, clock: s.Clock, burst: float64(s.Limits.Burst), left: float64(s.Limits.Burst), last: s.Clock.Mono()}
}

// Read reads within the limit.
func (g *gauge) Read(p []byte) (int, error) {
	n, err := g.ReadCloser.Read(p)
	count := n
	if g.messages {
		g.mu.Lock()
		count += g.extra(p[:n])
		g.mu.Unlock()
	}
	if over := g.take(count); over != nil {
		return 0, over
	}
	if err != nil {
		g.mu.Lock()
		g.eof = true
		g.mu.Unlock()
	}
	return n, err
}

// extra is what the messages in p cost more than their bytes.
func (g *gauge) extra(p []byte) (cost int) {
	for _, b := range p {
		switch {
		case b == '\n':
			cost += messageCost
			if g.odd == "" {
				g.odd = oddLine(g.line)
			}
			g.inLine, g.inBatch, g.line = false, false, g.line[:0]
		case b == ' ' || b == '\t' || b == '\r':
		case !g.inLine:
			g.inLine, g.inBatch = true, b == '['
		}
		if g.inBatch {
			cost += batchCost
		}
		if len(g.line) < oddKept {
			g.line = append(g.line, b)
		}
	}
	return cost
}

// oddKept is how many bytes of a line are kept to quote it.
const oddKept = 400

// oddLine returns a line that can be no part of JSON as text, as a line of a log; "" for others. A message may have several lines, which begin as
// any value of JSON does.
func oddLine(line []byte) string {
	line = bytes.TrimSpace(line)
	rest := bytes.TrimLeft(line, "[ \t")
	switch {
	case len(rest) == 0, bytes.IndexByte([]byte(`{}]",`), rest[0]) >= 0, json.Valid(bytes.TrimRight(line, ",]} ")):
		return ""
	}
	return string(bytes.ToValidUTF8(line, []byte("?")))
}

// noMessage returns the beginning of the first line that was no message; "": there was none.
func (g *gauge) noMessage() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return cmp.Or(g.odd, oddLine(g.line)) // the end of the line need not have come
}

// atEnd reports whether nothing more can come.
func (g *gauge) atEnd() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.eof
}

// take counts n bytes.
func (g *gauge) take(n int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.clock.Mono()
	g.left = min(g.left+(now-g.last).Seconds()*g.burst/32, g.burst) - float64(n)
	if g.last = now; g.left < 0 && g.err == nil {
		g.err = fmt.Errorf("%w: more than %d MB at once", errFlood, int(g.burst)>>20)
	}
	return g.err
}

// stop makes every further read fail.
func (g *gauge) stop(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
}

func (g *gauge) fault() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// metered counts the requests of a server before the SDK takes them into a queue that has no limit.
type metered struct {
	sdk.Transport
	in *gauge
}

// Connect connects the transport.
func (m metered) Connect(ctx context.Context) (sdk.Connection, error) {
	conn, err := m.Transport.Connect(ctx)
	return meteredConn{conn, m.in}, err
}

type meteredConn struct {
	sdk.Connection
	in *gauge
}

// Read reads one message.
func (m meteredConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := m.Connection.Read(ctx)
	if r, ok := msg.(*jsonrpc.Request); ok && err == nil && r.IsCall() {
		if err := m.in.take(requestCost); err != nil {
			return nil, err
		}
	}
	return msg, err
}

// patient is the stdin of a program. A program that does not read it is ended: what waits to be written takes memory.
type patient struct {
	io.WriteCloser
	most    time.Duration // that one write may take
	late    func(error)   // is called when one takes longer
	writing atomic.Int32
}

// Write writes a message.
func (p *patient) Write(b []byte) (int, error) {
	p.writing.Add(1)
	defer p.writing.Add(-1)
	defer time.AfterFunc(p.most, func() { p.late(fmt.Errorf("it has not read for %s what hob sends", p.most)) }).Stop()
	return p.WriteCloser.Write(b)
}
