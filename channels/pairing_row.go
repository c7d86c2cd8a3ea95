package channels

import "time"

// PairingRow is a pairing as people and programs see it. It never contains the code.
type PairingRow struct {
	ID      int64        `json:"id"`
	Channel string       `json:"channel"`
	State   PairingState `json:"state"`             // open, bound, lapsed, over, revoked
	Left    int          `json:"left"`              // tries left
	Until   time.Time    `json:"until"`             // when the code expires
	Created time.Time    `json:"created"`           // when it was begun
	Person  string       `json:"person,omitempty"`  // the owner who was bound, by the platform's own id
	Name    string       `json:"name,omitempty"`    // the name of that person then, self-chosen
	Bound   time.Time    `json:"bound,omitzero"`    // when the owner was bound
	Revoked time.Time    `json:"revoked,omitzero"`  // when it was revoked
	Account string       `json:"account,omitempty"` // hob's account on the platform then, by its immutable id; empty: unknown
}

// PairingState is the state of a pairing.
type PairingState string

// The states of a pairing. Only an open one accepts its code; only a bound one makes an owner.
const (
	PairingOpen    PairingState = "open"
	PairingBound   PairingState = "bound"
	PairingOver    PairingState = "over" // expired, out of tries, ended, or replaced by another one
	PairingRevoked PairingState = "revoked"
	PairingLapsed  PairingState = "lapsed" // bound, but hob uses another account on the channel now; valid again with the former account
)

// StateAt returns the state at a moment, as far as the row itself shows it: PairingLapsed depends on the
// current account.
func (r PairingRow) StateAt(now time.Time) PairingState {
	switch {
	case !r.Revoked.IsZero():
		return PairingRevoked
	case r.Person != "":
		return PairingBound
	case r.Left > 0 && now.Before(r.Until):
		return PairingOpen
	}
	return PairingOver
}
