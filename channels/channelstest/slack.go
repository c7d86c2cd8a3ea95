package channelstest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// SlackFault replaces the normal answer to one call.
type SlackFault struct {
	Status     int    // answer with this status and a page
	RetryAfter int    // with Status: the header, in seconds
	Error      string // answer 200 with this error
	Needed     string // with Error: the missing scope
	Cut        string // "before" drops the connection before the call takes effect, "after" after it
	Raw        string // answer 200 with this
	Silent     bool   // do not answer until the caller has gone
}

// SlackSent is a message of the bot as readers see it.
type SlackSent struct {
	Chat, TS, Thread string
	Text             string // without mrkdwn escapes
	Raw              string // as it was sent
	Nonce            string // of the metadata
	Previews         bool
	Sections         []string // text blocks, in mrkdwn
	Buttons          []SlackButton
	Was              []string // earlier texts, oldest first
	File             string   // name of a file; Text is its comment
	FileID           string
	Content          []byte
}

// SlackButton is one button below a message.
type SlackButton struct{ Label, Value string }

// Slack is a fake workspace with one app, on a real socket: the Web API
// (https://docs.slack.dev/reference/methods) at URL + "/api", and Socket Mode. Messages without a connection
// are only in the history.
type Slack struct {
	web
	script[SlackFault]
	app, bot string // tokens

	mu      sync.Mutex
	sent    []SlackSent
	chats   map[string]*slackChat
	people  map[string]string // names by id
	clock   time.Time         // of the newest message
	number  int
	line    *slackLine
	count   int // connections so far
	pending []*slackEnvelope
	acked   []string
	uploads map[string]*SlackSent
	files   map[string][]byte
	scopes  string
}

// Ids of the fake's workspace and of its bot.
const (
	SlackTeam = "T0HOB"
	SlackUser = "U0HOB"
	slackBot  = "B0HOB"
)

type slackChat struct {
	person, title string
	away          bool // the bot is not a member
	log           []map[string]any
}

// slackLine is a connection of Socket Mode.
type slackLine struct {
	number int // counts connections
	conn   *websocket.Conn
	wake   chan struct{}
	hears  bool // it has answered a ping
}

type slackEnvelope struct {
	id   string
	raw  []byte
	sent *slackLine // the connection that carried it last
}

// NewSlack starts a fake on addr, "" for any free port on the loopback interface, for the app with these
// tokens. The bot's name is hob.
func NewSlack(addr, app, bot string) (*Slack, error) {
	l, err := listen(addr)
	if err != nil {
		return nil, err
	}
	return SlackOn(l, app, bot), nil
}

// SlackOn is NewSlack with a listener.
func SlackOn(l net.Listener, app, bot string) *Slack {
	f := &Slack{
		app: app, bot: bot, chats: map[string]*slackChat{}, people: map[string]string{}, uploads: map[string]*SlackSent{}, files: map[string][]byte{},
		scopes: "chat:write,im:history,im:read,im:write,users:read,files:read,files:write,channels:history,channels:read",
	}
	f.serveOn(l, f.serve)
	return f
}

// Drop closes all connections, as if Slack restarted.
func (f *Slack) Drop() {
	f.mu.Lock()
	line := f.line
	f.mu.Unlock()
	if line != nil {
		_ = line.conn.CloseNow() // it may have ended by itself
	}
	f.web.Drop()
}

// Person adds a person. The id of the private chat with the bot is that person's id with a D before it.
func (f *Slack) Person(id, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.people[id] = name
	f.chats["D"+id] = &slackChat{person: id}
}

// Group adds a channel with the bot in it.
func (f *Slack) Group(id, title string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chats[id] = &slackChat{title: title}
}

// Leave removes the bot from a channel.
func (f *Slack) Leave(group string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chats[group].away = true
}

// Say writes to the bot in the private chat with a person. It returns the timestamp.
func (f *Slack) Say(person, text string) string {
	return f.Write("D"+person, map[string]any{"user": person, "text": text})
}

