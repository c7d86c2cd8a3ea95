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

// How far back is looked, and what is remembered.
const (
	keeps       = 5 * time.Minute // Slack offers an event that was not acknowledged again after a minute and after five ("Error handling")
	mostThreads = 20              // conversations of their own that are read again
)

// position is how far an account has been read. Times are Slack's, as messages have them.
type position struct {
	Began   string            `json:"began"`             // what was said before is no news
	Heard   int64             `json:"heard"`             // when hob last listened, in Unix seconds by its own clock
	Chats   map[string]string `json:"chats,omitempty"`   // the newest message by chat
	Threads map[string]string `json:"threads,omitempty"` // and by "chat/thread"
}

// only is the position in these chats. When one of the others comes back, what was said meanwhile is no news.
func (p position) only(chats []string) position {
	p.Chats, p.Threads = maps.Clone(p.Chats), maps.Clone(p.Threads)
	maps.DeleteFunc(p.Chats, func(chat, _ string) bool { return !slices.Contains(chats, chat) })
	maps.DeleteFunc(p.Threads, func(key, _ string) bool {
		chat, _, _ := strings.Cut(key, "/")
		return !slices.Contains(chats, chat)
	})
	return p
}

// account is who hob is.
type account struct {
	slack.AuthTestResponse
	ahead time.Duration // how much Slack's clock is ahead of hob's
}

// wrote tells whether hob wrote a message.
func (a account) wrote(m *slack.Msg) bool {
	return a.UserID != "" && m.User == a.UserID || a.BotID != "" && m.BotID == a.BotID
}

// reader is the state of one Run.
type reader struct {
	view
	*poll.Source[position]
	socket *socket // that is read; nil while it is not caught up with what was said before
	people map[string]person
	titles map[string]string
}

// Run listens until ctx ends. An error ends it: Slack cannot be reached, refuses or has gone, or the inbox takes nothing.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	return poll.Run(ctx, c.web.plain, func(ctx context.Context) error { return c.receive(ctx, in) }, trouble)
}

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
		began := r.clock.Mono()
		err := r.session(ctx)
		if !errors.Is(err, errRefresh) || r.clock.Mono()-began < briefly { // else one connection follows the other without end
			return err
		}
	}
}

// open opens the source of the bot on its server. Without a position, hob begins now.
func (r *reader) open(ctx context.Context, in channels.Inbox) (err error) {
	who := poll.Account{Channel: r.name, Identity: r.me.TeamID + " " + r.me.UserID + " " + r.web.base.String(), Log: r.log}
	r.Source, err = poll.Open(ctx, in, who, func(p position) time.Time { return time.Unix(p.Heard, 0) })
	if err != nil || r.Pos.Began != "" {
		return err
	}
	now := r.clock.Wall()
	return r.commit(ctx, nil, position{Began: stamp(now.Add(r.me.ahead)), Heard: now.Unix()})
}

// session is one connection, from what was said before it to its end.
func (r *reader) session(ctx context.Context) error {
	s, err := r.dial(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	hello, err := s.read()
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
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

// whoami asks whose the bot token is.
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
		me.ahead = at.Sub(c.clock.Wall())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.me = me
	return me, nil
}

// self is whoami, asked once.
func (c *Channel) self(ctx context.Context) (account, error) {
	c.mu.Lock()
	me := c.me
	c.mu.Unlock()
	if me.UserID != "" {
		return me, nil
	}
	return c.whoami(ctx)
}

// take stores what an envelope brings.
func (r *reader) take(ctx context.Context, e envelope) error {
	m, ok := r.read(e)
	if !ok || !r.minds(m.Message) {
		return nil
	}
	return r.commit(ctx, r.dress(ctx, []message{m}), r.behind(r.Pos, m))
}

// read makes a message of an envelope; false when it says nothing that hob could read.
func (v view) read(e envelope) (message, bool) {
	switch e.Type {
	case "events_api":
		var p struct {
			Event slack.Message `json:"event"`
		}
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			v.log.Warn("slack event passed over", "channel", v.name, "envelope", e.ID, "err", err)
			return message{}, false
		}
		if p.Event.Type != "message" && p.Event.Type != "app_mention" {
			return message{}, false
		}
		return v.message(p.Event)
	case "interactive":
		var p press
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			v.log.Warn("slack button passed over", "channel", v.name, "envelope", e.ID, "err", err)
			return message{}, false
		}
		return v.pressed(p)
	case "slash_commands":
		var p slack.SlashCommand
		if err := json.Unmarshal(e.Payload, &p); err != nil {
			v.log.Warn("slack command passed over", "channel", v.name, "envelope", e.ID, "err", err)
			return message{}, false
		}
		return commanded(p)
	}
	return message{}, false
}

// minds tells whether a message is any of hob's business: of others nothing is stored, and nobody is asked who wrote them.
func (r *reader) minds(m channels.Message) bool {
	return !m.From.Self && (m.Chat.Group == "" || m.Mentioned && slices.Contains(r.Groups, m.Chat.Group))
}

// behind is the position behind messages. Of private chats with strangers nothing is remembered.
func (r *reader) behind(p position, list ...message) position {
	p.Chats, p.Threads = grown(p.Chats), grown(p.Threads)
	for _, m := range list {
		if m.ts == "" || m.Chat.Group == "" && !r.knows(m.From.ID) {
			continue
		}
		p.Chats[m.chat] = max(p.Chats[m.chat], m.ts)
		if m.thread != "" {
			key := m.chat + "/" + m.thread
			p.Threads[key] = max(p.Threads[key], m.ts)
		}
	}
	for len(p.Threads) > mostThreads {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(p.Threads)), func(a, b string) int { return strings.Compare(p.Threads[a], p.Threads[b]) })
		delete(p.Threads, oldest)
	}
	return p
}

// grown is a copy of a map to write into.
func grown(m map[string]string) map[string]string {
	next := maps.Clone(m)
	if next == nil {
		next = map[string]string{}
	}
	return next
}

// knows tells whether hob listens to a person in private.
func (c *Channel) knows(person string) bool {
	return slices.Contains(c.owner(), person) || slices.Contains(c.Known, person) || slices.Contains(c.Public, person)
}

// commit hands messages on together with the position after them, and when Slack was last heard.
func (r *reader) commit(ctx context.Context, list []channels.Message, next position) error {
	if r.socket != nil {
		next.Heard = r.socket.heard.Load()
	}
	return r.Commit(ctx, list, next)
}

// stamp is a time as Slack writes it: they compare as texts, in this millennium and the next.
func stamp(t time.Time) string {
	return fmt.Sprintf("%010d.%06d", t.Unix(), t.Nanosecond()/1000)
}

// moment is the time that a stamp means; zero for what is none.
func moment(ts string) time.Time {
	seconds, micros, _ := strings.Cut(ts, ".")
	s, err := strconv.ParseInt(seconds, 10, 64)
	us, uerr := strconv.ParseInt(micros, 10, 64)
	if err != nil || uerr != nil {
		return time.Time{}
	}
	return time.Unix(s, us*1000)
}
