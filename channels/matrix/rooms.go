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

// place is the current state of a room.
type place struct {
	title     string
	encrypted bool              // encrypted
	by        string            // creator
	openTo    string            // why people outside the room can read along; "" if they cannot
	members   map[string]string // membership by id: join, invite or leave
	names     map[string]string // display names
}

// alone returns the only other person in a room, joined or invited; "" if there are more, or none.
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

// exposed says why a room is not a private chat with its only other person, "" if it is one. In a private
// chat nobody else can read along or join uninvited, and hob or that person created the room. host is who
// invited hob, "" if unknown.
func (p place) exposed(me, host string) string {
	other := p.alone(me)
	switch {
	case other == "":
		return "more people are in it"
	case p.openTo != "":
		return p.openTo
	case p.by != me && p.by != other && host != other:
		return "somebody else created it, and " + other + " has not invited hob"
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

// setting applies a state event ("Room events"). The list of join rules may grow, so that an unknown rule
// counts as open. The defaults are safe: without a rule an invitation is needed, and only members can read.
func (p *place) setting(e roomEvent) {
	if e.Key == nil || *e.Key != "" && e.Type != "m.room.third_party_invite" {
		return
	}
	var says struct {
		Name    string `json:"name"`
		Rule    string `json:"join_rule"`
		Seen    string `json:"history_visibility"`
		Invited string `json:"display_name"` // an invitation to somebody without an id; empty content withdraws it
	}
	if json.Unmarshal(e.Content, &says) != nil {
		says.Rule, says.Seen = "unreadable", "world_readable" // a malformed event never makes a room safer
	}
	switch {
	case e.Type == "m.room.encryption":
		p.encrypted = true
	case e.Type == "m.room.name":
		p.title = says.Name
	case e.Type == "m.room.create":
		p.by = e.Sender
	case e.Type == "m.room.join_rules" && !slices.Contains([]string{"invite", "private", "knock"}, says.Rule):
		p.openTo = "others can join it without being invited"
	case e.Type == "m.room.history_visibility" && says.Seen == "world_readable":
		p.openTo = "anybody can read it"
	case e.Type == "m.room.third_party_invite" && says.Invited != "":
		p.openTo = "somebody else is invited to it"
	}
}

// encrypted reports whether a room is encrypted.
func (c *Channel) encrypted(ctx context.Context, room string) (bool, error) {
	err := c.api.call(ctx, http.MethodGet, path("v3", "rooms", room, "state", "m.room.encryption"), nil, nil)
	if wire.HasCode(err, "M_NOT_FOUND") {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask whether %s is encrypted: %w", room, err)
	}
	return true, nil
}

// checkUnencrypted returns an error if a room is encrypted, so that nothing may be sent there.
func (c *Channel) checkUnencrypted(ctx context.Context, room string) error {
	secret, err := c.encrypted(ctx, room)
	if err == nil && secret {
		err = fmt.Errorf("the room %s is encrypted, and hob does not support encryption: %w", room, channels.ErrPermanent)
	}
	return err
}

// self returns the account of the token, and asks once.
func (c *Channel) self(ctx context.Context) (account, error) {
	c.mu.Lock()
	me := c.me
	c.mu.Unlock()
	if me.ID != "" {
		return me, nil
	}
	return c.whoami(ctx)
}

// whoami asks for the account of the token, and for its display name, by which people may mention it.
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

// private returns the room of the private chat with a person, "" if there is none. Nobody else can read along
// there, and it is not encrypted. gone: the person has left the newest such room.
func (c *Channel) private(ctx context.Context, me, person string) (room string, gone bool, err error) {
	rooms, err := privates{c}.of(ctx, me, person)
	if err != nil {
		return "", false, err
	}
	// The newest usable room wins.
	for i, room := range rooms {
		p, err := c.look(ctx, room)
		host, known := inviters{c}.of(room)
		fits := p.alone(me) == person && !p.encrypted && p.members[me] == "join"
		switch {
		case wire.HasCode(err, "M_FORBIDDEN", "M_NOT_FOUND"): // hob is no longer in it
			continue
		case err != nil:
			return "", false, err
		case fits && p.exposed(me, host) == "":
			return room, false, nil
		case fits && !known && p.exposed(me, person) == "":
			return "", false, fmt.Errorf("it is not known yet who invited hob to the private chat with %s", person)
		case i == 0 && p.members[person] == "leave" && !p.encrypted:
			gone = true
		}
	}
	return "", gone, nil
}

// privates is the list of private chats by person, as the homeserver stores it (account data "m.direct").
type privates struct{ channel *Channel }

// of lists the rooms with a person, the newest first.
func (c privates) of(ctx context.Context, me, person string) ([]string, error) {
	c.channel.mu.Lock()
	defer c.channel.mu.Unlock()
	if err := c.read(ctx, me); err != nil {
		return nil, err
	}
	return slices.Clone(c.channel.directs[person]), nil
}

// read reads the account data if necessary. The caller holds mu.
func (c privates) read(ctx context.Context, me string) error {
	if c.channel.directs != nil {
		return nil
	}
	var directs map[string][]string
	if err := c.channel.api.data(ctx, me, "m.direct", &directs); err != nil {
		return fmt.Errorf("read which rooms are private chats: %w", err)
	}
	if directs == nil {
		directs = map[string][]string{}
	}
	c.channel.directs = directs
	return nil
}

// prefer makes a room the newest private chat with a person, so that answers go there.
func (c privates) prefer(ctx context.Context, me, person, room string) error {
	c.channel.mu.Lock()
	defer c.channel.mu.Unlock()
	if err := c.read(ctx, me); err != nil {
		return err
	}
	rooms := c.channel.directs[person]
	if len(rooms) > 0 && rooms[0] == room {
		return nil
	}
	// Other clients of the account use this list too, so its other entries are kept.
	rest := slices.DeleteFunc(slices.Clone(rooms), func(r string) bool { return r == room })
	c.channel.directs[person] = append([]string{room}, rest...)
	if err := c.channel.api.keep(ctx, me, "m.direct", c.channel.directs); err != nil {
		c.channel.log.Warn("the room of a private chat could not be recorded at the homeserver", "channel", c.channel.name, "room", room, "err", err)
	}
	return nil
}

// room returns the room of a target. A missing private chat is created.
func (c *Channel) room(ctx context.Context, at target) (string, error) {
	if at.person == "" {
		return at.room, c.checkUnencrypted(ctx, at.room)
	}
	me, err := c.self(ctx)
	if err != nil {
		return "", err
	}
	room, gone, err := c.private(ctx, me.ID, at.person)
	switch {
	case err != nil || room != "":
		return room, err
	// A person who left a chat does not want another one, so hob creates none.
	case gone:
		return "", fmt.Errorf("%s has left the private chat with hob, and would have to invite %s again: %w", at.person, me.ID, channels.ErrPermanent)
	case at.person == me.ID:
		return "", fmt.Errorf("%s is hob itself: %w", at.person, channels.ErrPermanent)
	}
	return createdRooms{c}.begin(ctx, me.ID, at.person)
}
