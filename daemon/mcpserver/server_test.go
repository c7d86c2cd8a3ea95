package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/api"
	"hob/daemon/mcpserver"
	"hob/tools"
)

// oneTool offers the tool "look", whose calls a function answers.
type oneTool struct {
	call func(ctx context.Context, client api.Endpoint, args string) (tools.Result, error)
	came chan<- string // gets Endpoint.Foreign of each request that has come; nil: nobody looks
}

func (d oneTool) Offered(client api.Endpoint) []tools.Spec {
	if d.came != nil {
		d.came <- client.Foreign
	}
	return []tools.Spec{{Name: "look", Description: "Look.", Parameters: json.RawMessage(`{"type": "object"}`)}}
}

func (d oneTool) CallFor(ctx context.Context, client api.Endpoint, _ string, args json.RawMessage) (tools.Result, error) {
	return d.call(ctx, client, string(args))
}

// served is a server whose requests come from the client that a function names.
func served(t *testing.T, s *mcpserver.Server, client func(*http.Request) api.Endpoint) string {
	t.Helper()
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Hide == nil {
		s.Hide = func(text string) string { return text }
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.Serve(w, r, client(r)) }))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		srv.Close()
	})
	return srv.URL
}

// post sends a message of the protocol with sessions, and returns the answer and the session.
func post(t *testing.T, url, session, body string) (status int, answer, begun string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	_, err = raw.ReadFrom(res.Body)
	if err != nil || res.Body.Close() != nil {
		t.Fatal(err)
	}
	return res.StatusCode, raw.String(), res.Header.Get("Mcp-Session-Id")
}

const (
	hello = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`
	look  = `{"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "look", "arguments": {}}}`
)

// What a program does is a detail of the log: it decides how much that is.
func TestTheLogIsQuiet(t *testing.T) {
	var log bytes.Buffer
	s := &mcpserver.Server{Version: "1", Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})), Tools: oneTool{func(context.Context, api.Endpoint, string) (tools.Result, error) {
		return tools.Result{Content: "seen"}, nil
	}, nil}}
	url := served(t, s, func(*http.Request) api.Endpoint { return api.Endpoint{ID: 1} })
	_, _, session := post(t, url, "", hello)
	for _, body := range []string{look, `{"jsonrpc": "2.0", "id": 3, "method": "nonsense"}`, `[`} {
		post(t, url, session, body)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: "look"}); err != nil {
		t.Error(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if log.Len() > 0 {
		t.Errorf("%s", log.String())
	}
}

// A call is that of the client as it was when its request came, in a session too, and whatever other requests come meanwhile.
func TestACallHasTheClientOfItsRequest(t *testing.T) {
	came := make(chan string, 9)
	s := &mcpserver.Server{Version: "1", Tools: oneTool{func(_ context.Context, client api.Endpoint, _ string) (tools.Result, error) {
		return tools.Result{Content: "foreign: " + client.Foreign + "."}, nil
	}, came}}
	url := served(t, s, func(r *http.Request) api.Endpoint {
		return api.Endpoint{ID: 1, Name: "a", Foreign: r.Header.Get("Foreign")}
	})
	_, _, session := post(t, url, "", hello)
	<-came
	body, rest := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Foreign": "a page", "Mcp-Session-Id": session, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"} {
		req.Header.Set(name, value)
	}
	answer := make(chan string, 1)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			answer <- err.Error()
			return
		}
		raw, err := io.ReadAll(res.Body)
		answer <- fmt.Sprint(string(raw), err, res.Body.Close())
	}()
	if _, err := io.WriteString(rest, look[:10]); err != nil {
		t.Fatal(err)
	}
	if from := <-came; from != "a page" { // its body is still on the way
		t.Fatal(from)
	}
	if _, got, _ := post(t, url, session, strings.Replace(look, `"id": 2`, `"id": 3`, 1)); !strings.Contains(got, "foreign: .") {
		t.Errorf("%s", got)
	}
	if _, err := io.WriteString(rest, look[10:]); err != nil {
		t.Fatal(err)
	}
	if err := rest.Close(); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !strings.Contains(got, "foreign: a page.") {
		t.Errorf("%s", got)
	}
}

