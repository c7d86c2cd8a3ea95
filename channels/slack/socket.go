package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/sys"
)

// Times and sizes of the socket. Slack pings every few seconds.
const (
	silence  = 45 * time.Second // after which nobody is there any more: the connection is half open
	ackTime  = 10 * time.Second
	maxFrame = 16 << 20 // bytes
	waiting  = 16       // envelopes that are read ahead of those that are being stored
	briefly  = 10 * time.Second
)

// envelope is what comes over the socket ("Using Socket Mode").
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"` // "" for what wants no acknowledgement
	Payload json.RawMessage `json:"payload"`
	Reason  string          `json:"reason"` // of a disconnect
}

var (
	errSilent  = fmt.Errorf("nothing heard for %s", silence)
	errRefresh = errors.New("the connection is to be renewed")
)

// socket is one connection.
type socket struct {
	conn *websocket.Conn
	ctx  context.Context //nolint:containedctx // it ends with the connection, which lives inside one call of session
	end  context.CancelCauseFunc
	lull *time.Timer // ends ctx when nothing was heard for too long

	now   func() time.Time
	heard atomic.Int64 // when something last came, in Unix seconds
}

// dial asks for the address of a socket and connects to it. The address is good for one connection.
func (c *Channel) dial(ctx context.Context) (*socket, error) {
	_, at, err := c.web.StartSocketModeContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("apps.connections.open: %w", err)
	}
	if !strings.HasPrefix(at, "ws") {
		return nil, errors.New("apps.connections.open: the answer has no address of a socket (check api_base)")
	}
	s := &socket{now: c.clock.Wall}
	s.ctx, s.end = context.WithCancelCause(ctx)
	s.lull = time.AfterFunc(silence, func() { s.end(errSilent) })
	var resp *http.Response
	s.conn, resp, err = websocket.Dial(s.ctx, at, &websocket.DialOptions{HTTPClient: c.web.plain, OnPingReceived: func(context.Context, []byte) bool {
		s.alive()
		return true
	}})
	if resp != nil && resp.Body != nil && err != nil {
		_ = resp.Body.Close() // it says no more than the error
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("connect the socket: %w", s.why(wire.Bare(ctx, err)))
	}
	s.conn.SetReadLimit(maxFrame)
	return s, nil
}

// read waits for an envelope; what is none is passed over.
func (s *socket) read() (envelope, error) {
	s.lull.Reset(silence)
	defer s.lull.Stop() // what was read may take long
	for {
		_, raw, err := s.conn.Read(s.ctx)
		if err != nil {
			return envelope{}, s.why(err)
		}
		s.alive()
		var e envelope
		if json.Unmarshal(raw, &e) == nil && e.Type != "" {
			return e, nil
		}
	}
}

// alive notes that something came.
func (s *socket) alive() {
	s.lull.Reset(silence)
	s.heard.Store(s.now().Unix())
}

// ack says that what an envelope brought is stored.
func (s *socket) ack(id string) error {
	raw, err := json.Marshal(map[string]string{"envelope_id": id})
	if err != nil {
		return fmt.Errorf("write an acknowledgement: %w", err)
	}
	ctx, cancel := context.WithTimeout(s.ctx, ackTime)
	defer cancel()
	if err := s.conn.Write(ctx, websocket.MessageText, raw); err != nil {
		return fmt.Errorf("acknowledge: %w", s.why(err))
	}
	return nil
}

// why is the reason behind an error, when the connection was given up.
func (s *socket) why(err error) error {
	if cause := context.Cause(s.ctx); errors.Is(cause, errSilent) {
		return cause
	}
	return err
}

// close ends the connection, if there is one.
func (s *socket) close() {
	s.lull.Stop()
	s.end(nil)
	if s.conn != nil {
		_ = s.conn.CloseNow() // what counts was acknowledged
	}
}

// serve takes what comes until the connection ends. Its envelopes are read ahead, so that Slack's pings are answered while one is being stored.
func (r *reader) serve(ctx context.Context, s *socket) error {
	come := make(chan envelope, waiting)
	ended := make(chan error, 1)
	group := sys.NewGroup(r.log, nil)
	group.Once("slack "+r.name, func() error {
		for {
			e, err := s.read()
			if err != nil {
				ended <- err
				return nil
			}
			select {
			case come <- e:
			case <-s.ctx.Done():
				ended <- s.why(s.ctx.Err())
				return nil
			}
		}
	})
	defer group.Wait()
	defer s.close()
	r.socket = s
	defer func() { r.socket = nil }()
	tick := time.NewTicker(channels.ProofEvery)
	defer tick.Stop()
	for {
		select {
		case e := <-come:
			if err := r.envelope(ctx, s, e); err != nil {
				return err
			}
		case <-tick.C:
			if err := r.commit(ctx, nil, r.Pos); err != nil {
				return err
			}
		case err := <-ended:
			return last(come, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// last is why a connection has ended: what Slack has said about it, if it has. What else came with it is not acknowledged, and comes again.
func last(come <-chan envelope, why error) error {
	for {
		select {
		case e := <-come:
			if said := farewell(e); said != nil {
				return said
			}
		default:
			return why
		}
	}
}

// farewell is what Slack says before it ends a connection; nil for all else.
func farewell(e envelope) error {
	switch {
	case e.Type != "disconnect":
		return nil
	case e.Reason == "link_disabled":
		return channels.Refused(errors.New("the app's Socket Mode was switched off: switch it on at https://api.slack.com/apps under Socket Mode"))
	case e.Reason == "warning", e.Reason == "refresh_requested":
		return errRefresh
	}
	return fmt.Errorf("the connection was ended by Slack: %.100s", e.Reason)
}

// envelope takes what one brings, and acknowledges it behind that.
func (r *reader) envelope(ctx context.Context, s *socket, e envelope) error {
	if err := farewell(e); err != nil {
		return err
	}
	if err := r.take(ctx, e); err != nil {
		return err
	}
	if e.ID == "" {
		return nil
	}
	return s.ack(e.ID)
}