// Write adds a message to a chat; missing fields are filled in.
func (f *Slack) Write(chat string, m map[string]any) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.write(chat, m)
}

func (f *Slack) write(chat string, m map[string]any) string {
	m["type"] = "message"
	if m["ts"] == nil {
		m["ts"] = f.tick()
	}
	c := f.chats[chat]
	c.log = append(c.log, m)
	f.event(chat, m)
	return text(m["ts"])
}

// Mix writes two messages that reach the app in the wrong order.
func (f *Slack) Mix(person, first, second string) (one, two string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one, two = f.tick(), f.tick()
	chat := "D" + person
	a := map[string]any{"type": "message", "user": person, "text": first, "ts": one}
	b := map[string]any{"type": "message", "user": person, "text": second, "ts": two}
	f.chats[chat].log = append(f.chats[chat].log, a, b)
	f.event(chat, b)
	f.event(chat, a)
	return one, two
}

// tick returns the timestamp of a new message; each is unique.
func (f *Slack) tick() string {
	now := time.Now().Truncate(time.Microsecond)
	if !now.After(f.clock) {
		now = f.clock.Add(time.Microsecond)
	}
	f.clock = now
	return fmt.Sprintf("%010d.%06d", f.clock.Unix(), f.clock.Nanosecond()/1000)
}

// event offers an event in a chat to the app.
func (f *Slack) event(chat string, m map[string]any) {
	e := maps.Clone(m)
	e["channel"], e["event_ts"], e["channel_type"] = chat, m["ts"], "channel"
	if strings.HasPrefix(chat, "D") {
		e["channel_type"] = "im"
	}
	delete(e, "metadata")
	f.offer("events_api", map[string]any{"type": "event_callback", "team_id": SlackTeam, "event": e})
}

// offer sends an envelope, if there is a connection.
func (f *Slack) offer(kind string, payload any) {
	if f.line == nil {
		return
	}
	f.number++
	e := &slackEnvelope{id: fmt.Sprintf("envelope-%d", f.number)}
	raw, err := json.Marshal(map[string]any{"type": kind, "envelope_id": e.id, "payload": payload, "accepts_response_payload": false})
	if err != nil {
		panic(err) // a test's own mistake
	}
	e.raw = raw
	f.put(e)
}

func (f *Slack) put(e *slackEnvelope) {
	f.pending = append(f.pending, e)
	if f.line == nil {
		return
	}
	select {
	case f.line.wake <- struct{}{}:
	default:
	}
}

// Push sends a raw frame, which needs no acknowledgement.
func (f *Slack) Push(raw string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(&slackEnvelope{raw: []byte(raw)})
}

// Interact offers an interactive payload or a command.
func (f *Slack) Interact(kind string, payload map[string]any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.offer(kind, payload)
}

// Press presses a button below a message.
func (f *Slack) Press(person, chat, ts, value string) (at string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at = f.tick()
	f.offer("interactive", map[string]any{
		"type": "block_actions", "user": map[string]any{"id": person, "name": f.people[person], "team_id": SlackTeam}, "trigger_id": "1." + at,
		"container": map[string]any{"type": "message", "message_ts": ts, "channel_id": chat, "is_ephemeral": false}, "channel": map[string]any{"id": chat},
		"actions": []any{map[string]any{"type": "button", "action_id": "choice-0", "value": value, "action_ts": at}},
	})
	return at
}

// Again offers a message a second time.
func (f *Slack) Again(chat, ts string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.find(chat, ts); m != nil {
		f.event(chat, m)
	}
}

// Edit changes a message. It returns the timestamp of the edit.
func (f *Slack) Edit(chat, ts, text string) (at string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.find(chat, ts)
	was := maps.Clone(m)
	at = f.tick()
	m["text"], m["edited"] = text, map[string]any{"user": m["user"], "ts": at}
	f.event(chat, map[string]any{"type": "message", "subtype": "message_changed", "hidden": true, "ts": at, "message": maps.Clone(m), "previous_message": was})
	return at
}

