package ntfy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/poll"
	"hob/daemon/event"
	"hob/daemon/fail"
	"hob/daemon/sys"
)

// Limits of reading.
const (
	overlap     = time.Minute      // read again before the cursor, because the server may store messages out of order
	firstWindow = 10 * time.Minute // before the first start
	firstSince  = "10m"            // the same as a parameter: messages that were sent during set-up count
	cacheTime   = 12 * time.Hour   // how long a server keeps messages by default (cache-duration in server.yml)
	firstRest   = time.Second      // wait between two streams
	longRest    = 30 * time.Second // maximum of that wait, which doubles
)

// reader is the state of one Run.
type reader struct {
	channel *Channel
	in      channels.Inbox
	cursor  int64 // the server's time of the newest message read, in Unix seconds; 0: none yet
}

// storeError is an error of the inbox. The connection is fine, but nothing may be skipped.
type storeError struct{ err error }

// Error returns the text of the cause.
func (e *storeError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *storeError) Unwrap() error { return e.err }

// Run subscribes to the topics. When a stream breaks, it polls at once for messages that arrived meanwhile,
// and continues to poll while streams fail. An error means that polling fails too, or that the topics may not
// be read.
//
// The cursor is a time of the server's clock and not a message id, because a message that was scheduled for
// later is stored before newer ones, and would be missed after an id. A message that is read twice is
// recognised by its id.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	if !c.receive {
		<-ctx.Done()
		return nil
	}
	return poll.Run(ctx, nil, func(ctx context.Context) error { return c.run(ctx, in) }, nil)
}

// run alternates between streams and polling until ctx ends or both fail.
func (c *Channel) run(ctx context.Context, in channels.Inbox) error {
	// Everything in the owner's topics counts as the owner's, so they are checked before anything is read.
	if c.owner {
		if err := c.checkClosed(ctx); err != nil {
			return err
		}
	}
	r := &reader{channel: c, in: in}
	if err := r.load(ctx); err != nil {
		return err
	}
	rest := firstRest
	for ctx.Err() == nil {
		// A stream is preferred, because messages arrive at once.
		heard, err := r.follow(ctx)
		if r.fatal(ctx, err) {
			return err
		}
		if heard {
			rest = firstRest
		}
		c.log.Info("ntfy stream ended, polling", "channel", c.name, "again_in", rest, "err", err)
		// Polling bridges the pause between two streams, and networks on which streams never work.
		if perr := c.poll(ctx, strings.Join(c.topics, ","), r.since(), func(m message) error { return r.take(ctx, m) }); perr != nil {
			return perr
		}
		sys.Sleep(ctx, rest)
		rest = min(2*rest, longRest)
	}
	return nil
}

// fatal reports whether polling would fail as well.
func (r *reader) fatal(ctx context.Context, err error) bool {
	var s *storeError
	return ctx.Err() != nil || errors.As(err, &s) || errors.Is(err, channels.ErrPermanent)
}

// load reads the stored cursor.
func (r *reader) load(ctx context.Context) error {
	value, err := r.in.Cursor(ctx, r.channel.name, r.channel.identity())
	if err != nil {
		return &storeError{fmt.Errorf("read the cursor: %w", err)}
	}
	if value == "" {
		return nil
	}
	if r.cursor, err = strconv.ParseInt(value, 10, 64); err != nil || r.cursor <= 0 {
		r.channel.log.Warn("cursor cannot be read, starting without one", "channel", r.channel.name, "cursor", value)
		r.cursor = 0
	}
	if r.cursor > 0 && r.channel.clock.Wall().Sub(time.Unix(r.cursor, 0)) > cacheTime {
		r.channel.log.Info("hob was away for longer than most servers keep messages, some may be missing", "channel", r.channel.name, "from", time.Unix(r.cursor, 0).UTC(), "to", r.channel.clock.Wall())
	}
	return nil
}

// since returns the parameter "since" for the cursor.
func (r *reader) since() string {
	if r.cursor == 0 {
		return firstSince
	}
	return strconv.FormatInt(max(r.cursor-int64(overlap/time.Second), 1), 10)
}

