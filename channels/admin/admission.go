package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/channels"
	"hob/daemon/event"
)

// PairingIndex looks up who was paired.
type PairingIndex interface {
	// Meet says which account hob has on a channel from now on, and returns the pairings that do not count with it.
	Meet(ctx context.Context, channel, account string) (lapsed []channels.PairingRow, err error)
	// Lapsed lists the addresses of all such pairings.
	Lapsed() []event.Address
	// Try shows a message to the pairing that is open on a channel.
	Try(ctx context.Context, channel string, m channels.Message) (channels.Tried, error)
}

// Admission decides who may write on the channels. Every field must be set. It is safe for concurrent use.
type Admission struct {
	PairingIndex PairingIndex
	Owner        func() []event.Address                                                     // the owner's addresses, of the config and by pairing
	Say          func(ctx context.Context, key string, to event.Address, text string) error // queues a message, once for a key
	Elsewhere    func(channel string) event.Address                                         // where the owner hears of trouble with a channel
	Gaps         *GapNotices                                                                // notices about gaps
}

var _ channels.Admission = Admission{}

// Owners are the owner's ids on a channel.
func (p Admission) Owners(channel string) []string { return on(channel, p.Owner()) }

// Lapsed are the ids of those who were paired on a channel with another account than hob has now.
func (p Admission) Lapsed(channel string) []string { return on(channel, p.PairingIndex.Lapsed()) }

// on are the ids of addresses on a channel.
func on(channel string, list []event.Address) (ids []string) {
	for _, a := range list {
		if a.Channel() == channel {
			ids = append(ids, a.Local())
		}
	}
	return ids
}

// Connected makes the pairings count that were made with hob's current account on a channel. The owner gets a notice about each of the others.
func (p Admission) Connected(ctx context.Context, channel, account string) error {
	lapsed, err := p.PairingIndex.Meet(ctx, channel, account)
	if err != nil {
		return err
	}
	for _, r := range lapsed {
		text := fmt.Sprintf("hob has another account on channel %s than when %s (%s) was paired there. That pairing does not count any more: hob takes that account for a stranger until you pair again, with hob pairing start %s.", channel, named(r.Name), r.Person, channel)
		if err := p.tell(ctx, channel, fmt.Sprintf("paired:%d:lapsed:%s", r.ID, account), text); err != nil {
			return err
		}
	}
	return nil
}

// Try shows a message to the channel's open pairing. If the code binds the sender, the sender gets one notice, and the owner another on a
// different channel: a code that somebody else has typed must not go unseen.
func (p Admission) Try(ctx context.Context, channel string, m channels.Message) (channels.Tried, error) {
	tried, err := p.PairingIndex.Try(ctx, channel, m)
	if err != nil || tried != channels.Bound || !slices.Contains(p.Owners(channel), m.From.ID) {
		return tried, err
	}
	key := "paired:" + channel + ":" + m.ID
	if err := p.Say(ctx, key, event.Address(channel+":"+m.From.ID), "You are hob's owner here now. Write what you want done, or /help."); err != nil {
		return tried, err
	}
	text := fmt.Sprintf("%s (%s) is your account on channel %s from now on, by a pairing. Was it not you? hob pairing list, and hob pairing revoke ID.", named(m.From.Name), m.From.ID, channel)
	return tried, p.tell(ctx, channel, key+":told", text)
}

// named is what somebody calls himself, on one line.
func named(name string) string {
	if strings.TrimSpace(name) == "" {
		return "Somebody"
	}
	return channels.Foreign(name)
}

// Missed notifies the owner that messages on a channel may be missing.
func (p Admission) Missed(ctx context.Context, channel string, gap channels.Gap) error {
	return p.Gaps.Missed(ctx, channel, gap)
}

// tell queues a notice about a channel to the owner, on another channel, once per key.
func (p Admission) tell(ctx context.Context, channel, key, text string) error {
	return p.Say(ctx, key, p.Elsewhere(channel), text)
}
