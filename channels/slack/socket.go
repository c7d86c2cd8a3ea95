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

// Limits of the socket. Slack sends a ping every few seconds.
const (
	silence  = 45 * time.Second // without a ping for this time, the connection is dead
	ackTime  = 10 * time.Second // for sending an acknowledgement
	maxFrame = 16 << 20         // bytes
	waiting  = 16               // envelopes read ahead while one is being stored
	briefly  = 10 * time.Second // a shorter connection is a failure
)

// envelope is a message of the socket ("Using Socket Mode").
type envelope struct {
	Type    string          `json:"type"`
	ID      string          `json:"envelope_id"` // "" if no acknowledgement is expected
	Payload json.RawMessage `json:"payload"`
	Reason  string          `json:"reason"` // of a disconnect
}

var (
	// Reasons for the end of a connection.
	errSilent  = fmt.Errorf("nothing heard for %s", silence)
	errRefresh = errors.New("the connection is to be renewed")
)

// socket is one connection.
type socket struct {
	conn *websocket.Conn
	note func(sent bool, text []byte)
	ctx  context.Context //nolint:containedctx // it ends with the connection, which lives inside one call of session
	end  context.CancelCauseFunc
	lull *time.Timer // cancels ctx after silence

	now   func() time.Time
	heard atomic.Int64 // when anything last arrived, in Unix seconds
}

// dial requests the address of a socket and connects. An address is valid for one connection.
func (c *Channel) dial(ctx context.Context) (*socket, error) {
	_, at, err := c.web.StartSocketModeContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("apps.connections.open: %w", err)
	}
	if !strings.HasPrefix(at, "ws") {
		return nil, errors.New("apps.connections.open: the answer has no address of a socket (check api_base)")
	}
	s := &socket{now: c.clock.Wall, note: c.frame}
	s.ctx, s.end = context.WithCancelCause(ctx)
	s.lull = time.AfterFunc(silence, func() { s.end(errSilent) })
	var resp *http.Response
	// Slack's pings count as a sign of life, so they reset the timer too.
	s.conn, resp, err = websocket.Dial(s.ctx, at, &websocket.DialOptions{HTTPClient: c.web.plain, OnPingReceived: func(context.Context, []byte) bool {
		s.alive()
		return true
	}})
	if resp != nil && resp.Body != nil && err != nil {
		_ = resp.Body.Close() // the error says everything
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("connect the socket: %w", s.why(wire.WithoutAddress(ctx, err)))
	}
	s.conn.SetReadLimit(maxFrame)
	return s, nil
}

// read waits for an envelope and skips anything else.
func (s *socket) read() (envelope, error) {
	s.lull.Reset(silence)
	defer s.lull.Stop() // storing an envelope may take long
	for {
		_, raw, err := s.conn.Read(s.ctx)
		if err != nil {
			return envelope{}, s.why(err)
		}
		s.alive()
		s.note(false, raw)
		var e envelope
		if json.Unmarshal(raw, &e) == nil && e.Type != "" {
			return e, nil
		}
	}
}

// alive notes that something arrived.
func (s *socket) alive() {
	s.lull.Reset(silence)
	s.heard.Store(s.now().Unix())
}

// ack acknowledges an envelope. Call it after the commit of its message.
func (s *socket) ack(id string) error {
	raw, err := json.Marshal(map[string]string{"envelope_id": id})
	if err != nil {
		return fmt.Errorf("write an acknowledgement: %w", err)
	}
	ctx, cancel := context.WithTimeout(s.ctx, ackTime)
	defer cancel()
	s.note(true, raw)
	if err := s.conn.Write(ctx, websocket.MessageText, raw); err != nil {
		return fmt.Errorf("acknowledge: %w", s.why(err))
	}
	return nil
}

// why returns the cause of a connection that hob gave up, otherwise err.
func (s *socket) why(err error) error {
	if cause := context.Cause(s.ctx); errors.Is(cause, errSilent) {
		return cause
	}
	return err
}

// close closes the connection, if there is one.
func (s *socket) close() {
	s.lull.Stop()
	s.end(nil)
	if s.conn != nil {
		_ = s.conn.CloseNow() // what matters was acknowledged
	}
}

// serve processes envelopes until the connection ends. A second goroutine reads ahead, so that pings are
// answered while a message is being stored.
func (r *reader) serve(ctx context.Context, s *socket) error {
	// The reader's goroutine ends with the connection; serve waits for it.
	come := make(chan envelope, waiting)
	ended := make(chan error, 1)
	group := sys.NewGroup(r.view.channel.log, nil)
	// The reader must not wait for a commit: it answers pings.
	group.Once("slack "+r.view.channel.name, func() error {
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
		// A quiet connection is stored too: it limits the gap that is reported after a crash.
		case <-tick.C:
			if err := r.commit(ctx, nil, r.source.Pos); err != nil {
				return err
			}
		case err := <-ended:
			return last(come, err)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// last returns why a connection has ended: Slack's own reason, if one is among the unread envelopes. The
// others are not acknowledged, so that Slack sends them again.
func last(come <-chan envelope, why error) error {
	for {
		select {
		case e := <-come:
			if said := disconnectReason(e); said != nil {
				return said
			}
		default:
			return why
		}
	}
}

// disconnectReason interprets a disconnect envelope; nil for any other.
func disconnectReason(e envelope) error {
	switch {
	case e.Type != "disconnect":
		return nil
	case e.Reason == "link_disabled":
		return channels.Refused(errors.New("the app's Socket Mode was switched off: switch it on at https://api.slack.com/apps under Socket Mode"))
	// Slack announces the renewal of a connection; the next one begins at once.
	case e.Reason == "warning", e.Reason == "refresh_requested":
		return errRefresh
	}
	return fmt.Errorf("the connection was ended by Slack: %.100s", e.Reason)
}

// envelope processes one envelope and acknowledges it after the commit.
func (r *reader) envelope(ctx context.Context, s *socket, e envelope) error {
	if err := disconnectReason(e); err != nil {
		return err
	}
	// Commit first: an envelope without acknowledgement is delivered again.
	if err := r.take(ctx, e); err != nil {
		return err
	}
	if e.ID == "" {
		return nil
	}
	return s.ack(e.ID)
}
