package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"hob/channels"
	"hob/channels/poll"
	"hob/daemon/sys"
)

// position is how far a bot's messages were read.
type position struct {
	Session string            `json:"session,omitempty"` // of the gateway; "": no session can be resumed
	Gateway string            `json:"gateway,omitempty"` // where the session can be resumed
	Seq     int64             `json:"seq,omitempty"`     // sequence number of the session's last event
	Heard   int64             `json:"heard"`             // until then nothing is missing, in Unix seconds of hob's clock; 0: never connected
	Newest  map[string]string `json:"newest,omitempty"`  // the newest message of each channel
	Directs map[string]string `json:"directs,omitempty"` // channels of private chats with people whom hob listens to, by person
	Refused []string          `json:"refused,omitempty"` // unreadable channels that were reported to the owner
}

// reader is the state of one Run.
type reader struct {
	channel *Channel
	source  *poll.Source[position] // its Pos is newer than the stored position; the next commit stores it
	begun   bool                   // the session is current: it has begun, or was resumed with all missed events
	places  map[string]place
	decoder decoder
}

// Run receives until ctx ends. It returns an error if Discord cannot be reached or refuses, or if the inbox
// cannot commit.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	return poll.Run(ctx, c.api.http, func(ctx context.Context) error { return c.receive(ctx, in) }, statuses().Received)
}

// receive opens the source, then connects again and again as long as the gateway asks for new connections.
func (c *Channel) receive(ctx context.Context, in channels.Inbox) error {
	r := &reader{channel: c, places: map[string]place{}, decoder: decoder{web: &c.api}}
	if err := c.api.call(ctx, http.MethodGet, "/users/@me", nil, &r.decoder.me); err != nil {
		return err
	}
	if err := r.open(ctx, in); err != nil {
		return err
	}
	for {
		began := r.channel.clock.Mono()
		if err := r.runConnection(ctx); !errors.Is(err, errAgain) {
			return err
		}
		if r.channel.clock.Mono()-began < shortLife { // identify needs one to five seconds before it ("Invalid Session")
			sys.Sleep(ctx, time.Second+time.Duration(r.channel.clock.Wall().UnixNano())%(4*time.Second))
		}
	}
}

// open opens the source of the bot. Without a stored position hob starts now: older messages are not read.
func (r *reader) open(ctx context.Context, in channels.Inbox) (err error) {
	who := poll.Account{Channel: r.channel.name, Identity: r.decoder.me.ID, Log: r.channel.log}
	if r.source, err = poll.Open(ctx, in, who, func(p position) time.Time { return time.Unix(p.Heard, 0) }); err != nil {
		return err
	}
	if r.source.Pos.Newest == nil {
		r.source.Pos.Newest = map[string]string{}
	}
	if r.source.Pos.Directs == nil {
		r.source.Pos.Directs = map[string]string{}
	}
	if r.source.Pos.Heard != 0 {
		return nil
	}
	r.source.Pos.Heard = r.channel.clock.Wall().Unix()
	return r.commit(ctx, nil)
}

// commit hands messages to the inbox with the position after them.
func (r *reader) commit(ctx context.Context, list []channels.Message) error {
	if r.begun {
		r.source.Pos.Heard = r.channel.clock.Wall().Unix()
	}
	return r.source.Commit(ctx, list, r.source.Pos)
}

// frame handles one frame of the gateway. The sequence number is acknowledged by the next heartbeat, after
// the commit.
func (r *reader) frame(ctx context.Context, l *gatewayConn, f frame) error {
	switch f.Op {
	case opDispatch:
		if f.Seq > 0 {
			r.source.Pos.Seq = f.Seq // stored with the commit of the event
		}
		// The number is stored before the next heartbeat acknowledges it: after a failed commit, the resumed
		// session delivers the event again.
		if err := r.dispatch(ctx, f); err != nil {
			return err
		}
		l.seq.Store(r.source.Pos.Seq)
	case opHeartbeat:
		return l.heartbeat(ctx)
	case opAck:
		l.acked.Store(true)
		if r.begun && r.source.Due(time.Unix(r.channel.clock.Wall().Unix(), 0)) {
			return r.commit(ctx, nil)
		}
	case opReconnect:
		return errAgain
	// The payload says whether the session can be resumed ("Invalid Session").
	case opInvalid:
		if again := false; json.Unmarshal(f.Data, &again) == nil && again {
			return errAgain
		}
		return r.dropSession(ctx)
	}
	return nil
}

