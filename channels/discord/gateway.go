package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"hob/channels"
	"hob/daemon/sys"
)

// Limits of a gateway connection. A connection is dead if a heartbeat is not answered within ackTime.
// Together with the time between two heartbeats, that is detected within a minute.
const (
	loginTime = 30 * time.Second // until a session has begun or was resumed
	longBeat  = 40 * time.Second // maximum time between two heartbeats, even if the gateway asks for fewer
	ackTime   = 10 * time.Second
	writeTime = 10 * time.Second
	shortLife = 5 * time.Second // after a shorter connection, hob waits before the next one
	maxFrame  = 16 << 20        // bytes
)

// Intents ("Gateway Intents"). messageContent is privileged: the owner must switch it on.
const (
	groupMessages  = 1 << 9
	directMessages = 1 << 12
	messageContent = 1 << 15
)

// Close codes ("Gateway Close Event Codes").
const (
	notAuthenticated = 4003
	badToken         = 4004
	badSequence      = 4007
	timedOut         = 4009
	shardingRequired = 4011
	badIntents       = 4013
	noIntents        = 4014
)

// Advice for refusals that only the owner can resolve.
const (
	newToken  = "Discord does not accept the token: press Reset Token under Bot at https://discord.com/developers/applications, and set token to the new one"
	seeGroups = "switch on Message Content Intent under Bot at https://discord.com/developers/applications, or remove groups"
)

// errAgain ends a connection that is to be replaced at once, because the gateway asked for it.
var errAgain = errors.New("the gateway asked for another connection")

// gatewayConn is one connection to the gateway ("Gateway Connections").
type gatewayConn struct {
	conn  *websocket.Conn
	frame func(sent bool, text []byte)
	seq   atomic.Int64 // sequence number of the last committed event
	acked atomic.Bool  // the last heartbeat was answered
	busy  atomic.Bool  // a frame is being handled; later frames, and so acknowledgements, are not read yet
}

// runConnection connects to the gateway and handles frames until ctx or the connection ends. If the session cannot be
// resumed, the history is read instead.
func (r *reader) runConnection(ctx context.Context) error {
	r.begun = false
	if r.source.Pos.Session == "" {
		if err := r.catchUp(ctx); err != nil { // most of it before login, so that the new session waits for a small rest only
			return err
		}
	}
	ctx, end := context.WithCancelCause(ctx)
	workers := sys.NewGroup(r.channel.log, nil)
	defer workers.Wait()
	defer end(nil)
	// One limit covers everything from the connection to READY or RESUMED.
	login, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("no session with the gateway within %s", loginTime))
	defer cancel()
	l, every, err := r.connect(login)
	if err != nil {
		return err
	}
	defer func() { _ = l.conn.CloseNow() }() // without a close frame, which would end the session
	workers.Once("heartbeat of "+r.channel.name, func() error {
		l.beat(ctx, every, time.Duration(r.channel.clock.Wall().UnixNano())%every, end)
		return nil
	})
	if err := r.login(login, l); err != nil {
		return err
	}
	for {
		when := ctx
		if !r.begun {
			when = login
		}
		f, err := l.read(when)
		if err != nil {
			return r.explainClose(ctx, err)
		}
		l.busy.Store(true)
		err = r.frame(ctx, l, f)
		l.busy.Store(false)
		if err != nil {
			return err
		}
	}
}

// connect opens a connection, preferably to the gateway that can resume the session, and reads the heartbeat
// interval.
func (r *reader) connect(ctx context.Context) (*gatewayConn, time.Duration, error) {
	l := &gatewayConn{frame: r.channel.frame}
	l.seq.Store(r.source.Pos.Seq)
	var err error
	if r.source.Pos.Session != "" && r.source.Pos.Gateway != "" {
		l.conn, err = r.dial(ctx, r.source.Pos.Gateway)
	}
	if l.conn == nil {
		if err != nil {
			r.channel.log.Debug("the gateway of the session is not reachable", "channel", r.channel.name, "err", err)
		}
		address, err := r.gateway(ctx)
		if err != nil {
			return nil, 0, err
		}
		if l.conn, err = r.dial(ctx, address); err != nil {
			return nil, 0, err
		}
	}
	l.conn.SetReadLimit(maxFrame)
	f, err := l.read(ctx)
	var hello struct {
		Every int64 `json:"heartbeat_interval"` // milliseconds
	}
	if err == nil && (f.Op != opHello || json.Unmarshal(f.Data, &hello) != nil || hello.Every <= 0) {
		err = errors.New("it does not say hello")
	}
	if err != nil {
		_ = l.conn.CloseNow() // nothing was exchanged yet
		return nil, 0, fmt.Errorf("connect to the gateway: %w", err)
	}
	return l, min(time.Duration(min(hello.Every, 3_600_000))*time.Millisecond, longBeat), nil
}

