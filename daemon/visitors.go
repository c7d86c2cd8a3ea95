package daemon

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/lobby"
)

// keeper keeps what channels receive: rows in the store, files on the shelf.
type keeper struct {
	*daemon
}

var _ channels.Keeper = keeper{}

// Accept commits inputs and a cursor.
func (k keeper) Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	return k.store.Accept(ctx, ins, c)
}

// AcceptFiles commits an input with its files.
func (k keeper) AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error) {
	return k.shelf.AcceptFiles(ctx, in, contents)
}

// Cursor is how far a source has been read.
func (k keeper) Cursor(ctx context.Context, source, identity string) (string, error) {
	return k.store.Cursor(ctx, source, identity)
}

// visitors says who may write on the channels.
type visitors struct{ *daemon }

var _ channels.Desk = visitors{}

// Owners are the owner's ids on a channel.
func (v visitors) Owners(channel string) (ids []string) {
	for _, a := range v.owner() {
		if id, ok := strings.CutPrefix(string(a), channel+":"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// Try shows a message to the channel's pairing. Whoever is bound by it is told so, and so is the owner elsewhere, once each: a code that
// somebody else has typed must not go unseen.
func (v visitors) Try(ctx context.Context, channel string, m channels.Message) (channels.Tried, error) {
	tried, err := v.store.Pairings.Try(ctx, channel, m)
	if err != nil || tried != channels.Bound || !slices.Contains(v.Owners(channel), m.From.ID) {
		return tried, err
	}
	key := "paired:" + channel + ":" + m.ID
	if err := v.store.Tell(ctx, key, event.Address(channel+":"+m.From.ID), "You are hob's owner here now. Write what you want done, or /help."); err != nil {
		return tried, err
	}
	text := fmt.Sprintf("%s (%s) is your owner's account on channel %s from now on, by a pairing. Was it not you? hob pairing list, and hob pairing revoke ID.", named(m.From), m.From.ID, channel)
	return tried, v.Tell(ctx, channel, key+":told", text)
}

// named is what somebody calls himself, on one line.
func named(p channels.Person) string {
	if strings.TrimSpace(p.Name) == "" {
		return "Somebody"
	}
	return channels.Excerpt(p.Name)
}

// Tell tells the owner something about a channel, on another one.
func (v visitors) Tell(ctx context.Context, channel, key, text string) error {
	return v.store.Tell(ctx, key, conf(v).elsewhere(channel), text)
}

// lobby is the channels and the pairings as the API sees them.
func (v visitors) lobby() lobby.Desk {
	return lobby.Desk{Config: lobby.Config{
		Book: v.store.Pairings, Health: overview(v).channelHealth, Find: v.host.Channel, Owners: v.Owners, Hide: v.secrets.Text, Letters: lobby.Letters, Now: v.clock.Wall,
		Send: func(ctx context.Context, to event.Address, text string) (int64, error) {
			return v.store.Send(ctx, event.In{
				Source: "api", ExtID: v.ids.Code(16), Session: "main", Kind: event.Command, Rank: event.RankOwner, Trust: event.Owner,
				ReplyTo: event.CLI, Parts: event.Say("test " + string(to)), Received: v.clock.Wall(),
			}, to, text)
		},
	}}
}
