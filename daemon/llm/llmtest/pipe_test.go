package llmtest_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/llm/llmtest"
)

// postOver sends a request over a pipe and returns as much of the body as came.
func postOver(ctx context.Context, p *llmtest.Pipe, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/chat/completions", strings.NewReader(small))
	if err != nil {
		return "", err
	}
	transport := p.Transport()
	defer transport.CloseIdleConnections()
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return string(body), err
}

// A server over a pipe is the one over sockets, and an hour of its silence costs no time.
func TestServerOnAPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := llmtest.NewPipe()
		say := llmtest.Streamed(llmtest.Say("a b"))
		s := llmtest.NewServerOn(p, say, llmtest.Turn{Break: llmtest.Hang})
		defer s.Close()
		if body, err := postOver(t.Context(), p, s.URL); body != say.Wire(len(small)) || err != nil {
			t.Errorf("got %q, %v", body, err)
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := postOver(ctx, p, s.URL); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		if len(s.Requests()) != 2 || p.Dials() != 2 {
			t.Errorf("%d requests over %d connections", len(s.Requests()), p.Dials())
		}
	})
}

func TestDivertedAndClosedPipes(t *testing.T) {
	p := llmtest.NewPipe()
	none := errors.New("no such host")
	p.Divert(func(context.Context, string, string) (net.Conn, error) { return nil, none })
	if _, err := p.DialContext(t.Context(), "tcp", "x:1"); !errors.Is(err, none) {
		t.Errorf("diverted: %v", err)
	}
	p.Divert(nil)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.DialContext(ended, "tcp", "x:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody accepts: %v", err)
	}
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if _, err := p.DialContext(t.Context(), "tcp", "x:1"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("dial a closed one: %v", err)
	}
	if _, err := p.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accept at a closed one: %v", err)
	}
}
