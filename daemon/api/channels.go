package api

import (
	"hob/channels"
	"hob/daemon/event"
)

// Channel is a channel of the config as people and programs see it.
type Channel struct {
	Name         string    `json:"name"`
	Kind         string    `json:"kind"`
	Nick         string    `json:"nick,omitempty"`  // hob's own there now, where the platform gives it one
	Unfit        bool      `json:"unfit,omitempty"` // its section cannot be used; receiving says why
	Receiving    Direction `json:"receiving"`       // state (ok, degraded, down; of sending also "not tried"), since, last_error and last_error_at, which stay when it is over
	Sending      Direction `json:"sending"`         // the same for what goes out
	Pairs        bool      `json:"pairs"`           // somebody can become its owner by a code
	Owner        []string  `json:"owner"`           // the owner's ids there, of the config and by pairing; empty: it is bound to nobody
	FormerOwners []string  `json:"lapsed"`          // who was paired while hob had another account there; hob does not listen to them
	Groups       []string  `json:"groups"`          // in which it answers when it is mentioned
}

// The states of a direction that has no trouble.
const (
	DirectionOK      = channels.OK
	DirectionUntried = channels.Untried
)

// ChannelTest is what a test of a channel came to.
type ChannelTest struct {
	Channel string        `json:"channel"`
	Works   []string      `json:"works"`            // a line for each thing that does
	Fault   string        `json:"fault,omitempty"`  // what does not
	Reason  Unreached     `json:"reason,omitempty"` // of a fault: no_way (no network leads to its server), no_server (nothing listens at its address)
	To      event.Address `json:"to,omitempty"`     // where a message was sent
	Outbox  int64         `json:"outbox,omitempty"` // its row
}

// Unreached says why a channel's server was not reached.
type Unreached = channels.Unreached

// The reasons that callers ask about.
const (
	NoWay    = channels.NoWay
	NoServer = channels.NoServer
)

// Pairing is a code that makes somebody the owner, and who became it.
type Pairing = channels.PairingRow

// The states of a pairing that callers ask about.
const (
	PairingOpen   = channels.PairingOpen
	PairingBound  = channels.PairingBound
	PairingOver   = channels.PairingOver
	PairingLapsed = channels.PairingLapsed
)

// PairingStart is a pairing that was just begun. Its code is told this once.
type PairingStart struct {
	Pairing
	Code  string   `json:"code"`
	Link  string   `json:"link,omitempty"` // how to get to hob's chat
	URL   string   `json:"url,omitempty"`  // what opens it, where the platform has that
	Notes []string `json:"notes"`          // what may be in the way
}
