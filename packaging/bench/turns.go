//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"hob/daemon/api/client"
	"hob/daemon/sys"
)

// conversation talks to a daemon over its socket and follows its event stream.
type conversation struct {
	*daemon
	api      *client.Client
	finished chan struct{} // one for each finished turn
	group    *sys.Group
	stopped  context.CancelFunc
	closers  []func() error
}

// converse starts a daemon. With model, a model server in this process answers, over HTTP; without, the built-in interpreter does.
func (l *lab) converse(ctx context.Context, model bool) (c *conversation, err error) {
	c = &conversation{finished: make(chan struct{}, 64), group: sys.NewGroup(slog.New(slog.DiscardHandler), nil)}
	config := ""
	if model {
		at, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // for this process only
		if err != nil {
			return nil, err
		}
		server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute}
		c.group.Once("model server", func() error { return server.Serve(at) })
		c.closers = append(c.closers, server.Close)
		// Context and budget are so large that they limit no measurement.
		config = fmt.Sprintf("[model]\nbackend = \"compatible\"\nmodel = \"scripted\"\nbase_url = \"http://%s/v1\"\nmax_output_tokens = 4000\ncontext_tokens = 100000000\n[budget]\ntokens_per_day = 2000000000\n", at.Addr())
	}
	home, err := l.home(config)
	if err != nil {
		return nil, errors.Join(err, c.end())
	}
	if c.daemon, err = l.start(ctx, home); err != nil {
		return nil, errors.Join(err, c.end())
	}
	if c.api, err = c.daemon.client(ctx); err != nil {
		return nil, errors.Join(err, c.end())
	}
	// The stream begins with the first event of the new home, so no turn.finished is missed.
	ctx, c.stopped = context.WithCancel(ctx)
	c.group.Once("events", func() error {
		return c.api.Follow(ctx, 0, true, func(f client.Frame) error {
			if f.Event != nil && f.Event.Type == "turn.finished" {
				c.finished <- struct{}{}
			}
			return nil
		})
	})
	return c, nil
}

// end stops all.
// The event stream ends first, then the daemon, then the model server: each is a client of the next.
func (c *conversation) end() error {
	var errs []error
	if c.stopped != nil {
		c.stopped()
	}
	if c.daemon != nil {
		errs = append(errs, c.stop())
	}
	for _, f := range c.closers {
		errs = append(errs, f())
	}
	c.group.Wait()
	return errors.Join(errs...)
}

// say posts a message, waits for the end of its turn, and returns the time in ms.
// The time includes the request and the delivery of the event.
func (c *conversation) say(ctx context.Context, session string) (float64, error) {
	began := time.Now()
	if _, err := c.api.Post(ctx, client.Message{Text: "say hello", Session: session}); err != nil {
		return 0, err
	}
	select {
	case <-c.finished:
		return ms(time.Since(began)), nil
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(time.Minute):
		return 0, errors.New("the turn does not end")
	}
}

// answer serves Chat Completions: each request gets the same short text, as a stream.
func answer(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r)
		return
	}
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	// The fields are those of the streamed chunks of OpenAI's Chat Completions API.
	type choice struct {
		Index  int            `json:"index"`
		Delta  map[string]any `json:"delta"`
		Finish any            `json:"finish_reason"`
	}
	chunk := func(choices []choice, usage any) {
		b, err := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": choices, "usage": usage})
		if err == nil {
			fmt.Fprintf(w, "data: %s\n\n", b) //nolint:errcheck // hob has gone away
		}
	}
	chunk([]choice{{Delta: map[string]any{"role": "assistant", "content": "Hello, "}}}, nil)
	chunk([]choice{{Delta: map[string]any{"content": "what can I do?"}}}, nil)
	chunk([]choice{{Delta: map[string]any{}, Finish: "stop"}}, nil)
	// The last chunk has no choices, only the usage. Its numbers are invented.
	chunk([]choice{}, map[string]any{"prompt_tokens": 3000, "completion_tokens": 6, "total_tokens": 3006})
	fmt.Fprint(w, "data: [DONE]\n\n") //nolint:errcheck // hob has gone away
}