// gateway asks for the address for new sessions, and whether one may begin now: Discord allows about a
// thousand a day ("Session Start Limit Object").
func (r *reader) gateway(ctx context.Context) (string, error) {
	var g struct {
		URL   string `json:"url"`
		Limit struct {
			Remaining *int  `json:"remaining"`
			Reset     int64 `json:"reset_after"` // milliseconds
		} `json:"session_start_limit"`
	}
	if err := r.channel.api.call(ctx, http.MethodGet, "/gateway/bot", nil, &g); err != nil {
		return "", err
	}
	if left := g.Limit.Remaining; r.source.Pos.Session == "" && left != nil && *left <= 0 {
		return "", &channels.RetryAfter{After: time.Duration(g.Limit.Reset) * time.Millisecond, Err: errors.New("the bot has begun too many sessions: Discord allows no more today"), Lasts: true}
	}
	return g.URL, nil
}

// dial connects. The token will be sent there, so only Discord's gateways are allowed.
func (r *reader) dial(ctx context.Context, address string) (*websocket.Conn, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "wss" || u.User != nil || u.Port() != "" || !strings.HasSuffix(u.Host, ".discord.gg") {
		return nil, fmt.Errorf("connect to the gateway: %.100q is not one of Discord's", address)
	}
	// Discord may add a path; the version and the encoding must be set by the client ("Connecting").
	u.Path, u.RawQuery = "/", "v=10&encoding=json"
	conn, _, err := websocket.Dial(ctx, u.String(), &websocket.DialOptions{HTTPClient: r.channel.api.http}) //nolint:bodyclose // the connection is the body
	if err != nil {
		return nil, fmt.Errorf("connect to the gateway: %w", err)
	}
	return conn, nil
}

// login begins a session, or resumes the stored one ("Identify", "Resume").
func (r *reader) login(ctx context.Context, l *gatewayConn) error {
	if r.source.Pos.Session != "" {
		return l.write(ctx, opResume, map[string]any{"token": r.channel.api.token, "session_id": r.source.Pos.Session, "seq": r.source.Pos.Seq})
	}
	// Without groups, hob asks for no privileged intent, so the bot works without approval.
	intents := directMessages
	if len(r.channel.Groups) > 0 {
		intents |= groupMessages | messageContent
	}
	return l.write(ctx, opIdentify, map[string]any{
		"token": r.channel.api.token, "intents": intents, "properties": map[string]string{"os": runtime.GOOS, "browser": "hob", "device": "hob"},
	})
}

// read waits for the next frame. A malformed frame is returned without an opcode, and is ignored.
func (l *gatewayConn) read(ctx context.Context) (frame, error) {
	_, raw, err := l.conn.Read(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return frame{}, err
	}
	l.frame(false, raw)
	f := frame{Op: -1}
	if json.Unmarshal(raw, &f) != nil {
		f = frame{Op: -1}
	}
	return f, nil
}

// write sends a payload with an opcode ("Sending Events"). It is safe for concurrent use: heartbeats are sent
// beside the reader.
func (l *gatewayConn) write(ctx context.Context, op int, what any) error {
	raw, err := json.Marshal(map[string]any{"op": op, "d": what})
	if err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	if op != opHeartbeat {
		l.frame(true, raw)
	}
	if err := l.conn.Write(ctx, websocket.MessageText, raw); err != nil {
		return fmt.Errorf("write to the gateway: %w", err)
	}
	return nil
}

// heartbeat sends the sequence number of the last committed event.
func (l *gatewayConn) heartbeat(ctx context.Context) error {
	if seq := l.seq.Load(); seq > 0 {
		return l.write(ctx, opHeartbeat, seq)
	}
	return l.write(ctx, opHeartbeat, nil)
}

// beat sends heartbeats; the first one after a random part of the interval ("Sending Heartbeats"). It ends
// the connection if one is not answered.
func (l *gatewayConn) beat(ctx context.Context, every, first time.Duration, end context.CancelCauseFunc) {
	for wait, patience := first, min(ackTime, every); sys.Sleep(ctx, wait); wait = every - patience {
		l.acked.Store(false)
		if err := l.heartbeat(ctx); err != nil {
			end(err)
			return
		}
		if !sys.Sleep(ctx, patience) {
			return
		}
		// While a frame is being handled, the acknowledgement may be waiting after it.
		if !l.acked.Load() && !l.busy.Load() {
			end(fmt.Errorf("the gateway has not answered a heartbeat within %s: the connection is dead", patience))
			return
		}
	}
}

// explainClose interprets the end of a connection ("Gateway Close Event Codes"). Codes that only the owner can
// resolve are lasting refusals. Codes that end the session begin a new one. All others are ordinary failures:
// the host reconnects with backoff.
func (r *reader) explainClose(ctx context.Context, err error) error {
	later := func(what string) error {
		return channels.Refused(fmt.Errorf("%w; %s", err, what))
	}
	switch code := websocket.CloseStatus(err); code {
	case badToken:
		return later(newToken)
	case badIntents, noIntents:
		return later(seeGroups)
	case shardingRequired:
		return later("the bot is on too many servers for one program: give hob a bot of its own")
	case notAuthenticated, badSequence, timedOut:
		// The session is gone: identify again, and read the history.
		return r.dropSession(ctx)
	}
	return fmt.Errorf("the gateway: %w", err)
}

// dropSession gives up the session; the next connection begins a new one.
func (r *reader) dropSession(ctx context.Context) error {
	r.begun = false
	r.source.Pos.Session, r.source.Pos.Gateway, r.source.Pos.Seq = "", "", 0
	if err := r.commit(ctx, nil); err != nil {
		return err
	}
	return errAgain
}