// Delete takes a message away.
func (f *Slack) Delete(chat, ts string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.find(chat, ts)
	c := f.chats[chat]
	c.log = slices.DeleteFunc(c.log, func(m map[string]any) bool { return m["ts"] == ts })
	f.sent = slices.DeleteFunc(f.sent, func(s SlackSent) bool { return s.TS == ts })
	f.event(chat, map[string]any{"type": "message", "subtype": "message_deleted", "hidden": true, "ts": f.tick(), "deleted_ts": ts, "previous_message": was})
}

func (f *Slack) find(chat, ts string) map[string]any {
	c := f.chats[chat]
	if c == nil {
		return nil
	}
	for _, m := range c.log {
		if m["ts"] == ts {
			return m
		}
	}
	return nil
}

// File stores a file and returns its description in messages.
func (f *Slack) File(id, name, mime string, content []byte) map[string]any {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files[id] = content
	return map[string]any{"id": id, "name": name, "mimetype": mime, "size": len(content), "mode": "hosted", "url_private_download": f.URL() + "/files-pri/" + id}
}

// Disconnect announces the end of the connection, and ends it.
func (f *Slack) Disconnect(reason string) {
	f.Push(`{"type":"disconnect","reason":"` + reason + `","debug_info":{"host":"test"}}`)
}

// Revoke invalidates the tokens, and ends all connections.
func (f *Slack) Revoke() {
	f.mu.Lock()
	f.app, f.bot = "revoked", "revoked"
	f.mu.Unlock()
	f.Drop()
}

// Scopes sets the granted scopes.
func (f *Slack) Scopes(list string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.scopes = list
}

// Sent returns what was sent, in order, including messages whose answer was lost.
func (f *Slack) Sent() []SlackSent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sent)
}

// Pending returns the number of unacknowledged envelopes.
func (f *Slack) Pending() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.pending)
}

// Acked returns the acknowledged envelopes, in order.
func (f *Slack) Acked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.acked)
}

// Listening waits until a client is connected, or ctx ends.
func (f *Slack) Listening(ctx context.Context) {
	awaits(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.line != nil && f.line.hears
	})
}

// Left waits until no client is connected, or ctx ends.
func (f *Slack) Left(ctx context.Context) {
	awaits(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.line == nil
	})
}

func (f *Slack) serve(w http.ResponseWriter, r *http.Request) {
	switch method, api := strings.CutPrefix(r.URL.Path, "/api/"); {
	case r.URL.Path == "/link":
		f.socket(w, r)
	case strings.HasPrefix(r.URL.Path, "/files-pri/"):
		f.download(w, r, strings.TrimPrefix(r.URL.Path, "/files-pri/"))
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		f.received(w, r, strings.TrimPrefix(r.URL.Path, "/upload/"))
	case api:
		f.method(w, r, method)
	default:
		http.NotFound(w, r)
	}
}

func (f *Slack) method(w http.ResponseWriter, r *http.Request, method string) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fault := f.fault(method)
	switch {
	case fault.Status != 0:
		if fault.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
		}
		http.Error(w, "<html>scripted</html>", fault.Status)
		return
	case fault.Raw != "":
		_, _ = io.WriteString(w, fault.Raw) // the reader may be gone
		return
	case fault.Error != "":
		reply(w, map[string]any{"ok": false, "error": fault.Error, "needed": fault.Needed})
		return
	case fault.Cut == "before":
		hangUp(w)
		return
	case fault.Silent:
		select {
		case <-r.Context().Done():
		case <-f.quit:
		}
		return
	}
	result, why := f.answer(r, method)
	switch {
	case fault.Cut == "after":
		hangUp(w)
	case why != "":
		reply(w, map[string]any{"ok": false, "error": why})
	default:
		f.mu.Lock()
		w.Header().Set("X-Oauth-Scopes", f.scopes)
		f.mu.Unlock()
		result["ok"] = true
		reply(w, result)
	}
}
