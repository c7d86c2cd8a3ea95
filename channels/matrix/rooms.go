package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"hob/channels"
	"hob/channels/wire"
)

// place is a room as its state is now.
type place struct {
	title   string
	secret  bool              // it is encrypted
	by      string            // who made it
	ajar    string            // why others can read along who are not in it; "" when they cannot
	members map[string]string // by id: join, invite or leave
	names   map[string]string // that they show
}

// alone is the one person with whom hob is in a room, invited or joined; "" when there are more, or none.
func (p place) alone(me string) string {
	other := ""
	for id, is := range p.members {
		if id == me || is != "join" && is != "invite" {
			continue
		}
		if other != "" {
			return ""
		}
		other = id
	}
	return other
}

// exposed says why a room is no private chat with the one person who is there with hob, "" when it is one: nobody else can read along or come in
// uninvited, and it is a room of that person's or of hob's own. host is who has invited hob, "" when that is not known.
func (p place) exposed(me, host string) string {
	other := p.alone(me)
	switch {
	case other == "":
		return "more people are in it"
	case p.ajar != "":
		return p.ajar
	case p.by != me && p.by != other && host != other:
		return "somebody else has made it, and " + other + " has not invited hob"
	}
	return ""
}

// look reads the state of a room.
func (c *Channel) look(ctx context.Context, room string) (place, error) {
	var list []json.RawMessage
	if err := c.api.call(ctx, http.MethodGet, path("v3", "rooms", room, "state"), nil, &list); err != nil {
		return place{}, fmt.Errorf("read the state of %s: %w", room, err)
	}
	p := place{members: map[string]string{}, names: map[string]string{}}
	for _, raw := range list {
		e, ok := read(raw)
		if !ok {
			continue
		}
		if who, m, ok := e.membership(); ok {
			p.members[who], p.names[who] = m.Membership, m.Name
		}
		p.setting(e)
	}
	return p, nil
}

// setting takes over what a state event says of a room ("Room events"). Who may join is said by a word of which there may be more some day: what
// is not known to need an invitation does not. Where nothing is said, one is needed, and only members read.
func (p *place) setting(e happening) {
	if e.Key == nil || *e.Key != "" && e.Type != "m.room.third_party_invite" {
		return
	}
	var says struct {
		Name    string `json:"name"`
		Rule    string `json:"join_rule"`
		Seen    string `json:"history_visibility"`
		Invited string `json:"display_name"` // somebody who has no id yet; taken back, the content is empty
	}
	if json.Unmarshal(e.Content, &says) != nil {
		says.Rule, says.Seen = "unreadable", "world_readable" // whatever it is about, it does not make a room safer
	}
	switch {
	case e.Type == "m.room.encryption":
		p.secret = true
	case e.Type == "m.room.name":
		p.title = says.Name
	case e.Type == "m.room.create":
		p.by = e.Sender
	case e.Type == "m.room.join_rules" && !slices.Contains([]string{"invite", "private", "knock"}, says.Rule):
		p.ajar = "others can join it without being invited"
	case e.Type == "m.room.history_visibility" && says.Seen == "world_readable":
		p.ajar = "anybody can read it"
	case e.Type == "m.room.third_party_invite" && says.Invited != "":
		p.ajar = "somebody else is invited to it"
	}
}

// locked tells whether a room is encrypted.
func (c *Channel) locked(ctx context.Context, room string) (bool, error) {
	err := c.api.call(ctx, http.MethodGet, path("v3", "rooms", room, "state", "m.room.encryption"), nil, nil)
	if wire.HasCode(err, "M_NOT_FOUND") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask whether %s is encrypted: %w", room, err)
	}
	return true, nil
}

// clear is an error where nothing may be written, because the room is encrypted.
func (c *Channel) clear(ctx context.Context, room string) error {
	secret, err := c.locked(ctx, room)
	if err == nil && secret {
		err = fmt.Errorf("the room %s is encrypted, and hob speaks no encryption: %w", room, channels.ErrPermanent)
	}
	return err
}

// self asks once which account the token belongs to.
func (c *Channel) self(ctx context.Context) (account, error) {
	c.mu.Lock()
	me := c.me
	c.mu.Unlock()
	if me.ID != "" {
		return me, nil
	}
	return c.whoami(ctx)
}

