package channels

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/event"
)

// Right is by what right somebody at an address hears from hob.
type Right string

// The rights. Somebody without one may still be written to: by the owner's word, or by a call that he has allowed.
const (
	NoRight    Right = ""
	NamedRight Right = "named" // the channel's section of the config names him, or the group
	OwnerRight Right = "owner" // it is an address of the owner's, by the config or by a pairing
)

// lost says why a message does not go any more to an address that had a right when it was queued, "" when it does. What was meant for the
// owner is nobody else's to read, whoever that is to hob by now.
func (s Right) lost(now Right) string {
	switch {
	case s == OwnerRight && now != OwnerRight:
		return "it is no address of the owner's any more"
	case s == NamedRight && now == NoRight:
		return "the config does not name it any more"
	}
	return ""
}

// Names reports whether the config names who is at an address, or the group. Its errors are those of Channel.
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

// Met reports whether the account is known that hob has on a channel as its section is now, where that can be known.
func (h *Host) Met(name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t, s := h.have[name], h.want[name]
	return t != nil && t.Print == s.Print && t.Kind == s.Kind && t.met.Load()
}

// guard stands before what a pump or a draft shows to somebody.
type guard struct{ *Pump }

// lost says why an address has lost a right, "" when it has not. An error: it cannot be told yet.
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

// turnedAway ends a row whose address has lost the right by which it was queued, and leaves one alone for a while of which that cannot be told.
// False: it may go.
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
