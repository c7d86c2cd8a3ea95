package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/record"
	"hob/daemon/sys"
)

// Limits of a channel that reads a recording. Some channels wait between two tries, as they did when it was recorded.
const (
	replayTime  = time.Minute
	replayQuiet = 3 * time.Second // without a request and a message
	replayBytes = 32 << 20        // of its messages: each may repeat what the file has once, such as the name of a room
)

// channelReplay is the platform and the inbox of a channel that reads a recording.
type channelReplay struct {
	mu       sync.Mutex // protects the fields below
	left     map[string][]*record.Heard
	list     []*record.Heard // the exchanges, and what hob asked for in vain
	last     *record.Heard   // that hob reads now; at first an empty one
	at       time.Time       // when that was recorded
	answered int             // requests
	cursor   string
	bytes    int // of the messages
	end      context.CancelCauseFunc
	quiet    *time.Timer // ends it after replayQuiet
}

// Why a replay ends before the recording.
var (
	errWaits = errors.New("hob waits, and the rest was not read")
	errLong  = fmt.Errorf("hob has read %d MB of messages, and the rest was not read", replayBytes>>20)
)

// replayChannel runs the channel of a recording, as the host does, until it asks for more than the recording has. Requests that the channel does not make
// to receive, such as those of answers, are only listed.
func replayChannel(ctx context.Context, name string, log record.Log, kinds []channels.Kind) ([]*record.Heard, error) {
	r := &channelReplay{left: map[string][]*record.Heard{}, list: log.Exchanges(), last: &record.Heard{}, at: log.Began}
	for _, h := range r.list {
		for _, key := range requestKeys(h.Asked.Method, h.Asked.URL, h.Asked.Content()) {
			r.left[key] = append(r.left[key], h)
		}
	}
	if i := slices.IndexFunc(log.Entries, func(e record.Entry) bool { return e.What == record.Cursor }); i >= 0 {
		r.cursor = log.Entries[i].Body
	}
	ctx, done := context.WithTimeoutCause(ctx, replayTime, errWaits)
	defer done()
	ctx, r.end = context.WithCancelCause(ctx)
	r.quiet = time.AfterFunc(replayQuiet, func() { r.end(errWaits) })
	defer r.quiet.Stop()
	env := channels.Env{
		HTTP: &http.Client{Transport: &record.Tape{Next: r.next, End: func() { r.end(nil) }}}, Clock: sys.RecordedClock(r.now), Log: slog.New(slog.DiscardHandler),
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("a recording connects to nothing")
		},
		Secret: func(string) (string, error) { return channels.StandIn, nil }, Owner: func() []event.Address { return log.Owner },
	}
	var section map[string]any
	_ = json.Unmarshal(log.Config, &section) // without one the channel says what is missing
	ch, err := channels.Build(kinds, name, log.Kind, env, func(into any) error { return json.Unmarshal(portable(section), into) })
	if err != nil {
		return nil, event.NewFault(event.Invalid, "use the hob that wrote it, "+log.Version, "the recording has no channel that this hob can make: %v", err)
	}
	for before := -1; before < r.answered && ctx.Err() == nil; {
		before = r.answered
		// A response that ended early has its reason as its fault.
		if err := caught(func() error { return ch.Run(ctx, r) }); err != nil && ctx.Err() == nil && r.last.Fault == "" {
			r.last.Fault = err.Error()
		}
	}
	if why := context.Cause(ctx); why != nil && !errors.Is(why, context.Canceled) { // it was not read to its end
		r.last.Fault = why.Error()
	}
	return r.list, nil
}

// requestKeys are by what a request is found in a recording: all of it, else its method, its address without the query, and what it calls with JSON-RPC.
func requestKeys(method, address string, body []byte) []string {
	address = hiddenValue().ReplaceAllString(address, channels.StandIn)
	path, _, _ := strings.Cut(address, "?")
	var call struct{ Method string }
	_ = json.Unmarshal(body, &call) // other bodies call nothing
	return []string{method + " " + address + "\n" + hiddenValue().ReplaceAllString(string(body), channels.StandIn), method + " " + path + " " + call.Method}
}

// hiddenValue finds what is in a recording in place of a secret, also where hob puts that into an address.
var hiddenValue = sys.Regexp(`\[secret[^\]]*\]|%5Bsecret.*?%5D`)

// next returns the answer to a request.
func (r *channelReplay) next(req *http.Request) *record.Heard {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body) // it is in memory
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet.Reset(replayQuiet)
	known := false
	for _, key := range requestKeys(req.Method, req.URL.String(), body) {
		for known = known || r.left[key] != nil; len(r.left[key]) > 0; {
			h := r.left[key][0]
			r.left[key] = r.left[key][1:]
			if h.Answer != nil && !h.Parsed {
				h.Parsed, r.last = true, h
				if !h.Answer.At.IsZero() {
					r.at = h.Answer.At
				}
				r.answered++
				return h
			}
		}
	}
	if !known {
		r.list = append(r.list, &record.Heard{Request: req.Method + " " + req.URL.String(), Fault: "the recording has no answer to this request of hob"})
	}
	r.end(nil)
	return nil
}

// now is when what hob reads was recorded.
func (r *channelReplay) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// take adds what hob has read, and the position after that.
func take[T any](r *channelReplay, list []T, c *channels.Cursor) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.quiet.Reset(replayQuiet)
	for _, m := range list {
		r.quiet.Reset(replayQuiet) // a long list is not quiet
		raw, err := json.Marshal(m)
		if r.bytes += len(raw); r.bytes > replayBytes {
			err = errLong
			r.end(err)
		}
		if err != nil {
			return err
		}
		r.last.Messages = append(r.last.Messages, string(raw))
	}
	if c != nil {
		r.cursor = c.Value
	}
	return nil
}

// Receive takes messages.
func (r *channelReplay) Receive(_ context.Context, list []channels.Message, c *channels.Cursor) error {
	return take(r, list, c)
}

// Accept takes inputs.
func (r *channelReplay) Accept(_ context.Context, list []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	return make([]event.Receipt, len(list)), take(r, list, c)
}

// Gap takes a gap.
func (r *channelReplay) Gap(_ context.Context, from, to time.Time, why string) error {
	return take(r, []channels.Gap{{From: from, To: to, Why: why}}, nil)
}

// Cursor returns the position.
func (r *channelReplay) Cursor(context.Context, string, string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cursor, nil
}
