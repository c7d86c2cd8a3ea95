package daemon

import (
	"context"
	"fmt"
	"slices"

	"hob/channels"
	"hob/channels/admin"
	"hob/daemon/event"
	"hob/daemon/store"
)

// keeper keeps what channels receive: rows in the store, files on the shelf.
type keeper struct {
	*daemon
}

var _ channels.InboxStore = keeper{}

// Accept commits inputs and a cursor.
func (k keeper) Accept(ctx context.Context, ins []event.In, c *channels.Cursor) ([]event.Receipt, error) {
	return k.store.Inbox.Accept(ctx, ins, c)
}

// AcceptFiles commits an input with its files.
func (k keeper) AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error) {
	return k.shelf.AcceptFiles(ctx, in, contents)
}

// TakeBack drops what was deleted before it was read.
func (k keeper) TakeBack(ctx context.Context, w channels.Withdrawal) error {
	return k.store.Inbox.TakeBack(ctx, w)
}

// Cursor is how far a source has been read.
func (k keeper) Cursor(ctx context.Context, source, identity string) (string, error) {
	return k.store.Inbox.Cursor(ctx, source, identity)
}

// visitors are those who write on the channels.
type visitors struct{ *daemon }

// porter lets them in.
func (v visitors) admission() admin.Admission {
	return admin.Admission{PairingIndex: v.store.Pairings, Owner: v.owner, Say: v.store.Events.Tell, Elsewhere: notices(v).elsewhere, Gaps: v.gaps}
}

// teller tells of what may be missing on channels.
func (v visitors) gapNotices() *admin.GapNotices {
	return admin.NewGapNotices(admin.GapNoticesConfig{
		Settle: func(ctx context.Context, f func(string) (string, event.Address, string)) error {
			return notices(v).settle(ctx, toldGaps, func(known string) (string, store.Notice, error) {
				now, to, text := f(known)
				return now, store.Notice{To: to, Text: text}, nil
			})
		},
		Elsewhere: notices(v).elsewhere, Clock: v.clock, Log: v.log,
	})
}

// buttons tells whether the channel of an address shows buttons.
func (v visitors) buttons(to event.Address) bool {
	if v.host == nil { // which is made after the store
		return false
	}
	ch, err := v.host.Channel(to.Channel())
	b, can := ch.(channels.Buttoned)
	return err == nil && can && b.Buttons()
}

// named tells whether the config names who is at an address.
func (v visitors) named(to event.Address) bool {
	if v.host == nil { // which is made after the store
		return false
	}
	named, err := v.host.Names(to)
	return named && err == nil
}

// friends are the addresses of the people whom the channels' sections call known: a message to them is no question.
func (v visitors) friends() []event.Address {
	var list []event.Address
	if v.host == nil { // which is made after the store
		return nil
	}
	for _, h := range v.host.Health() {
		ch, err := v.host.Channel(h.Name)
		if err != nil {
			continue // it cannot be used now, and neither can they be written to
		}
		a, _ := channels.AudienceOf(ch)
		for _, id := range a.Known {
			list = append(list, event.Address(h.Name+":"+id))
		}
	}
	return list
}

// standing is by what right an address hears from hob now. An error: it cannot be told before the channel has said which account hob has there,
// because a pairing counts for one account only.
func (v visitors) standing(to event.Address) (channels.Right, error) {
	right := store.RecipientRights{Owner: v.owner(), Named: v.named}.Of(to)
	if slices.Contains(v.store.Pairings.Paired(), to) && !slices.Contains(v.config().Owner.Addresses, string(to)) && !v.host.AccountKnown(to.Channel()) {
		return right, fmt.Errorf("channel %s has not said yet which account it is", to.Channel())
	}
	if right == channels.OwnerRight {
		return right, nil
	}
	_, err := v.host.Names(to) // or its section cannot be used at this moment
	return right, err
}

// admin is the channels and the pairings as the API sees them.
func (v visitors) admin() admin.Service {
	p := v.admission()
	return admin.Service{Config: admin.Config{
		PairingStore: v.store.Pairings, Health: overview(v).channelHealth, Find: v.host.Channel, Owners: p.Owners, Lapsed: p.Lapsed, Hide: v.secrets.Text, RandomLetters: admin.RandomLetters, Now: v.clock.Wall,
		Send: func(ctx context.Context, to event.Address, text string) (int64, error) {
			return v.store.Outbox.Send(ctx, event.In{
				Source: "api", ExtID: v.ids.Code(16), Session: "main", Kind: event.Command, Rank: event.RankOwner, Trust: event.Owner,
				ReplyTo: event.CLI, Parts: event.Say("test " + string(to)), Received: v.clock.Wall(),
			}, to, text)
		},
	}}
}