// follow reads a stream until it ends. heard reports whether anything arrived.
func (r *reader) follow(ctx context.Context) (heard bool, err error) {
	own, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// A dead connection gives no error by itself.
	watchdog := time.AfterFunc(idle, func() { cancel(fmt.Errorf("nothing heard for %s", idle)) })
	defer watchdog.Stop()
	resp, err := r.channel.subscribe(own, r.channel.stream, strings.Join(r.channel.topics, ","), url.Values{"since": {r.since()}})
	if err != nil {
		return false, err
	}
	defer func() { _ = resp.Body.Close() }() // the rest of an abandoned stream is not needed
	// Each line, including keep-alives, resets the watchdog.
	err = r.channel.lines(resp.Body, func(m message) error {
		watchdog.Reset(idle)
		heard = true
		return r.take(ctx, m)
	})
	if cause := context.Cause(own); cause != nil && ctx.Err() == nil {
		err = cause
	}
	// A stream without an error has ended; the caller must know that.
	if err == nil {
		err = io.EOF
	}
	return heard, err
}

// poll reads the messages that the server has cached since a time.
func (c *Channel) poll(ctx context.Context, topics, since string, each func(message) error) error {
	resp, err := c.subscribe(ctx, c.http, topics, url.Values{"poll": {"1"}, "since": {since}})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // everything was read, or the rest is not wanted
	return c.lines(resp.Body, each)
}

// subscribe opens the JSON stream of topics.
func (c *Channel) subscribe(ctx context.Context, client *http.Client, topics string, query url.Values) (*http.Response, error) {
	req, err := c.request(ctx, http.MethodGet, "/"+topics+"/json?"+query.Encode(), "")
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", topics, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }() // the text of an error
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		body = nil // the status is enough
	}
	return nil, fmt.Errorf("subscribe to %s: %w", topics, refusal(resp, body, c.clock.Wall()))
}

// lines calls each for the messages of a body. Malformed lines are logged and skipped.
func (c *Channel) lines(body io.Reader, each func(message) error) error {
	r := bufio.NewReaderSize(body, 64<<10)
	for {
		line, err := readLine(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		var m message
		switch {
		case errors.Is(err, errLong):
		case err != nil:
			return fmt.Errorf("read the stream: %w", err)
		default:
			if m, err = decode(line); err == nil {
				if err := each(m); err != nil {
					return err
				}
				continue
			}
		}
		c.log.Warn("ntfy line skipped", "channel", c.name, "err", err)
	}
}

// take commits one message with the cursor after it. The first "open" event sets the beginning.
func (r *reader) take(ctx context.Context, m message) error {
	first := m.Event == eventOpen && r.cursor == 0
	// hob's own messages come back on the stream; the tag identifies them.
	input := m.Event == eventMessage && !m.own() && slices.Contains(r.channel.topics, m.Topic) && m.text() != ""
	switch {
	case m.Event == eventMessage:
		r.pass(m.Time)
	case first:
		r.pass(m.Time - int64(firstWindow/time.Second)) // earlier messages may still be delivered
	}
	if !input && !first {
		return nil
	}
	var ins []event.In
	if input {
		ins = append(ins, r.channel.input(m))
	}
	fail.Point("inbound.received")
	_, err := r.in.Accept(ctx, ins, &channels.Cursor{Source: r.channel.name, Identity: r.channel.identity(), Value: strconv.FormatInt(r.cursor, 10)})
	if err != nil {
		return &storeError{err}
	}
	fail.Point("inbound.committed")
	return nil
}

// pass moves the cursor forward, but not far into the future: after a server with a wrong clock, later
// messages would be missed.
func (r *reader) pass(t int64) {
	t = min(t, r.channel.clock.Wall().Add(time.Hour).Unix())
	r.cursor = max(r.cursor, t, 0)
}

// checkClosed checks that nobody can write to the owner's topics without the token. It publishes with an
// invalid priority: the server refuses missing rights (401, 403) before it validates the priority (400), so
// that nothing is ever published.
func (c *Channel) checkClosed(ctx context.Context) error {
	for _, topic := range c.topics {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.server+"/"+topic, strings.NewReader("hob"))
		if err != nil {
			return fmt.Errorf("make a request: %w", err)
		}
		req.Header.Set("Priority", "none-such")
		req.Header.Set("Tags", ownTag)
		resp, err := c.http.Do(req)
		if err != nil {
			return fmt.Errorf("check who can write to %s: %w", topic, err)
		}
		_ = resp.Body.Close() // only the status is needed
		switch resp.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
		case http.StatusBadRequest, http.StatusOK:
			return fmt.Errorf("owner: anybody can write to the topic %s, so its messages may not be from the owner; reserve it on the server, or remove owner", topic)
		default:
			return fmt.Errorf("check who can write to %s: the server says %d %s", topic, resp.StatusCode, http.StatusText(resp.StatusCode))
		}
	}
	return nil
}
