package matrix

import (
	"context"
	"fmt"
	"slices"
)

// Link returns how to begin a private chat with hob.
func (c *Channel) Link(ctx context.Context) (text, url string, err error) {
	me, err := c.whoami(ctx)
	if err != nil {
		return "", "", explain(err)
	}
	url = "https://matrix.to/#/" + me.ID
	return "Open " + url + " and begin a private chat without encryption; when hob has joined it, in a minute at most, write the code there.", url, nil
}

// Account returns the id of hob's user. The device is not part of it, because each token has its own.
func (c *Channel) Account(ctx context.Context) (string, error) {
	me, err := c.whoami(ctx)
	return me.ID, explain(err)
}

// Test checks the token, and whether hob is a member of the listed rooms and can read them. It joins no room.
func (c *Channel) Test(ctx context.Context) ([]string, error) {
	me, err := c.whoami(ctx)
	if err != nil {
		return nil, explain(err)
	}
	lines := []string{fmt.Sprintf("The token belongs to %s, device %s.", me.ID, me.Device)}
	in, err := c.rooms(ctx)
	if err != nil {
		return lines, explain(fmt.Errorf("ask for the rooms: %w", err))
	}
	lines = append(lines, fmt.Sprintf("It is in %d rooms.", len(in)), "Chats with it must not be encrypted: hob does not support encryption.")
	if len(c.Groups) == 0 {
		return append(lines, "It listens to no groups (groups is empty)."), nil
	}
	for _, room := range c.Groups {
		if !slices.Contains(in, room) {
			return lines, fmt.Errorf("it is not in the room %s: invite %s there", room, me.ID)
		}
		secret, err := c.encrypted(ctx, room)
		if err != nil {
			return lines, explain(err)
		}
		if secret {
			return lines, fmt.Errorf("the room %s is encrypted, and hob does not support encryption: use another one", room)
		}
		lines = append(lines, fmt.Sprintf("It is in the room %s, which is not encrypted.", room))
	}
	return lines, nil
}
