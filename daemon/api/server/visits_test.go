package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"hob/daemon/api"
	"hob/daemon/api/server"
)

// oneClient is the endpoint with the token "good".
type oneClient struct{}

func (oneClient) Find(_ context.Context, token string) (c api.Endpoint, _ error) {
	if token == "good" {
		c = api.Endpoint{ID: 1, Name: "laptop"}
	}
	return c, nil
}

func (oneClient) Serves(context.Context, api.Endpoint) error { return nil }

// slow is a body that does not arrive. It counts those that are being read.
type slow struct {
	reading *atomic.Int32
	once    bool
	end     chan struct{}
}

func (s *slow) Read([]byte) (int, error) {
	if !s.once {
		s.once = true
		s.reading.Add(1)
	}
	<-s.end
	return 0, io.ErrUnexpectedEOF
}

// Nobody without a token makes hob read a body, and one with a token only so many: two large ones, and eight in all.
func TestBodiesOfProgramsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		path, token            string
		length                 int64
		read, refused, waiting int // of 20 requests
	}{
		"no token":      {"/v1/chat/completions", "", 27 << 20, 0, 20, 0},
		"wrong token":   {"/v1/chat/completions", "bad", 27 << 20, 0, 20, 0},
		"mcp, no token": {"/mcp", "bad", 1000, 0, 20, 0},
		"models":        {"/v1/models", "", 1000, 0, 20, 0},
		"large":         {"/v1/chat/completions", "good", 27 << 20, 2, 12, 6},
		"unknown":       {"/v1/chat/completions", "good", -1, 2, 12, 6},
		"small":         {"/v1/chat/completions", "good", 1000, 8, 12, 0},
		"mcp":           {"/mcp", "good", 1000, 8, 12, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFakeDaemon().deps()
				d.Clients = oneClient{}
				h := server.Guard(server.New(d), secret, 4620)
				var reading, refused, ended atomic.Int32
				end := make(chan struct{})
				for range 20 {
					go func() {
						req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:4620"+c.path, &slow{reading: &reading, end: end})
						req.ContentLength = c.length
						if c.token != "" {
							req.Header.Set("Authorization", "Bearer "+c.token)
						}
						rec := httptest.NewRecorder()
						h.ServeHTTP(rec, req)
						if rec.Code != http.StatusRequestTimeout {
							refused.Add(1)
						}
						ended.Add(1)
					}()
				}
				synctest.Wait()
				if reading, refused := int(reading.Load()), int(refused.Load()); reading != c.read || refused != c.refused || 20-reading-refused != c.waiting {
					t.Errorf("%d bodies are read, %d requests are refused", reading, refused)
				}
				close(end)
				synctest.Wait()
				if ended.Load() != 20 {
					t.Errorf("%d requests have ended", ended.Load())
				}
				if all := c.read + c.waiting; int(reading.Load()) != all {
					t.Errorf("%d bodies were read, want %d: those that waited had no turn", reading.Load(), all)
				}
			})
		})
	}
}

// Wrong tokens of programs lock out neither the programs with good ones nor the API's own token.
func TestWrongTokensLockNobodyOut(t *testing.T) {
	d := newFakeDaemon().deps()
	d.Clients = oneClient{}
	h := server.Guard(server.New(d), secret, 4620)
	get := func(path, token string) int {
		req := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4620"+path, http.NoBody)
		req.Header.Set("Authorization", "Bearer "+token)
		return serve(t, h, req).status
	}
	last := 0
	for range 12 {
		last = get("/v1/models", "bad")
	}
	if good, own := get("/v1/models", "good"), get("/v1/status", secret); last != 429 || good != 200 || own != 200 {
		t.Errorf("after wrong tokens: %d, a good one %d, the API's own %d", last, good, own)
	}
}
