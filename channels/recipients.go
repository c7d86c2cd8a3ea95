package channels

import (
	"errors"
	"fmt"
	"slices"

	"hob/daemon/event"
)

// Recipients answers who is at an address, whether hob may write there, and where the owner gets notices. It
// stores nothing: each answer is read from the config, the pairings and the table of channels. All fields are
// needed. It is safe for concurrent use.
type Recipients struct {
	Configured func() []event.Address // the owner's addresses in the config
	Paired     func() []event.Address // the owner's addresses from pairings
	Channels   *Table
}

// Owner lists the owner's addresses, the preferred one first: those in the config, then those from pairings,
// then the places that sections declare as the owner's (OwnerPlaced). An address of a channel that was removed from the config is not among
// them: nothing can be sent there.
func (r Recipients) Owner() (list []event.Address) {
	for _, a := range slices.Concat(r.Configured(), r.Paired(), r.Channels.OwnerPlaces()) {
		_, err := r.Channels.Channel(a.Channel())
		if removed := errors.Is(err, ErrNoChannel) && a.Channel() != event.CLI.Channel(); !removed && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// Right returns the current right of an address. An error means that it cannot be checked now: the channel's
// section is unusable, or the address comes from a pairing and the channel has not yet reported hob's
// account. A pairing is valid for one account only.
func (r Recipients) Right(to event.Address) (Right, error) {
	right := RightOf(to, r.Owner(), r.Named)
	if slices.Contains(r.Paired(), to) && !slices.Contains(r.Configured(), to) && !r.Channels.AccountKnown(to.Channel()) {
		return right, fmt.Errorf("channel %s has not said yet which account it is", to.Channel())
	}
	if right == OwnerRight {
		return right, nil
	}
	_, err := r.Channels.Names(to)
	return right, err
}

// RightOf returns the right of an address that is the owner's (owner) or that its channel's section lists.
func RightOf(to event.Address, owner []event.Address, named func(event.Address) bool) Right {
	switch {
	case slices.Contains(owner, to):
		return OwnerRight
	case named(to):
		return NamedRight
	}
	return NoRight
}

// Named reports whether the section of its channel lists an address.
func (r Recipients) Named(to event.Address) bool {
	named, err := r.Channels.Names(to)
	return named && err == nil
}

// Known lists the people whom sections list as known, on channels that can be used now.
func (r Recipients) Known() []event.Address {
	var list []event.Address
	for _, h := range r.Channels.Health() {
		ch, err := r.Channels.Channel(h.Name)
		if err != nil {
			continue
		}
		a, _ := AudienceOf(ch)
		for _, id := range a.Known {
			list = append(list, event.Address(h.Name+":"+id))
		}
	}
	return list
}

// Reachable reports whether a message can be queued for an address: it is the owner's, or its channel exists.
func (r Recipients) Reachable(to event.Address) bool {
	if to == event.ToOwner || to == event.ToNone || to == event.CLI || slices.Contains(r.Owner(), to) {
		return true
	}
	_, err := r.Channels.Channel(to.Channel())
	return !errors.Is(err, ErrNoChannel)
}

// Unheard returns why nothing that is sent to an address would arrive: its channel does not exist, or its section cannot be used. "": it would.
func (r Recipients) Unheard(to event.Address) string {
	if !r.Reachable(to) {
		return "there is no channel " + to.Channel()
	}
	if _, err := r.Channels.Channel(to.Channel()); err != nil && !errors.Is(err, ErrNoChannel) {
		return "the channel " + to.Channel() + " is off"
	}
	return ""
}

// Buttons reports whether the channel of an address shows buttons.
func (r Recipients) Buttons(to event.Address) bool {
	ch, err := r.Channels.Channel(to.Channel())
	b, can := ch.(Buttoned)
	return err == nil && can && b.Buttons()
}

// Elsewhere returns where the owner gets a notice that must not use the channel avoid; see OwnerAddress.
func (r Recipients) Elsewhere(avoid string) event.Address {
	down := map[string]bool{}
	for _, h := range r.Channels.Health() {
		down[h.Name] = h.Sending.State == Down || h.Receiving.State == Down && !h.Sending.Proven
	}
	return OwnerAddress(r.Owner(), avoid, func(channel string) Fitness {
		_, err := r.Channels.Channel(channel)
		switch {
		case err != nil && channel != event.CLI.Channel():
			return Unusable
		case down[channel]:
			return Failing
		}
		return Working
	})
}

// Fitness is how well a channel can carry a message now.
type Fitness int

// The degrees of fitness.
const (
	Unusable Fitness = iota // the channel does not exist, or its section is unusable
	Failing
	Working
)

// OwnerAddress returns where the owner gets a notice: the first of the owner's addresses on a working
// channel, else the first one on a failing channel, else event.CLI. Addresses on the channel avoid, and on
// unusable channels, are skipped; avoid may be "".
func OwnerAddress(owner []event.Address, avoid string, fitness func(channel string) Fitness) event.Address {
	failing := event.CLI
	for _, a := range owner {
		if a.Channel() == avoid {
			continue
		}
		switch fitness(a.Channel()) {
		case Working:
			return a
		case Failing:
			if failing == event.CLI {
				failing = a
			}
		}
	}
	return failing
}

// FirstOwner returns the address for "owner": the first one, event.CLI if there is none.
func FirstOwner(owner []event.Address) event.Address {
	for _, a := range owner {
		return a
	}
	return event.CLI
}
