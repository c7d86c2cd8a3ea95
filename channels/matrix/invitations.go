package matrix

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"hob/channels/wire"
)

// enter joins the listed rooms that hob is not in, as far as they are open to it; else an invitation is needed.
func (r *reader) enter(ctx context.Context) error {
	if len(r.Groups) == 0 {
		return nil
	}
	in, err := r.rooms(ctx)
	if err != nil {
		return err
	}
	for _, room := range r.Groups {
		if slices.Contains(in, room) {
			continue
		}
		if _, err := r.join(ctx, room); err != nil {
			r.log.Warn("hob is not in a room that is listed: invite it", "channel", r.name, "room", room, "account", r.me.ID, "err", err)
		}
	}
	return nil
}

// rooms are those that the account is in.
func (c *Channel) rooms(ctx context.Context) ([]string, error) {
	var in struct {
		Rooms []string `json:"joined_rooms"`
	}
	err := c.api.call(ctx, http.MethodGet, path("v3", "joined_rooms"), nil, &in)
	return in.Rooms, err
}

// join goes into a room. settled: asking again would bring nothing else.
func (c *Channel) join(ctx context.Context, room string) (settled bool, err error) {
	err = c.api.call(ctx, http.MethodPost, path("v3", "rooms", room, "join"), map[string]any{}, nil)
	return err == nil || wire.HasStatus(err, http.StatusForbidden, http.StatusNotFound), err
}

// invitations goes through all invitations, those of a sync and earlier ones: it accepts those of the owner, those to rooms that are listed, and those to
// private chats with people who are. The others stay as they are, without an answer. inviters are who has invited hob to the rooms that it is in.
func (r *reader) invitations(ctx context.Context, news *synced) (open map[string]invite, inviters map[string]string) {
	inviters = r.me.invitedBy(r.Pos.Hosts, news)
	open = maps.Clone(r.Pos.Invited)
	if open == nil {
		open = map[string]invite{}
	}
	pairing := (len(open) > 0 || len(news.Rooms.Invite) > 0) && r.pairing(ctx)
	for room := range news.Rooms.Join {
		delete(open, room)
	}
	for room := range news.Rooms.Leave {
		delete(open, room)
	}
	for room, i := range news.Rooms.Invite {
		if by, ok := r.me.invitation(i); ok && (len(open) < maxInvitations || r.welcomes(room, by, pairing)) {
			open[room] = by
		}
	}
	for room, by := range open {
		if !r.welcomes(room, by, pairing) {
			continue
		}
		settled, err := r.join(ctx, room)
		if err != nil {
			r.log.Warn("an invitation could not be accepted", "channel", r.name, "room", room, "by", by.By, "again", !settled, "err", err)
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

// invitedBy are who has invited hob to the rooms that it is in, by what was known and the invitations that stand in the news of those rooms.
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

// hosts are who has invited hob to the rooms that it is in, as far as it was there to see.
type hosts struct{ *Channel }

// note takes over what is known.
func (c hosts) note(list map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.invited = map[string]string{}
	maps.Copy(c.invited, list)
}

// of is who has invited hob to a room, "" when it was not there to see; known is false while nothing is read yet.
func (c hosts) of(room string) (by string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.invited[room], c.invited != nil
}

// invitation reads who has invited hob.
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

// welcomes tells whether an invitation is accepted. While a pairing is open, anybody may begin a private chat: the owner is nobody yet, and the code is
// written there. An invitation of that time that has not been accepted when the pairing ends stays as it is.
func (c *Channel) welcomes(room string, by invite, pairing bool) bool {
	listed := slices.Contains(c.Known, by.By) || slices.Contains(c.Public, by.By)
	return slices.Contains(c.Groups, room) || slices.Contains(c.owner(), by.By) || by.Direct && (listed || pairing)
}

// pairing tells whether a pairing is open.
func (c *Channel) pairing(ctx context.Context) bool {
	if c.pairs == nil {
		return false
	}
	open, err := c.pairs(ctx)
	if err != nil {
		c.log.Warn("whether somebody is being paired is not known: strangers are not let in", "channel", c.name, "err", err)
	}
	return open && err == nil
}
