package channels

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"hob/daemon/event"
)

// Right is the reason why an address may receive messages from hob.
type Right string

// The rights. An address without one still receives messages that the owner sends explicitly or has allowed.
const (
	NoRight    Right = ""
	NamedRight Right = "named" // the channel's section of the config lists the person or the group
	OwnerRight Right = "owner" // it belongs to the owner, by the config or by a pairing
)

// lost returns why a message that was queued under right s may not be sent now, "" if it may. A message meant
// for the owner is never sent to an address that is only listed.
func (s Right) lost(now Right) string {
	switch {
	case s == OwnerRight && now != OwnerRight:
		return "it is no longer an address of the owner"
	case s == NamedRight && now == NoRight:
		return "the config no longer lists it"
	}
	return ""
}

// names reports whether an audience lists the person or the group at the local part of an address. A thread
// belongs to its group, whose id may follow a "#".
func (a Audience) names(local string) bool {
	group, _, _ := strings.Cut(strings.TrimPrefix(local, "#"), "/")
	return slices.Contains(a.Known, local) || slices.Contains(a.Public, local) || slices.Contains(a.Groups, local) || slices.Contains(a.Groups, group)
}

// rightsCheck checks the recipient's right before a message or a draft is sent.
type rightsCheck struct{ pump *Pump }

// lost returns why an address has lost a right, "" if it has not. An error means that this is not known yet.
func (p rightsCheck) lost(to event.Address, then Right) (string, error) {
	if then == NoRight {
		return "", nil
	}
	now, err := p.pump.Config.Right(to)
	if err != nil {
		return "", fmt.Errorf("check the right of %s: %w", to, err)
	}
	return then.lost(now), nil
}

// stopped ends a row whose address has lost the right under which the row was queued. If the check fails,
// the address rests and the row is tried again later. False: the row may be sent.
func (p rightsCheck) stopped(ctx context.Context, row Row, whole Delivery) bool {
	why, err := p.lost(row.To, row.Right)
	switch {
	case err != nil:
		p.pump.Config.Log.Debug("a message waits", "outbox", row.ID, "to", row.To, "err", err)
		p.pump.rest(row.To, awayWait)
		return true
	case why == "":
		return false
	}
	v := dead(whole, why)
	if v.Tell.To = FirstOwner(p.pump.Config.Owner()); v.Tell.To == row.To { // the owner is told at an address that works
		v.Tell.To = event.CLI
	}
	v.Tell.Text += fmt.Sprintf("\nhob outbox retry %d sends it there all the same.", row.ID)
	p.pump.finish(ctx, row, whole, v)
	return true
}
