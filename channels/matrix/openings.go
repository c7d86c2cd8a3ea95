package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"hob/channels"
)

// openings are the rooms that hob makes. Some homeservers encrypt each new room, whatever they are asked for (Synapse:
// encryption_enabled_by_default_for_room_type). Such a room is of no use, and the next one would not be either: for that person none is made
// again. The homeserver keeps for whom, so that it holds over a restart.
type openings struct{ *Channel }

// sealedKind is the type of account data that says for whom no room is made: the rooms that came out encrypted, by person.
const sealedKind = "hob.sealed_rooms"

// begin makes a room for a private chat, and invites the person. The room is noted before it is looked at: a look that fails must not lead to a
// second room.
func (c openings) begin(ctx context.Context, me, person string) (string, error) {
	switch tried, err := c.tried(ctx, me, person); {
	case err != nil:
		return "", err
	case tried:
		return "", sealed(me, person)
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
	if err := privates(c).prefer(ctx, me, person, made.Room); err != nil {
		return "", err
	}
	switch secret, err := c.locked(ctx, made.Room); {
	case err != nil:
		return "", err
	case secret:
		return "", c.close(ctx, me, person, made.Room)
	}
	return made.Room, nil
}

// tried tells whether a room for a person came out encrypted.
func (c openings) tried(ctx context.Context, me, person string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(ctx, me); err != nil {
		return false, err
	}
	return c.sealed[person] != "", nil
}

// read reads the account data, if it has not been read; mu is held.
func (c openings) read(ctx context.Context, me string) error {
	if c.sealed != nil {
		return nil
	}
	var list map[string]string
	if err := c.api.data(ctx, me, sealedKind, &list); err != nil {
		return fmt.Errorf("read for whom no room is made: %w", err)
	}
	if list == nil {
		list = map[string]string{}
	}
	c.sealed = list
	return nil
}

// close notes that a room came out encrypted, takes the invitation back and leaves. The error, which there always is, says why.
func (c openings) close(ctx context.Context, me, person, room string) error {
	if err := c.note(ctx, me, person, room); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		body map[string]any
	}{{"kick", map[string]any{"user_id": person}}, {"leave", map[string]any{}}} {
		if err := c.api.call(ctx, http.MethodPost, path("v3", "rooms", room, step.what), step.body, nil); err != nil {
			c.log.Warn("an encrypted room is not given up", "channel", c.name, "room", room, "step", step.what, "err", err)
		}
	}
	return sealed(me, person)
}

// note keeps that a room for a person came out encrypted, here and at the homeserver.
func (c openings) note(ctx context.Context, me, person, room string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.read(ctx, me); err != nil {
		return err
	}
	c.sealed[person] = room
	if err := c.api.keep(ctx, me, sealedKind, c.sealed); err != nil {
		c.log.Warn("it is not noted at the homeserver that it encrypts new rooms", "channel", c.name, "room", room, "err", err)
	}
	return nil
}

// sealed says why no room is made for a person.
func sealed(me, person string) error {
	return fmt.Errorf("the homeserver encrypts the rooms that hob makes, and hob speaks no encryption: let %s begin a private chat with %s without it; "+
		"where the homeserver encrypts all new rooms, that has to be switched off there first (Synapse: encryption_enabled_by_default_for_room_type): %w", person, me, channels.ErrPermanent)
}
