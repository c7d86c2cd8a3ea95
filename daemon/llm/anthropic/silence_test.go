package anthropic_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hob/daemon/llm"
)

// pinging is a server that sends a beginning, and then a ping each second.
type pinging struct {
	begin string
	ctx   context.Context //nolint:containedctx // of the one request
}

func (p *pinging) RoundTrip(r *http.Request) (*http.Response, error) {
	p.ctx = r.Context()
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(p), Request: r}, nil
}

func (p *pinging) Read(b []byte) (int, error) {
	text := p.begin
	if p.begin = ""; text == "" {
		select {
		case <-time.After(time.Second):
		case <-p.ctx.Done():
			return 0, p.ctx.Err()
		}
		text = "event: ping\ndata: {\"type\":\"ping\"}\n\n"
	}
	return copy(b, text), nil
}

// V4: pings keep a stream alive no longer than silence does, before and after the first piece of text.
func TestPingsAreNoContent(t *testing.T) {
	const start = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{}}}\n\n"
	const block = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	const text = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"
	for begin, want := range map[string]time.Duration{start: 2 * time.Minute, start + block: 2 * time.Minute, start + block + text: time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			_, err := open(t, config(&pinging{begin: begin})).Answer(context.Background(), hello(), nil)
			faultIn(t, err, llm.Idle)
			if took := time.Since(began); took != want {
				t.Errorf("after %q it took %v, want %v", begin, took, want)
			}
		})
	}
}

// packed is a server that compresses its answer although nobody asked for that.
type packed struct{}

func (packed) RoundTrip(r *http.Request) (*http.Response, error) {
	head := http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"br"}}
	return &http.Response{StatusCode: http.StatusOK, Header: head, Body: io.NopCloser(&endless{}), Request: r}, nil
}

// endless has no line end.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return copy(b, "\x1f\x8b\x00"), nil }

// V14: such an answer is named at once.
func TestACompressedAnswerIsNamed(t *testing.T) {
	_, err := open(t, config(packed{})).Answer(t.Context(), hello(), nil)
	if faultIn(t, err, llm.Malformed); !strings.Contains(err.Error(), "compressed its answer (br)") {
		t.Error(err)
	}
}