// When a client is removed, its calls are cancelled and its sessions end. Those of others go on.
func TestTheEndOfAClient(t *testing.T) {
	running, cancelled := make(chan struct{}, 2), make(chan struct{}, 2)
	s := &mcpserver.Server{Version: "1", Tools: oneTool{func(ctx context.Context, client api.Endpoint, _ string) (tools.Result, error) {
		if client.ID == 1 {
			running <- struct{}{}
			<-ctx.Done()
			cancelled <- struct{}{}
		}
		return tools.Result{Content: "seen"}, nil
	}, nil}}
	url := served(t, s, func(r *http.Request) api.Endpoint {
		if r.URL.Path == "/other" {
			return api.Endpoint{ID: 2, Name: "b"}
		}
		return api.Endpoint{ID: 1, Name: "a"}
	})
	connect := func(path string) *mcp.ClientSession {
		c, err := mcp.NewClient(&mcp.Implementation{Name: "x", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url + path, MaxRetries: -1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	_, _, session := post(t, url, "", hello)
	ended := make(chan struct{}, 2)
	one, other := connect("/"), connect("/other")
	go func() {
		_, _ = one.CallTool(context.Background(), &mcp.CallToolParams{Name: "look"}) // it fails, or says that it was seen
		ended <- struct{}{}
	}()
	go func() {
		post(t, url, session, look)
		ended <- struct{}{}
	}()
	<-running
	<-running
	if err := s.End(1); err != nil {
		t.Error(err)
	}
	for range 2 {
		<-cancelled
		<-ended
	}
	if status, _, _ := post(t, url, session, look); status != http.StatusNotFound {
		t.Errorf("its session: %d", status)
	}
	if _, err := other.CallTool(t.Context(), &mcp.CallToolParams{Name: "look"}); err != nil {
		t.Errorf("another client: %v", err)
	}
	_ = one.Close() // its session has ended
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}

// A call that takes long reports its progress, to a program that connects by HTTP as well as to one that runs hob mcp serve. The call ends only when the
// report has come.
func TestLongCallsReportProgress(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"HTTP", "hob mcp serve"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			reported := make(chan struct{})
			url := served(t, &mcpserver.Server{Version: "1", Tools: oneTool{call: func(ctx context.Context, _ api.Endpoint, args string) (tools.Result, error) {
				select {
				case <-reported:
					return tools.Result{Content: "seen " + args}, nil
				case <-ctx.Done():
					return tools.Result{}, ctx.Err()
				}
			}}}, func(*http.Request) api.Endpoint { return api.Endpoint{ID: 1, Name: "x"} })
			var once sync.Once
			said := ""
			c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				once.Do(func() {
					said = fmt.Sprint(req.Params.ProgressToken, " ", req.Params.Message)
					close(reported)
				})
			}})
			var to mcp.Transport = &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}
			if way != "HTTP" {
				in, out := bridged(t, url)
				to = &mcp.IOTransport{Reader: in, Writer: out}
			}
			s, err := c.Connect(t.Context(), to, nil)
			if err != nil {
				t.Fatal(err)
			}
			list, err := s.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) != 1 || list.Tools[0].Name != "look" {
				t.Errorf("%+v, %v", list, err)
			}
			call := &mcp.CallToolParams{Name: "look", Arguments: map[string]any{"a": 1}}
			call.SetProgressToken("mine")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r, err := s.CallTool(ctx, call)
			if err != nil || len(r.Content) != 1 || r.Content[0].(*mcp.TextContent).Text != `seen {"a":1}` || said != "mine look has been running for 5s" {
				t.Errorf("%+v, %v; reported: %q", r, err, said)
			}
			if _, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "nonesuch"}); way != "HTTP" && (err == nil || err.Error() != `calling "tools/call": unknown tool "nonesuch"`) {
				t.Errorf("an unknown tool: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// bridged runs what hob mcp serve runs, and returns its standard output and input.
func bridged(t *testing.T, url string) (out io.ReadCloser, in io.WriteCloser) {
	t.Helper()
	fromClient, in := io.Pipe()
	out, toClient := io.Pipe()
	ended := make(chan error, 1)
	own := &http.Transport{}
	go func() {
		ended <- mcpserver.Bridge(context.WithoutCancel(t.Context()), "1", fromClient, toClient, &http.Client{Transport: own}, url)
	}()
	t.Cleanup(func() {
		if err := <-ended; err != nil { // it ends when its input does
			t.Error(err)
		}
		own.CloseIdleConnections()
	})
	return out, in
}
