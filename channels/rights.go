package channels

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/event"
)

// Right is why an address may receive messages from hob.
type Right string

// The rights. An address without one still receives what the owner sends explicitly, or has allowed.
const (
	NoRight    Right = ""
	NamedRight Right = "named" // the channel's section of the config lists the person or the group
	OwnerRight Right = "owner" // it belongs to the owner, by the config or by a pairing
)

// lost returns why a message that was queued under right s may not be sent now, "" when it may. A message meant for the owner is never sent to
// an address that is only listed.
func (s Right) lost(now Right) string {
	switch {
	case s == OwnerRight && now != OwnerRight:
		return "it is no address of the owner's any more"
	case s == NamedRight && now == NoRight:
		return "the config does not name it any more"
	}
	return ""
}

// Names reports whether the channel's section lists the person or the group at an address. Its errors are those of Channel.
func (h *Host) Names(to event.Address) (bool, error) {
	ch, err := h.Channel(to.Channel())
	a, _ := AudienceOf(ch) // of none: nobody
	return a.names(to.Local()), err
}

// names reports whether an audience has the person or the group at the local part of an address. A thread of a group is the group's, and its
// id may stand behind a "#".
func (a Audience) names(local string) bool {
	group, _, _ := strings.Cut(strings.TrimPrefix(local, "#"), "/")
	return slices.Contains(a.Known, local) || slices.Contains(a.Public, local) || slices.Contains(a.Groups, local) || slices.Contains(a.Groups, group)
}

// Met reports whether the channel, with its current section, has asked the platform for hob's account.
func (h *Host) Met(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, s := h.have[name], h.want[name]
	return t != nil && t.Print == s.Print && t.Kind == s.Kind && t.met.Load()
}

// guard checks the recipient's right before a message or a draft is sent.
type guard struct{ *Pump }

// lost returns why an address has lost a right, "" when it has not. An error means that this is not known yet.
func (p guard) lost(to event.Address, then Right) (string, error) {
	if then == NoRight {
		return "", nil
	}
	now, err := p.Right(to)
	if err != nil {
		return "", fmt.Errorf("ask by what right %s hears from hob: %w", to, err)
	}
	return then.lost(now), nil
}

// turnedAway ends a row whose address has lost the right under which the row was queued. If the check fails, the address rests and the row is
// tried again later. False: the row may be sent.
func (p guard) turnedAway(ctx context.Context, row Row, whole Delivery) bool {
	why, err := p.lost(row.To, row.Right)
	switch {
	case err != nil:
		p.Log.Debug("a message waits", "outbox", row.ID, "to", row.To, "err", err)
		p.rest(row.To, awayNap)
		return true
	case why == "":
		return false
	}
	v := dead(whole, why)
	if v.Tell.To = p.firstOwner(); v.Tell.To == row.To { // the channel itself works
		v.Tell.To = event.CLI
	}
	v.Tell.Text += fmt.Sprintf("\nhob outbox retry %d sends it there all the same.", row.ID)
	p.finish(ctx, row, whole, v)
	return true
}