func (c *Channel) whoami(ctx context.Context) (account, error) {
	var me account
	if err := c.api.call(ctx, http.MethodGet, path("v3", "account", "whoami"), nil, &me); err != nil {
		return me, fmt.Errorf("ask for the account: %w", err)
	}
	if me.ID == "" {
		return me, fmt.Errorf("ask for the account: %w", unread(errors.New("no user_id")))
	}
	var profile struct {
		Name string `json:"displayname"`
	}
	err := c.api.call(ctx, http.MethodGet, path("v3", "profile", me.ID), nil, &profile)
	if err != nil && !wire.HasCode(err, "M_NOT_FOUND", "M_FORBIDDEN") {
		return me, fmt.Errorf("ask for the account's name: %w", err)
	}
	me.name = profile.Name
	c.mu.Lock()
	defer c.mu.Unlock()
	c.me = me
	return me, nil
}

// private is the room of the private chat with a person, where nobody else can read along and nothing is encrypted; "" when there is none.
// gone tells that the person has left the latest one.
func (c *Channel) private(ctx context.Context, me, person string) (room string, gone bool, err error) {
	rooms, err := privates{c}.of(ctx, me, person)
	if err != nil {
		return "", false, err
	}
	for i, room := range rooms {
		p, err := c.look(ctx, room)
		host, known := hosts{c}.of(room)
		fits := p.alone(me) == person && !p.secret && p.members[me] == "join"
		switch {
		case wire.HasCode(err, "M_FORBIDDEN", "M_NOT_FOUND"): // hob is not in it any more
			continue
		case err != nil:
			return "", false, err
		case fits && p.exposed(me, host) == "":
			return room, false, nil
		case fits && !known && p.exposed(me, person) == "":
			return "", false, fmt.Errorf("it is not read yet who has invited hob to the private chat with %s", person)
		case i == 0 && p.members[person] == "leave" && !p.secret:
			gone = true
		}
	}
	return "", gone, nil
}

// privates are which rooms are private chats with whom, as the homeserver keeps it (account data "m.direct").
type privates struct{ *Channel }

// of are those with a person, the latest first.
func (c privates) of(ctx context.Context, me, person string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(ctx, me); err != nil {
		return nil, err
	}
	return slices.Clone(c.directs[person]), nil
}

// read reads the account data, if it has not been read; mu is held.
func (c privates) read(ctx context.Context, me string) error {
	if c.directs != nil {
		return nil
	}
	var directs map[string][]string
	if err := c.api.data(ctx, me, "m.direct", &directs); err != nil {
		return fmt.Errorf("read which rooms are private chats: %w", err)
	}
	if directs == nil {
		directs = map[string][]string{}
	}
	c.directs = directs
	return nil
}

// prefer makes a room the latest private chat with a person: answers go there.
func (c privates) prefer(ctx context.Context, me, person, room string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(ctx, me); err != nil {
		return err
	}
	rooms := c.directs[person]
	if len(rooms) > 0 && rooms[0] == room {
		return nil
	}
	rest := slices.DeleteFunc(slices.Clone(rooms), func(r string) bool { return r == room })
	c.directs[person] = append([]string{room}, rest...)
	if err := c.api.keep(ctx, me, "m.direct", c.directs); err != nil {
		c.log.Warn("the room of a private chat is not noted at the homeserver", "channel", c.name, "room", room, "err", err)
	}
	return nil
}

// room is the room of a target: for a person the private chat, which is begun where there is none.
func (c *Channel) room(ctx context.Context, at target) (string, error) {
	if at.person == "" {
		return at.room, c.clear(ctx, at.room)
	}
	me, err := c.self(ctx)
	if err != nil {
		return "", err
	}
	room, gone, err := c.private(ctx, me.ID, at.person)
	switch {
	case err != nil || room != "":
		return room, err
	case gone:
		return "", fmt.Errorf("%s has left the private chat with hob, and would have to invite %s again: %w", at.person, me.ID, channels.ErrPermanent)
	case at.person == me.ID:
		return "", fmt.Errorf("%s is hob itself: %w", at.person, channels.ErrPermanent)
	}
	return createdRooms{c}.begin(ctx, me.ID, at.person)
}
