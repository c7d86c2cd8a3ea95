package channelstest

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// pingEvery is the interval of the fake's pings.
const pingEvery = 5 * time.Second

// socket serves a connection of Socket Mode.
func (f *Slack) socket(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	f.count++
	line := &slackLine{number: f.count, wake: make(chan struct{}, 1)}
	f.mu.Unlock()
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	line.conn = conn
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // the request's own context ends with the upgrade
	defer cancel()
	defer func() { _ = conn.CloseNow() }()
	f.mu.Lock()
	if f.line == nil || f.line.number < line.number { // the newest line is the one that counts, also when an older one comes to this point after it
		f.line = line // before the hello: a client that has read it may reconnect at once
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.line == line {
			f.line = nil
		}
	}()
	hello := `{"type":"hello","num_connections":1,"connection_info":{"app_id":"A0HOB"},"debug_info":{"approximate_connection_time":18060}}`
	if conn.Write(ctx, websocket.MessageText, []byte(hello)) != nil {
		return
	}
	launch(func() { defer cancel(); f.acks(ctx, conn) })
	launch(func() { defer cancel(); f.pings(ctx, line) })
	for {
		for _, raw := range f.due(line) {
			if conn.Write(ctx, websocket.MessageText, raw) != nil {
				return
			}
			if strings.Contains(string(raw), `"type":"disconnect"`) {
				_ = conn.Close(websocket.StatusNormalClosure, "bye") // the reader may be gone
				return
			}
		}
		select {
		case <-line.wake:
		case <-ctx.Done():
			return
		case <-f.quit:
			return
		}
	}
}

// due returns the envelopes that this connection has not carried, including unacknowledged ones of earlier
// connections.
func (f *Slack) due(line *slackLine) [][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list [][]byte
	for _, e := range f.pending {
		if e.sent != line {
			e.sent = line
			list = append(list, e.raw)
		}
	}
	f.pending = slices.DeleteFunc(f.pending, func(e *slackEnvelope) bool { return e.id == "" })
	return list
}

func (f *Slack) acks(ctx context.Context, conn *websocket.Conn) {
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var ack struct {
			ID string `json:"envelope_id"`
		}
		if json.Unmarshal(raw, &ack) != nil {
			return
		}
		f.mu.Lock()
		f.acked = append(f.acked, ack.ID)
		f.pending = slices.DeleteFunc(f.pending, func(e *slackEnvelope) bool { return e.id == ack.ID })
		f.mu.Unlock()
	}
}

func (f *Slack) pings(ctx context.Context, line *slackLine) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for line.conn.Ping(ctx) == nil {
		f.mu.Lock()
		line.hears = true
		f.mu.Unlock()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
