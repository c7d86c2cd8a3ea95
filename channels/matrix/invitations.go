package matrix

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"hob/channels/wire"
)

// enter joins the listed rooms that hob is not in, if they are open to it. For others, hob needs an
// invitation.
func (r *reader) enter(ctx context.Context) error {
	if len(r.channel.Groups) == 0 {
		return nil
	}
	in, err := r.channel.rooms(ctx)
	if err != nil {
		return err
	}
	for _, room := range r.channel.Groups {
		if slices.Contains(in, room) {
			continue
		}
		if _, err := r.channel.join(ctx, room); err != nil {
			r.channel.log.Warn("hob is not in a room that is listed: invite it", "channel", r.channel.name, "room", room, "account", r.me.ID, "err", err)
		}
	}
	return nil
}

// rooms lists the rooms that the account has joined.
func (c *Channel) rooms(ctx context.Context) ([]string, error) {
	var in struct {
		Rooms []string `json:"joined_rooms"`
	}
	err := c.api.call(ctx, http.MethodGet, path("v3", "joined_rooms"), nil, &in)
	return in.Rooms, err
}

// join joins a room. settled: another try would give the same result.
func (c *Channel) join(ctx context.Context, room string) (settled bool, err error) {
	err = c.api.call(ctx, http.MethodPost, path("v3", "rooms", room, "join"), map[string]any{}, nil)
	return err == nil || wire.HasStatus(err, http.StatusForbidden, http.StatusNotFound), err
}

// invitations processes all open invitations, those of a sync and earlier ones. It accepts invitations by the
// owner, to listed rooms, and to private chats with listed people. The others stay unanswered. inviters
// records who invited hob to the rooms that it is in.
func (r *reader) invitations(ctx context.Context, news *synced) (open map[string]invite, inviters map[string]string) {
	// Who invited hob decides later whether a room counts as a private chat.
	inviters = r.me.invitedBy(r.source.Pos.Hosts, news)
	open = maps.Clone(r.source.Pos.Invited)
	if open == nil {
		open = map[string]invite{}
	}
	pairing := (len(open) > 0 || len(news.Rooms.Invite) > 0) && r.channel.pairing(ctx)
	for room := range news.Rooms.Join {
		delete(open, room)
	}
	for room := range news.Rooms.Leave {
		delete(open, room)
	}
	for room, i := range news.Rooms.Invite {
		if by, ok := r.me.invitation(i); ok && (len(open) < maxInvitations || r.channel.welcomes(room, by, pairing)) {
			open[room] = by
		}
	}
	for room, by := range open {
		if !r.channel.welcomes(room, by, pairing) {
			continue
		}
		settled, err := r.channel.join(ctx, room)
		if err != nil {
			r.channel.log.Warn("an invitation could not be accepted", "channel", r.channel.name, "room", room, "by", by.By, "again", !settled, "err", err)
		}
		if err == nil {
			inviters[room] = by.By
		}
		if settled {
			delete(open, room)
		}
	}
	if len(open) == 0 {
		open = nil
	}
	return open, inviters
}

// invitedBy updates who invited hob to which room, from the invitations in the timelines of a sync.
func (a account) invitedBy(before map[string]string, news *synced) map[string]string {
	list := map[string]string{}
	maps.Copy(list, before)
	for room := range news.Rooms.Leave {
		delete(list, room)
	}
	for room, j := range news.Rooms.Join {
		for _, raw := range slices.Concat(j.State.Events, j.Timeline.Events) {
			e, _ := read(raw)
			if who, m, ok := e.membership(); ok && who == a.ID && m.Membership == "invite" {
				list[room] = e.Sender
			}
		}
	}
	return list
}

// inviters records who invited hob to the rooms that it is in, as far as hob saw the invitation.
type inviters struct{ channel *Channel }

// note replaces the records.
func (c inviters) note(list map[string]string) {
	c.channel.mu.Lock()
	defer c.channel.mu.Unlock()
	c.channel.invited = map[string]string{}
	maps.Copy(c.channel.invited, list)
}

// of returns who invited hob to a room, "" if unknown; known is false until the cursor was read.
func (c inviters) of(room string) (by string, known bool) {
	c.channel.mu.Lock()
	defer c.channel.mu.Unlock()
	return c.channel.invited[room], c.channel.invited != nil
}

// invitation returns who invited hob.
func (a account) invitation(i invited) (invite, bool) {
	for _, raw := range i.State.Events {
		e, ok := read(raw)
		if !ok {
			continue
		}
		if who, m, ok := e.membership(); ok && who == a.ID && m.Membership == "invite" {
			return invite{By: e.Sender, Direct: m.Direct}, true
		}
	}
	return invite{}, false
}

// welcomes reports whether an invitation is accepted. While a pairing is open, anybody may begin a private
// chat, because the owner is still unknown and must write the code there. An invitation that is not accepted
// by the end of the pairing stays open.
func (c *Channel) welcomes(room string, by invite, pairing bool) bool {
	listed := slices.Contains(c.Known, by.By) || slices.Contains(c.Public, by.By)
	return slices.Contains(c.Groups, room) || slices.Contains(c.owner(), by.By) || by.Direct && (listed || pairing)
}

// pairing reports whether a pairing is open.
func (c *Channel) pairing(ctx context.Context) bool {
	if c.pairs == nil {
		return false
	}
	open, err := c.pairs(ctx)
	if err != nil {
		c.log.Warn("the state of the pairing is unknown: invitations by strangers are not accepted", "channel", c.name, "err", err)
	}
	return open && err == nil
}
