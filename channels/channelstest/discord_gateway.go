package channelstest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// discordSession is a session of the gateway: its events since the beginning.
type discordSession struct {
	id     string
	events [][]byte // frames; the first has the number 1
}

// discordLine is one connection to the gateway.
type discordLine struct {
	conn  *websocket.Conn
	end   context.CancelFunc
	wake  chan struct{}
	queue [][]byte // frames to write
	open  bool     // logged in
	mute  bool     // nothing is sent any more, not even an answer to a heartbeat
	bye   websocket.StatusCode
}

// Beat sets the heartbeat interval of the next connections.
func (f *Discord) Beat(every time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beat = every
}

// tell adds an event to the bot's session, if there is one.
func (f *Discord) tell(kind string, data any) {
	if f.session == nil {
		return
	}
	raw := discordFrame(0, data, map[string]any{"t": kind, "s": len(f.session.events) + 1})
	f.session.events = append(f.session.events, raw)
	for l := range f.lines {
		if l.open {
			l.put(raw)
		}
	}
}

func discordFrame(op int, data any, more map[string]any) []byte {
	f := map[string]any{"op": op, "d": data, "t": nil, "s": nil}
	for k, v := range more {
		f[k] = v
	}
	raw, err := json.Marshal(f)
	if err != nil {
		panic(err) // the test is wrong
	}
	return raw
}

func (l *discordLine) put(raw []byte) {
	if l.mute {
		return
	}
	l.queue = append(l.queue, raw)
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// Frame sends a raw frame on the open connections.
func (f *Discord) Frame(raw string) {
	f.each(func(l *discordLine) { l.put([]byte(raw)) })
}

// Silence makes the open connections silent, like a dead network path.
func (f *Discord) Silence() { f.each(func(l *discordLine) { l.mute, l.queue = true, nil }) }

// End closes the open connections with a code.
func (f *Discord) End(code int) {
	f.each(func(l *discordLine) {
		l.bye = websocket.StatusCode(code)
		l.put(nil)
	})
}

// Reconnect asks the bot to reconnect, as the gateway does every few hours.
func (f *Discord) Reconnect() { f.Frame(`{"op":7,"d":null}`) }

// Lose drops the session: it cannot be resumed, and missed events are only in the history.
func (f *Discord) Lose() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.session = nil
}

// Drop closes all connections without a close frame.
func (f *Discord) Drop() {
	f.each(func(l *discordLine) { l.end() })
	f.web.Drop()
}

func (f *Discord) each(do func(*discordLine)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for l := range f.lines {
		do(l)
	}
}

// Listening waits until the bot has logged in and received all missed events, or ctx ends.
func (f *Discord) Listening(ctx context.Context) {
	awaits(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for l := range f.lines {
			if l.open && len(l.queue) == 0 {
				return true
			}
		}
		return false
	})
}

// Position returns the session and the number of its last event.
func (f *Discord) Position() (session string, seq int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.session == nil {
		return "", 0
	}
	return f.session.id, len(f.session.events)
}

// serveGateway serves one connection.
func (f *Discord) serveGateway(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // it has answered
	}
	ctx, end := context.WithCancel(context.WithoutCancel(r.Context()))
	l := &discordLine{conn: conn, end: end, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	f.lines[l] = true
	f.handlers.Add(1)
	l.put(discordFrame(10, map[string]any{"heartbeat_interval": f.beat.Milliseconds()}, nil))
	f.mu.Unlock()
	written := make(chan struct{})
	launch(func() {
		defer close(written)
		f.write(ctx, l)
	})
	defer f.handlers.Done()
	for {
		_, raw, err := conn.Read(ctx)
		if err != nil {
			break
		}
		f.hear(l, raw)
	}
	end()
	<-written
	f.mu.Lock()
	delete(f.lines, l)
	f.mu.Unlock()
	_ = conn.CloseNow() // it has ended
}

// write writes the queue until the connection ends.
func (f *Discord) write(ctx context.Context, l *discordLine) {
	defer l.end()
	for {
		f.mu.Lock()
		queue := l.queue
		f.mu.Unlock()
		for _, raw := range queue {
			if raw == nil {
				_ = l.conn.Close(l.bye, "as scripted") // the client may be gone
				return
			}
			if l.conn.Write(ctx, websocket.MessageText, raw) != nil {
				return
			}
		}
		f.mu.Lock()
		l.queue = l.queue[min(len(queue), len(l.queue)):]
		more := len(l.queue) > 0
		f.mu.Unlock()
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
	}
}

// hear handles a frame from the bot.
func (f *Discord) hear(l *discordLine, raw []byte) {
	var said struct {
		Op   int             `json:"op"`
		Data json.RawMessage `json:"d"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return
	}
	switch said.Op {
	case 1:
		f.each(func(other *discordLine) {
			if other == l {
				l.put(discordFrame(11, nil, nil))
			}
		})
	case 2, 6:
		f.login(l, said.Op, said.Data)
	}
}

// login begins or resumes a session.
func (f *Discord) login(l *discordLine, op int, data []byte) {
	var who struct {
		Token   string `json:"token"`
		Intents int    `json:"intents"`
		Session string `json:"session_id"`
		Seq     int    `json:"seq"`
	}
	if json.Unmarshal(data, &who) != nil {
		return
	}
	name, shown := "identify", fmt.Sprintf("identify %d", who.Intents)
	if op == 6 {
		name, shown = "resume", fmt.Sprintf("resume %s %d", who.Session, who.Seq)
	}
	fault := f.fault(name)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logins = append(f.logins, shown)
	bye := func(code int) {
		l.bye = websocket.StatusCode(code)
		l.put(nil)
	}
	switch {
	case fault.Status != 0:
		bye(fault.Status)
	case who.Token != f.token:
		bye(4004)
	case op == 2 && f.blind && who.Intents&(1<<15) != 0:
		bye(4014)
	case op == 6 && (f.session == nil || f.session.id != who.Session):
		l.put(discordFrame(9, false, nil))
	case op == 6 && who.Seq > len(f.session.events):
		bye(4007)
	case op == 6:
		l.open = true
		for _, e := range f.session.events[who.Seq:] {
			l.put(e)
		}
		f.tell("RESUMED", map[string]any{})
	default:
		f.sessions++
		f.session = &discordSession{id: fmt.Sprintf("session%d", f.sessions)}
		l.open = true
		f.tell("READY", map[string]any{"v": 10, "session_id": f.session.id, "resume_gateway_url": "wss://gateway-test.discord.gg", "user": f.me()})
	}
}
