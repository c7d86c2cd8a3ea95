package toolset

import (
	"context"
	"slices"

	"hob/daemon/event"
	"hob/tools/messaging"
)

// Recipients knows the addresses that hob can write to.
type Recipients interface {
	Owner() []event.Address // the owner's addresses, the first one first
	Known() []event.Address // the people whom the config calls known
	Reachable(to event.Address) bool
}

// Addresses are the recipients of the tool message: the owner, and the addresses of configured channels.
type Addresses struct{ Recipients Recipients }

// Resolve checks the address that a call names. It guesses nothing.
func (a Addresses) Resolve(_ context.Context, to string) (event.Address, error) {
	addr, err := event.ParseAddress(to)
	if err != nil || addr == event.ToNone || !a.Recipients.Reachable(addr) {
		return "", messaging.ErrUnknown
	}
	return addr, nil
}

// Known lists the owner's addresses, and those of the people whom the config calls known.
func (a Addresses) Known(context.Context) ([]event.Address, error) {
	return slices.Concat([]event.Address{event.ToOwner}, a.Recipients.Owner(), a.Recipients.Known()), nil
}