// dispatch handles an event. A malformed event is logged and skipped, because it would be the same each time.
func (r *reader) dispatch(ctx context.Context, f frame) error {
	var err error
	switch f.Type {
	case "READY":
		var s ready
		if err = json.Unmarshal(f.Data, &s); err == nil {
			return r.begin(ctx, s)
		}
	case "RESUMED":
		r.begun = true
		return r.commit(ctx, nil)
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		var m message
		if err = json.Unmarshal(f.Data, &m); err == nil {
			return r.messageEvent(ctx, &m, f.Type == "MESSAGE_UPDATE")
		}
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		var d deleted
		if err = json.Unmarshal(f.Data, &d); err == nil {
			return r.deleteEvent(ctx, d)
		}
	case "INTERACTION_CREATE":
		var p pressed
		if err = json.Unmarshal(f.Data, &p); err == nil {
			return r.buttonEvent(ctx, p)
		}
	}
	if err != nil {
		r.channel.log.Warn("discord event skipped", "channel", r.channel.name, "event", f.Type, "err", err)
	}
	return nil
}

// begin takes over a new session. It delivers events from now on; what arrived since the first catch-up is
// read from the history first.
func (r *reader) begin(ctx context.Context, s ready) error {
	if err := r.catchUp(ctx); err != nil {
		return err
	}
	r.source.Pos.Session, r.source.Pos.Gateway = s.Session, s.Gateway
	r.begun = true
	return r.commit(ctx, nil)
}

// messageEvent handles a new or edited message. Discord also reports a change when it adds a link preview; that
// one has no edit time.
func (r *reader) messageEvent(ctx context.Context, m *message, edited bool) error {
	if m.Author == nil || edited && m.Edited == nil {
		return nil
	}
	at, err := r.place(ctx, m)
	if err != nil || !at.ok {
		return err
	}
	out := r.decoder.message(m, at)
	if edited {
		out.Edits = out.ID
		out.ID += fmt.Sprintf("/%d", m.Edited.UnixMilli()) // the same for each event of one edit
	} else {
		r.follow(m, at)
	}
	return r.commit(ctx, []channels.Message{out})
}

// follow stores the position in a channel that is read again after a gap.
func (r *reader) follow(m *message, at place) {
	if at.chat.Group == "" {
		if !slices.Contains(r.people(), m.Author.ID) {
			return
		}
		r.source.Pos.Directs[m.Author.ID] = m.Channel
	}
	r.source.Pos.Newest[m.Channel] = newer(r.source.Pos.Newest[m.Channel], m.ID)
}

// people returns the ids whose private chats are read after a gap.
func (r *reader) people() []string {
	return slices.Concat(r.channel.owner(), r.channel.Known, r.channel.Public)
}

// deleteEvent handles deletions. The author is known for the newest messages, and for private chats.
func (r *reader) deleteEvent(ctx context.Context, d deleted) error {
	var list []channels.Message
	for _, m := range append(d.IDs, d.ID) {
		by, ok := r.decoder.known.get(m)
		if !ok {
			by, ok = r.partner(d.Channel)
		}
		if m != "" && ok {
			list = append(list, channels.Message{ID: id(d.Channel, m) + "/deleted", From: by.from, Chat: by.chat, Mentioned: true, Deletes: id(d.Channel, m)})
		}
	}
	if len(list) == 0 {
		return nil
	}
	return r.commit(ctx, list)
}

// partner returns the other person in a private chat.
func (r *reader) partner(channel string) (author, bool) {
	for person, direct := range r.source.Pos.Directs {
		if direct == channel {
			return author{channels.Person{ID: person}, channels.Chat{ID: person}}, true
		}
	}
	return author{}, false
}

// buttonEvent handles the press of a button. The acknowledgement is sent after the commit ("Responding to an
// Interaction").
func (r *reader) buttonEvent(ctx context.Context, p pressed) error {
	who, nick := p.User, ""
	if who == nil {
		who, nick = p.Member.User, p.Member.Nick
	}
	// In a private chat Discord sends the user, in a group the member.
	if p.Type != typeComponent || who == nil || p.ID == "" {
		return nil
	}
	m := &message{ID: p.ID, Channel: p.Channel, Guild: p.Guild, Author: who, Member: member{nick}, Calls: []user{r.decoder.me}}
	at, err := r.place(ctx, m)
	if err != nil || !at.ok {
		return err
	}
	out := channels.Message{ID: "pressed/" + p.ID, From: r.decoder.person(m), Chat: at.chat, Choice: p.Data.ID, Mentioned: true}
	if p.Message.ID != "" {
		out.ReplyTo = id(p.Channel, p.Message.ID)
	}
	if err := r.commit(ctx, []channels.Message{out}); err != nil {
		return err
	}
	err = r.channel.api.call(ctx, http.MethodPost, "/interactions/"+escape(p.ID)+"/"+escape(p.Token)+"/callback", map[string]int{"type": deferUpdate}, nil)
	if err != nil {
		r.channel.log.Debug("a button waits for longer", "channel", r.channel.name, "err", err)
	}
	return nil
}
