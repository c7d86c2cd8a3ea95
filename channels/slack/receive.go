package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"hob/channels"
	"hob/channels/poll"
)

// How far back the history is read again, and how much is remembered.
const (
	keeps       = 5 * time.Minute // Slack repeats an unacknowledged event after one minute and after five ("Error handling")
	mostThreads = 20              // threads that are read again
)

// position is how far an account was read. Times are Slack's message timestamps.
type position struct {
	Began   string            `json:"began"`             // older messages are never read
	Heard   int64             `json:"heard"`             // when hob last heard from Slack, in Unix seconds of hob's clock
	Chats   map[string]string `json:"chats,omitempty"`   // newest message of each chat
	Threads map[string]string `json:"threads,omitempty"` // newest message by "chat/thread"
}

// only reduces the position to the given chats. If another chat comes back later, its older messages are not
// read.
func (p position) only(chats []string) position {
	p.Chats, p.Threads = maps.Clone(p.Chats), maps.Clone(p.Threads)
	maps.DeleteFunc(p.Chats, func(chat, _ string) bool { return !slices.Contains(chats, chat) })
	maps.DeleteFunc(p.Threads, func(key, _ string) bool {
		chat, _, _ := strings.Cut(key, "/")
		return !slices.Contains(chats, chat)
	})
	return p
}

// account is hob's own account.
type account struct {
	slack.AuthTestResponse
	ahead time.Duration // how much Slack's clock is ahead of hob's
}

// wrote reports whether hob wrote a message.
func (a account) wrote(m *slack.Msg) bool {
	return a.UserID != "" && m.User == a.UserID || a.BotID != "" && m.BotID == a.BotID
}

// reader is the state of one Run.
type reader struct {
	view   view
	source *poll.Source[position]
	socket *socket // the open socket; nil until the history is caught up
	people map[string]person
	titles map[string]string
}

// Run listens until ctx ends. It returns an error if Slack cannot be reached, refuses or disconnects, or if
// the inbox cannot commit.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	return poll.Run(ctx, c.web.plain, func(ctx context.Context) error { return c.receive(ctx, in) }, explain)
}

// receive opens the source, then runs connections until one fails.
func (c *Channel) receive(ctx context.Context, in channels.Inbox) error {
	me, err := c.whoami(ctx)
	if err != nil {
		return err
	}
	r := &reader{view: view{c, me}, people: map[string]person{}, titles: map[string]string{}}
	if err := r.open(ctx, in); err != nil {
		return err
	}
	for {
		// Slack renews connections regularly ("refresh_requested"); that is not a failure.
		began := r.view.channel.clock.Mono()
		err := r.session(ctx)
		if !errors.Is(err, errRefresh) || r.view.channel.clock.Mono()-began < briefly { // a connection that ends at once must not be renewed endlessly without backoff
			return err
		}
	}
}

// open opens the source. Without a stored position hob starts now: older messages are not read.
func (r *reader) open(ctx context.Context, in channels.Inbox) (err error) {
	who := poll.Account{Channel: r.view.channel.name, Identity: r.view.me.TeamID + " " + r.view.me.UserID + " " + r.view.channel.web.base.String(), Log: r.view.channel.log}
	r.source, err = poll.Open(ctx, in, who, func(p position) time.Time { return time.Unix(p.Heard, 0) })
	if err != nil || r.source.Pos.Began != "" {
		return err
	}
	now := r.view.channel.clock.Wall()
	return r.commit(ctx, nil, position{Began: stamp(now.Add(r.view.me.ahead)), Heard: now.Unix()})
}

