package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"hob/channels"
	"hob/channels/wire"
)

// createdRooms are the rooms that hob makes. Some homeservers encrypt each new room, whatever they are asked for (Synapse:
// encryption_enabled_by_default_for_room_type). Such a room is of no use, and the next one would not be either: for that person none is made
// again. The homeserver keeps the note of it, so that it holds over a restart.
type createdRooms struct{ *Channel }

// madeKind is the type of account data with the rooms that hob has made and does not know to be of use, by person.
const madeKind = "hob.made_rooms"

// begin makes a room for a private chat, and invites the person. It is noted before it is looked at: a look that fails must not lead to a second
// room.
func (c createdRooms) begin(ctx context.Context, me, person string) (string, error) {
	if err := c.earlier(ctx, me, person); err != nil {
		return "", err
	}
	var made struct {
		Room string `json:"room_id"`
	}
	err := c.api.call(ctx, http.MethodPost, path("v3", "createRoom"), map[string]any{
		"preset": "trusted_private_chat", "is_direct": true, "invite": []string{person},
	}, &made)
	if err == nil && made.Room == "" {
		err = errors.New("the homeserver names no room")
	}
	if err != nil {
		return "", fmt.Errorf("begin a private chat with %s: %w", person, err)
	}
	c.note(ctx, me, person, made.Room)
	if err := privates(c).prefer(ctx, me, person, made.Room); err != nil {
		return "", err
	}
	return made.Room, c.check(ctx, me, person, made.Room)
}

// earlier is an error where no room is made for a person, because the last one is encrypted or cannot be looked at.
func (c createdRooms) earlier(ctx context.Context, me, person string) error {
	room, err := c.noted(ctx, me, person)
	if err != nil || room == "" {
		return err
	}
	err = c.check(ctx, me, person, room)
	if wire.HasCode(err, "M_FORBIDDEN", "M_NOT_FOUND") {
		return sealed(me, person) // it was left for that reason
	}
	return err
}

// check is an error where a room that was made for a person came out encrypted: the invitation is taken back then, and hob leaves.
func (c createdRooms) check(ctx context.Context, me, person, room string) error {
	p, err := c.look(ctx, room)
	if err != nil {
		return err
	}
	if !p.secret {
		c.note(ctx, me, person, "")
		return nil
	}
	if p.members[me] == "join" {
		c.leave(ctx, person, room)
	}
	return sealed(me, person)
}

// leave gives a room up.
func (c createdRooms) leave(ctx context.Context, person, room string) {
	for _, step := range []struct {
		what string
		body map[string]any
	}{{"kick", map[string]any{"user_id": person}}, {"leave", map[string]any{}}} {
		if err := c.api.call(ctx, http.MethodPost, path("v3", "rooms", room, step.what), step.body, nil); err != nil {
			c.log.Warn("an encrypted room is not given up", "channel", c.name, "room", room, "step", step.what, "err", err)
		}
	}
}

// noted is the room that is noted for a person, "" when there is none.
func (c createdRooms) noted(ctx context.Context, me, person string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		var made map[string]string
		if err := c.api.data(ctx, me, madeKind, &made); err != nil {
			return "", fmt.Errorf("read which rooms were made: %w", err)
		}
		if made == nil {
			made = map[string]string{}
		}
		c.made = made
	}
	return c.made[person], nil
}

// note notes a room for a person, "" for none, here and at the homeserver. What is noted was read before.
func (c createdRooms) note(ctx context.Context, me, person, room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made[person] = room; room == "" {
		delete(c.made, person)
	}
	if err := c.api.keep(ctx, me, madeKind, c.made); err != nil {
		c.log.Warn("a room that was made is not noted at the homeserver", "channel", c.name, "room", room, "err", err)
	}
}

// sealed says why no room is made for a person.
func sealed(me, person string) error {
	return fmt.Errorf("the homeserver encrypts the rooms that hob makes, and hob speaks no encryption: let %s begin a private chat with %s without it; "+
		"where the homeserver encrypts all new rooms, that has to be switched off there first (Synapse: encryption_enabled_by_default_for_room_type): %w", person, me, channels.ErrPermanent)
}
