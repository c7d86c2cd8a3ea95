package store

import (
	"hob/channels"
	"hob/daemon/event"
)

// rightOf returns the present right of an address.
func (s *core) rightOf(to event.Address) channels.Right {
	return channels.RightOf(to, s.opt.Owner(), s.opt.Config().named)
}

// rightForMessage returns the right under which a message is queued. A reply uses the permission that the sender had when the message was
// accepted, even if it was revoked since. An address whose owner pairing was revoked receives only what the owner sends explicitly.
//
// The right is stored with the row. The pump compares it with the present one before it sends.
func rightForMessage(tx *Tx, o event.Out) (channels.Right, error) {
	asker, err := askerAt(tx, o)
	now := tx.core.rightOf(o.To)
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
	// The address has no right now. If it was paired once, the pump must see that its right was revoked since.
	var once bool
	err = tx.One("SELECT EXISTS (SELECT 1 FROM pairings WHERE person <> '' AND channel = ? AND person = ?)", []any{o.To.Channel(), o.To.Local()}, &once)
	if once {
		now = channels.OwnerRight
	}
	return now, err
}

// askerAt returns the trust of the sender at o's address whose input caused o; "" if there is none.
func askerAt(tx *Tx, o event.Out) (trust event.Trust, err error) {
	where := map[event.CauseKind]string{event.ByTurn: "turn = ?", event.ByCommand: "seq = ?"}[o.Cause.Kind]
	if where == "" {
		return "", nil
	}
	err = tx.One("SELECT trust FROM inbox WHERE "+where+" AND reply_to = ? AND person <> '' ORDER BY seq DESC LIMIT 1", []any{o.Cause.ID, o.To}, &trust)
	return trust, ignoreNoRows(err)
}