// session runs one connection: open the socket, catch up on the history, then serve events until the
// connection ends.
func (r *reader) session(ctx context.Context) error {
	// The socket is opened before the history is read, so that no message falls in between.
	s, err := r.view.channel.dial(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	hello, err := s.read()
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	// Usually Slack says hello first; if not, the envelope must not be lost.
	if hello.Type != "hello" {
		if err := r.envelope(ctx, s, hello); err != nil {
			return err
		}
	}
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	if err := r.serve(ctx, s); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}

// whoami asks for the account of the bot token, and compares Slack's clock with hob's.
func (c *Channel) whoami(ctx context.Context) (account, error) {
	resp, err := c.web.AuthTestContext(ctx)
	if err != nil {
		return account{}, fmt.Errorf("auth.test: %w", err)
	}
	if resp.UserID == "" || resp.TeamID == "" {
		return account{}, errors.New("auth.test: the answer names no bot (check api_base)")
	}
	me := account{AuthTestResponse: *resp}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		// Timestamps of messages are Slack's, so the clocks are compared.
		me.ahead = at.Sub(c.clock.Wall())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// Sends use the account too, to recognise hob's own messages.
	c.me = me
	return me, nil
}

// self is whoami with a cached result.
func (c *Channel) self(ctx context.Context) (account, error) {
	c.mu.Lock()
	me := c.me
	c.mu.Unlock()
	if me.UserID != "" {
		return me, nil
	}
	return c.whoami(ctx)
}

// take commits the message of an envelope together with the new position. The caller acknowledges the
// envelope after that.
func (r *reader) take(ctx context.Context, e envelope) error {
	m, ok := r.view.read(e)
	if !ok || !r.concerns(m.Message) {
		return nil
	}
	return r.commit(ctx, r.resolveNames(ctx, []message{m}), r.positionAfter(r.source.Pos, m))
}

// read converts an envelope. It returns false if hob reads nothing in it. A malformed envelope is logged and
// acknowledged, because it would be the same each time.
func (v view) read(e envelope) (message, bool) {
	switch e.Type {
	case "events_api":
		var p struct {
			Event slack.Message `json:"event"`
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			v.channel.log.Warn("slack event skipped", "channel", v.channel.name, "envelope", e.ID, "err", err)
			return message{}, false
		}
		if p.Event.Type != "message" && p.Event.Type != "app_mention" {
			return message{}, false
		}
		return v.message(p.Event)
	case "interactive":
		var p press
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			v.channel.log.Warn("slack button skipped", "channel", v.channel.name, "envelope", e.ID, "err", err)
			return message{}, false
		}
		return v.buttonPress(p)
	case "slash_commands":
		var p slack.SlashCommand
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			v.channel.log.Warn("slack command skipped", "channel", v.channel.name, "envelope", e.ID, "err", err)
			return message{}, false
		}
		return slashCommand(p)
	}
	return message{}, false
}

// concerns reports whether a message concerns hob. Nothing is stored or asked about other messages.
func (r *reader) concerns(m channels.Message) bool {
	// Strangers in private chats pass: their message may be a pairing code.
	return !m.From.Self && (m.Chat.Group == "" || m.Mentioned && slices.Contains(r.view.channel.Groups, m.Chat.Group))
}

// positionAfter returns the position after messages. Private chats with strangers leave no trace.
func (r *reader) positionAfter(p position, list ...message) position {
	p.Chats, p.Threads = writable(p.Chats), writable(p.Threads)
	for _, m := range list {
		if m.ts == "" || m.Chat.Group == "" && !r.view.channel.knows(m.From.ID) {
			continue
		}
		p.Chats[m.chat] = max(p.Chats[m.chat], m.ts)
		if m.thread != "" {
			key := m.chat + "/" + m.thread
			p.Threads[key] = max(p.Threads[key], m.ts)
		}
	}
	// The position must stay small: only the newest threads are tracked.
	for len(p.Threads) > mostThreads {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(p.Threads)), func(a, b string) int { return strings.Compare(p.Threads[a], p.Threads[b]) })
		delete(p.Threads, oldest)
	}
	return p
}

// writable returns a copy of a map that can be written to.
func writable(m map[string]string) map[string]string {
	next := maps.Clone(m)
	if next == nil {
		next = map[string]string{}
	}
	return next
}

// knows reports whether hob listens to a person in private.
func (c *Channel) knows(person string) bool {
	return slices.Contains(c.owner(), person) || slices.Contains(c.Known, person) || slices.Contains(c.Public, person)
}

// commit hands messages to the inbox with the position after them, and the time when Slack was last heard.
func (r *reader) commit(ctx context.Context, list []channels.Message, next position) error {
	if r.socket != nil {
		next.Heard = r.socket.heard.Load()
	}
	return r.source.Commit(ctx, list, next)
}

// stamp formats a time like Slack's message timestamps. They compare as strings until the year 2286.
func stamp(t time.Time) string {
	return fmt.Sprintf("%010d.%06d", t.Unix(), t.Nanosecond()/1000)
}

// moment parses a message timestamp; zero if it is malformed.
func moment(ts string) time.Time {
	seconds, micros, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	us, uerr := strconv.ParseInt(micros, 10, 64)
	if err != nil || uerr != nil {
		return time.Time{}
	}
	return time.Unix(s, us*1000)
}
