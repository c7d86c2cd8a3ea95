package channels

import "time"

// PairingRow is a pairing as people and programs see it. Its code is nowhere in it.
type PairingRow struct {
	ID      int64        `json:"id"`
	Channel string       `json:"channel"`
	State   PairingState `json:"state"`             // open, bound, lapsed, over, revoked
	Left    int          `json:"left"`              // tries that are left
	Until   time.Time    `json:"until"`             // from then on the code is not taken
	Created time.Time    `json:"created"`           // when it was begun
	Person  string       `json:"person,omitempty"`  // who was bound, by the platform's own id
	Name    string       `json:"name,omitempty"`    // as that person called himself then; anybody may call himself anything
	Bound   time.Time    `json:"bound,omitzero"`    // when that was
	Revoked time.Time    `json:"revoked,omitzero"`  // when it was taken back
	Account string       `json:"account,omitempty"` // hob's own on the platform then, by its immutable id; empty: it was not known
}

// PairingState is how far a pairing is.
type PairingState string

// The states of a pairing. Only an open one takes its code; only who is bound is an owner.
const (
	PairingOpen    PairingState = "open"
	PairingBound   PairingState = "bound"
	PairingOver    PairingState = "over" // its time or its tries ran out, it was ended, or another one took its place
	PairingRevoked PairingState = "revoked"
	PairingLapsed  PairingState = "lapsed" // bound, but hob has another account on the channel now: it counts again with the one of then
)

// StateAt is the state of a row at a moment, from what else it says, with hob's account of then.
func (r PairingRow) StateAt(now time.Time) PairingState {
	switch {
	case !r.Revoked.IsZero():
		return PairingRevoked
	case r.Person != "":
		return PairingBound
	case r.Left > 0 && now.Before(r.Until):
		return PairingOpen
	default:
		return PairingOver
	}
}
