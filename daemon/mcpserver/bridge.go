package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bridge serves one client over standard input and output with the tools of a running hob, until the client ends it. to makes the requests to address,
// hob's /mcp.
func Bridge(ctx context.Context, version string, in io.ReadCloser, out io.WriteCloser, to *http.Client, address string) error {
	b := &bridge{}
	log := slog.New(slog.DiscardHandler) // standard output belongs to the protocol, and the daemon logs
	client := mcp.NewClient(&mcp.Implementation{Name: "hob mcp serve", Version: version}, &mcp.ClientOptions{Logger: log, ProgressNotificationHandler: b.progress})
	own := *to
	own.Transport = &named{own.Transport, rand.Text()}
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &own, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return fmt.Errorf("connect to hob: %w", err)
	}
	b.session = session
	server := mcp.NewServer(&mcp.Implementation{Name: "hob", Title: "hob", Version: version}, &mcp.ServerOptions{
		Logger: log, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
	})
	server.AddReceivingMiddleware(b.forward)
	err = server.Run(ctx, newLines(in, out))
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, session.Close())
}

// bridgeHeader tells hob which of the programs on its socket makes a request: an approval is for one of them.
const bridgeHeader = "Hob-Bridge"

// named adds the name of this process to the requests.
type named struct {
	next http.RoundTripper // nil: the default
	name string
}

// RoundTrip makes a request.
func (n *named) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(bridgeHeader, n.name)
	return cmp.Or(n.next, http.DefaultTransport).RoundTrip(r)
}

// CloseIdleConnections passes the wish on.
func (n *named) CloseIdleConnections() {
	(&http.Client{Transport: n.next}).CloseIdleConnections()
}

// bridge passes requests about tools on.
type bridge struct {
	session *mcp.ClientSession
	caller  atomic.Pointer[mcp.ServerSession] // the client; nil before its first call
}

// forward sends the requests about tools to hob. The rest, such as ping, needs no hob.
func (b *bridge) forward(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch p := req.GetParams().(type) {
		case *mcp.ListToolsParams:
			list := &mcp.ListToolsParams{}
			if p != nil {
				list.Cursor = p.Cursor
			}
			r, err := b.session.ListTools(ctx, list)
			if err != nil {
				return nil, own(err)
			}
			return r, nil
		case *mcp.CallToolParamsRaw:
			if s, ok := req.GetSession().(*mcp.ServerSession); ok {
				b.caller.Store(s)
			}
			call := &mcp.CallToolParams{Name: p.Name, Arguments: p.Arguments}
			if len(p.Arguments) == 0 {
				call.Arguments = map[string]any{}
			}
			if token := p.GetProgressToken(); token != nil {
				call.Meta = mcp.Meta{}
				call.SetProgressToken(token)
			}
			r, err := b.session.CallTool(ctx, call)
			if err != nil {
				return nil, own(err)
			}
			return r, nil
		}
		return next(ctx, method, req)
	}
}

// own is hob's own answer, without what the client in between says about it.
func own(err error) error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return err
}

// progress passes the progress of a call back.
func (b *bridge) progress(ctx context.Context, req *mcp.ProgressNotificationClientRequest) {
	caller := b.caller.Load()
	if caller == nil {
		return
	}
	if err := caller.NotifyProgress(ctx, req.Params); err != nil {
		return // the client does not listen; the call goes on
	}
}
