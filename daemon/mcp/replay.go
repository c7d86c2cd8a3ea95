package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hob/daemon/record"
	"hob/daemon/sys"
)

// subjectOf is what a recording of a server is called.
func subjectOf(name string) string { return "mcp." + name }

// listMethod is the method of a page of tools.
const listMethod = "tools/list"

// replay reads a recording.
type replay struct {
	svc   *Service
	stray strays
	lines lines
	asked map[any]string // the methods of hob's requests, by id
	tools []*sdk.Tool
}

// Replay reads what a server has sent as its connections read it, and returns its messages, the tools that hob would offer, those that it leaves
// out, and what is no message. Nothing is sent.
func Replay(ctx context.Context, name string, log record.Log) (list []*record.Heard, offers, leftOut, skipped []string) {
	r := &replay{svc: NewService(Deps{Clock: sys.RealClock(), Limits: Limits{Burst: 1 << 40}}), asked: map[any]string{}}
	r.stray.log = func(text string) { skipped = append(skipped, text) }
	r.lines.p = &program{in: newGauge(io.NopCloser(nil), r.svc), frame: r.svc.Limits.Frame, stray: &r.stray}
	for _, e := range log.Entries { // of a program
		if ctx.Err() != nil {
			break
		}
		switch e.What {
		case record.Sent:
			r.sent(e.Content())
		case record.Received:
			r.lines.add(append(e.Content(), '\n'))
			for _, m := range r.lines.queue {
				h := &record.Heard{Parsed: true, Bytes: e.Bytes}
				h.Request = r.hear(m.Message, m.text, h)
				list = append(list, h)
			}
			r.lines.queue = nil
		}
	}
	for _, method := range slices.Sorted(maps.Values(r.asked)) {
		list = append(list, &record.Heard{Request: "request " + method + " of hob", Fault: record.NoResponse})
	}
	for _, h := range log.Exchanges() { // of a service
		if ctx.Err() != nil {
			break
		}
		r.sent(h.Asked.Content())
		if h.Answer != nil {
			r.response(ctx, h)
		}
		list = append(list, h)
	}
	if more := r.stray.n - strayLogged; more > 0 {
		skipped = append(skipped, fmt.Sprintf("and %d more", more))
	}
	p, err := pin(name, Reach{}, r.tools)
	if err != nil {
		p.LeftOut = append(p.LeftOut, err.Error())
	}
	for _, o := range p.Tools {
		offers = append(offers, o.shown())
	}
	return list, offers, p.LeftOut, skipped
}

// sent notes a request of hob, so that its answer is read as one to it.
func (r *replay) sent(text []byte) {
	m, err := jsonrpc.DecodeMessage(text)
	if req, ok := m.(*jsonrpc.Request); err == nil && ok && req.IsCall() {
		r.lines.sent.Store(req.ID.Raw(), req.Method)
		r.asked[req.ID.Raw()] = req.Method
		if req.Method == listMethod && !bytes.Contains(req.Params, []byte(`"cursor"`)) {
			r.tools = nil // the list begins anew
		}
	}
}

// hear adds a message, and returns what it is.
func (r *replay) hear(m jsonrpc.Message, text []byte, h *record.Heard) (what string) {
	h.Messages = append(h.Messages, string(text))
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			return "request " + m.Method
		}
		return "notification " + m.Method
	case *jsonrpc.Response:
		method := r.asked[m.ID.Raw()]
		delete(r.asked, m.ID.Raw())
		if m.Error != nil {
			h.Fault = m.Error.Error()
		} else if method == listMethod {
			var page sdk.ListToolsResult
			if err := json.Unmarshal(m.Result, &page); err != nil {
				h.Fault = err.Error()
			}
			r.tools = append(r.tools, page.Tools...)
		}
		return "answer to " + cmp.Or(method, "a request that is not in the recording")
	}
	return ""
}

// response reads the response of a service.
func (r *replay) response(ctx context.Context, h *record.Heard) {
	h.Parsed = true
	way := &limited{
		base: &record.Tape{Next: func(*http.Request) *record.Heard { return h }}, late: func() {}, most: time.Minute,
		in: newGauge(io.NopCloser(nil), r.svc), stray: &r.stray, frame: r.svc.Limits.Frame,
	}
	var resp *http.Response
	var text []byte
	req, err := http.NewRequestWithContext(ctx, h.Asked.Method, "http://recording.invalid", bytes.NewReader(h.Asked.Content()))
	if err == nil {
		resp, err = way.RoundTrip(req)
	}
	if err == nil {
		text, err = io.ReadAll(resp.Body)
		err = cmp.Or(way.fault(), resp.Body.Close(), err)
	}
	if err != nil {
		h.Fault = err.Error()
	}
	for line := range strings.Lines(string(text)) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if m, err := jsonrpc.DecodeMessage([]byte(data)); ok && err == nil && resp.Header.Get("Content-Type") == "text/event-stream" {
			r.hear(m, []byte(data), h)
		}
	}
}
