package store

import (
	"database/sql"
	"errors"
	"slices"

	"hob/channels"
	"hob/daemon/event"
)

// RecipientRights are the addresses that have one now.
type RecipientRights struct {
	Owner []event.Address
	Named func(event.Address) bool // by the section of their channel; nil: none is
}

// Of is the right that an address has now.
func (r RecipientRights) Of(to event.Address) channels.Right {
	switch {
	case slices.Contains(r.Owner, to):
		return channels.OwnerRight
	case r.Named != nil && r.Named(to):
		return channels.NamedRight
	}
	return channels.NoRight
}

// forMessage is the right by which a message is queued for its address. Who has written from there hears by the right by which he was let in, whatever
// has become of that meanwhile. To an address at which a pairing once bound the owner, and that is nobody's now, nothing goes but what he sends
// there himself.
func (r RecipientRights) forMessage(tx *Tx, o event.Out) (channels.Right, error) {
	asker, err := askerAt(tx, o)
	now := r.Of(o.To)
	switch {
	case err != nil:
		return now, err
	case asker == event.Owner:
		return channels.OwnerRight, nil
	case asker != "" && now == channels.NoRight:
		return channels.NamedRight, nil
	case now != channels.NoRight || o.Cause.Kind == event.ByCommand:
		return now, nil
	}
	var once bool
	err = tx.One("SELECT EXISTS (SELECT 1 FROM pairings WHERE person <> '' AND channel = ? AND person = ?)", []any{o.To.Channel(), o.To.Local()}, &once)
	if once {
		now = channels.OwnerRight
	}
	return now, err
}

// askerAt returns the trust of the sender in the chat of o's address whose input caused o; "" when there is none.
func askerAt(tx *Tx, o event.Out) (trust event.Trust, err error) {
	where := map[event.CauseKind]string{event.ByTurn: "turn = ?", event.ByCommand: "seq = ?"}[o.Cause.Kind]
	if where == "" {
		return "", nil
	}
	err = tx.One("SELECT trust FROM inbox WHERE "+where+" AND reply_to = ? AND person <> '' ORDER BY seq DESC LIMIT 1", []any{o.Cause.ID, o.To}, &trust)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return trust, err
}
