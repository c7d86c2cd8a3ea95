package store

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"hob/channels"
	"hob/daemon/event"
	"hob/daemon/netguard"
	"hob/daemon/sqlite"
)

// maxButtonLabel is the longest label in bytes that every platform shows completely.
const maxButtonLabel = 40

// choicesBelow returns the choices of a message. They are buttons if the recipient is the owner, the channel supports them, and no files
// follow. Otherwise they are numbered lines, which are added to the returned text.
func choicesBelow(tx *Tx, o event.Out, owner []event.Address, has func(event.Address) bool) (text string, buttons []channels.Choice, err error) {
	if len(o.Buttons) == 0 {
		return o.Body, nil, nil
	}
	long := slices.ContainsFunc(o.Buttons, func(label string) bool { return len(netguard.Visible(label)) > maxButtonLabel })
	if long || len(o.Files) > 0 || !slices.Contains(owner, o.To) || !has(o.To) {
		text = o.Body + "\n"
		for i, label := range o.Buttons {
			text += fmt.Sprintf("\n%d. %s", i+1, netguard.Visible(label))
		}
		return text, nil, nil
	}
	foreign, err := foreignCause(tx, o.Cause)
	if err != nil {
		return "", nil, err
	}
	for _, label := range o.Buttons {
		label = netguard.Visible(label)
		buttons = append(buttons, channels.Choice{Label: label, Data: channels.Words(label, foreign)})
	}
	return o.Body, buttons, nil
}

// foreignCause reports whether foreign text may speak through a cause. If so, pressing a button must not count as the owner's own words.
func foreignCause(tx *Tx, c event.Cause) (yes bool, err error) {
	if c.Kind != event.ByTurn {
		return false, nil
	}
	err = tx.One("SELECT t.asker <> 'owner' OR t.tainted = 1 OR s.watermark <> 'owner' FROM turns t JOIN sessions s ON s.id = t.session WHERE t.id = ?", []any{c.ID}, &yes)
	if errors.Is(err, sql.ErrNoRows) {
		// A turn that cannot be found counts as foreign: the safe answer.
		return true, nil
	}
	return yes, err
}

// putButtons stores the buttons of an outbox row.
func putButtons(tx *Tx, outbox int64, buttons []channels.Choice) error {
	if len(buttons) == 0 {
		return nil
	}
	doc, err := sqlite.Doc(buttons)
	if err != nil {
		return err
	}
	return tx.Run("UPDATE outbox SET choices = ? WHERE id = ?", doc, outbox)
}

// readButtons returns the buttons of an outbox row, or nil.
func readButtons(tx *Tx, outbox int64) (buttons []channels.Choice, err error) {
	err = tx.One("SELECT choices FROM outbox WHERE id = ?", []any{outbox}, sqlite.JSON(&buttons))
	return buttons, err
}
