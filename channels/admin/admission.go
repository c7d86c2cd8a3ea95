package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/channels"
	"hob/daemon/event"
)

// PairingIndex looks up pairings.
type PairingIndex interface {
	// SetAccount sets hob's current account on a channel, and returns the pairings that are not valid with it.
	SetAccount(ctx context.Context, channel, account string) (lapsed []channels.PairingRow, err error)
	// FormerPairings lists the addresses of all such pairings.
	FormerPairings() []event.Address
	// Try tests a message against the open pairing of a channel.
	Try(ctx context.Context, channel string, m channels.Message) (channels.Tried, error)
}

// Admission decides who may write on the channels. All fields are needed. It is safe for concurrent use.
type Admission struct {
	PairingIndex PairingIndex
	Owner        func() []event.Address                                                     // the owner's addresses, from the config and from pairings
	Say          func(ctx context.Context, key string, to event.Address, text string) error // queues a message, once for each key
	Elsewhere    func(channel string) event.Address                                         // where the owner hears of trouble with a channel
	Gaps         *GapNotices                                                                // notices about gaps
}

var _ channels.Admission = Admission{}

// Owners returns the owner's ids on a channel.
func (p Admission) Owners(channel string) []string { return on(channel, p.Owner()) }

// FormerPairings returns the ids that were paired on a channel with another account than hob has now.
func (p Admission) FormerPairings(channel string) []string {
	return on(channel, p.PairingIndex.FormerPairings())
}

// on returns the ids of addresses on a channel.
func on(channel string, list []event.Address) (ids []string) {
	for _, a := range list {
		if a.Channel() == channel {
			ids = append(ids, a.Local())
		}
	}
	return ids
}

// Connected validates the pairings of a channel for hob's current account. The owner gets one notice about
// each invalid pairing, on another channel.
func (p Admission) Connected(ctx context.Context, channel, account string) error {
	lapsed, err := p.PairingIndex.SetAccount(ctx, channel, account)
	if err != nil {
		return err
	}
	for _, r := range lapsed {
		text := fmt.Sprintf("hob now uses another account on channel %s than when %s (%s) was paired there. That pairing is no longer valid: hob treats that person as a stranger until you pair again, with hob pairing start %s.", channel, named(r.Name), r.Person, channel)
		if err := p.tell(ctx, channel, fmt.Sprintf("paired:%d:lapsed:%s", r.ID, account), text); err != nil {
			return err
		}
	}
	return nil
}

// Try tests a message against the channel's open pairing. If the code binds the sender, the sender gets one
// notice. The owner gets another one on a different channel, because a code that somebody else typed must be
// noticed.
func (p Admission) Try(ctx context.Context, channel string, m channels.Message) (channels.Tried, error) {
	tried, err := p.PairingIndex.Try(ctx, channel, m)
	if err != nil || tried != channels.Bound || !slices.Contains(p.Owners(channel), m.From.ID) {
		return tried, err
	}
	key := "paired:" + channel + ":" + m.ID
	if err := p.Say(ctx, key, event.Address(channel+":"+m.From.ID), "You are hob's owner here now. Write what you want done, or /help."); err != nil {
		return tried, err
	}
	text := fmt.Sprintf("%s (%s) was paired and is now your account on channel %s. If that was not you: hob pairing list, then hob pairing revoke ID.", named(m.From.Name), m.From.ID, channel)
	return tried, p.tell(ctx, channel, key+":told", text)
}

// Unlisted tells the owner, in the private chat of the same channel, the id of a group in which he has mentioned hob.
func (p Admission) Unlisted(ctx context.Context, channel string, m channels.Message) error {
	text := fmt.Sprintf("You mentioned hob in %s, and it answers only in groups that are listed. To let it answer there, add \"%s\" to groups in [channels.%s] of config.toml. Everybody in the group can ask it things then.",
		named(cmp.Or(m.Chat.Title, m.Chat.Group)), m.Chat.Group, channel)
	return p.Say(ctx, "unlisted:"+channel+":"+m.Chat.Group, event.Address(channel+":"+m.From.ID), text)
}

// named returns a person's self-chosen name on one line.
func named(name string) string {
	if strings.TrimSpace(name) == "" {
		return "Somebody"
	}
	return channels.ForeignExcerpt(name)
}

// Missed notifies the owner that messages on a channel may be missing.
func (p Admission) Missed(ctx context.Context, channel string, gap channels.Gap) error {
	return p.Gaps.Missed(ctx, channel, gap)
}

// tell queues a notice about a channel to the owner, on another channel, once for each key.
func (p Admission) tell(ctx context.Context, channel, key, text string) error {
	return p.Say(ctx, key, p.Elsewhere(channel), text)
}
