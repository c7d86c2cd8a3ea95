package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"hob/channels"
	"hob/channels/wire"
)

// createdRooms are the rooms that hob creates. Some homeservers encrypt each new room, even if the client
// does not ask for it (Synapse: encryption_enabled_by_default_for_room_type). hob cannot use such a room, and
// the next one would be the same, so hob creates no more rooms for that person. The list is stored as account
// data, so that it survives a restart.
type createdRooms struct{ channel *Channel }

// madeKind is the type of account data that lists created rooms not yet known to be usable, by person.
const madeKind = "hob.made_rooms"

// begin creates a room for a private chat and invites the person. The room is recorded before its state is
// checked: a failed check must not lead to a second room.
func (c createdRooms) begin(ctx context.Context, me, person string) (string, error) {
	if err := c.earlier(ctx, me, person); err != nil {
		return "", err
	}
	var made struct {
		Room string `json:"room_id"`
	}
	err := c.channel.api.call(ctx, http.MethodPost, path("v3", "createRoom"), map[string]any{
		"preset": "trusted_private_chat", "is_direct": true, "invite": []string{person},
	}, &made)
	if err == nil && made.Room == "" {
		err = errors.New("the homeserver names no room")
	}
	if err != nil {
		return "", fmt.Errorf("begin a private chat with %s: %w", person, err)
	}
	// Recorded before the check, so that a crash here does not create another room.
	c.note(ctx, me, person, made.Room)
	if err := privates(c).prefer(ctx, me, person, made.Room); err != nil {
		return "", err
	}
	return made.Room, c.check(ctx, me, person, made.Room)
}

// earlier returns an error if no room is created for a person, because the last one is encrypted or cannot be
// checked.
func (c createdRooms) earlier(ctx context.Context, me, person string) error {
	room, err := c.noted(ctx, me, person)
	if err != nil || room == "" {
		return err
	}
	err = c.check(ctx, me, person, room)
	if wire.HasCode(err, "M_FORBIDDEN", "M_NOT_FOUND") {
		return encryptedError(me, person) // hob left the room because it was encrypted
	}
	return err
}

// check returns an error if a created room is encrypted. hob then withdraws the invitation and leaves.
func (c createdRooms) check(ctx context.Context, me, person, room string) error {
	p, err := c.channel.look(ctx, room)
	if err != nil {
		return err
	}
	if !p.encrypted {
		c.note(ctx, me, person, "")
		return nil
	}
	if p.members[me] == "join" {
		c.leave(ctx, person, room)
	}
	return encryptedError(me, person)
}

// leave withdraws the invitation and leaves a room. Errors are only logged, because the room is not used any
// more.
func (c createdRooms) leave(ctx context.Context, person, room string) {
	for _, step := range []struct {
		what string
		body map[string]any
	}{{"kick", map[string]any{"user_id": person}}, {"leave", map[string]any{}}} {
		if err := c.channel.api.call(ctx, http.MethodPost, path("v3", "rooms", room, step.what), step.body, nil); err != nil {
			c.channel.log.Warn("an encrypted room could not be left", "channel", c.channel.name, "room", room, "step", step.what, "err", err)
		}
	}
}

// noted returns the recorded room of a person, "" if there is none.
func (c createdRooms) noted(ctx context.Context, me, person string) (string, error) {
	c.channel.mu.Lock()
	defer c.channel.mu.Unlock()
	if c.channel.made == nil {
		var made map[string]string
		if err := c.channel.api.data(ctx, me, madeKind, &made); err != nil {
			return "", fmt.Errorf("read which rooms were made: %w", err)
		}
		if made == nil {
			made = map[string]string{}
		}
		c.channel.made = made
	}
	return c.channel.made[person], nil
}

// note records a room for a person ("" removes it), in memory and as account data. The data was read before.
func (c createdRooms) note(ctx context.Context, me, person, room string) {
	c.channel.mu.Lock()
	defer c.channel.mu.Unlock()
	if c.channel.made[person] = room; room == "" {
		delete(c.channel.made, person)
	}
	if err := c.channel.api.keep(ctx, me, madeKind, c.channel.made); err != nil {
		c.channel.log.Warn("a created room could not be recorded at the homeserver", "channel", c.channel.name, "room", room, "err", err)
	}
}

// encryptedError says why no room is created for a person.
func encryptedError(me, person string) error {
	return fmt.Errorf("the homeserver encrypts the rooms that hob creates, and hob does not support encryption: let %s begin a private chat with %s without it; "+
		"if the homeserver encrypts all new rooms, switch that off there first (Synapse: encryption_enabled_by_default_for_room_type): %w", person, me, channels.ErrPermanent)
}
