package channels

import (
	"context"
	"errors"
	"fmt"

	"hob/daemon/fail"
)

// drafted is a lane's work on a row whose draft a message shows, now that the text is known.
type drafted struct{ *Pump }

// replace puts a row's text in the place of the draft. Its other parts are left to the next round. The text is cut once: what the platform's
// form is at a later try must not move a border between parts of which some have arrived.
func (p drafted) replace(ctx context.Context, row Row, ch Channel, whole Delivery) error {
	if !row.Cut {
		if cut, err := p.cutDraft(ctx, &row, ch, whole); err != nil || !cut {
			return err
		}
	}
	d := row.Todo[0]
	d.Attempts++
	d = p.complete(row, d)
	repeats := AbilitiesOf(ch).Repeats
	if repeats == ByLook {
		d.Unsure = 0 // it was looked for, and there is only this one
	}
	err := p.edit(ctx, ch, p.marked(row, d, repeats, p.isOwner(row.To)), row.Shown)
	fail.Point("draft.replaced")
	v := afterEdit(d, row.Shown, err, p.Clock.Wall())
	if v.State == Retry {
		p.heed(row.To, err, v.At)
	}
	if v.Anew {
		d.Nonce = p.nonce() // what a platform has taken under the other one it would not take again
	}
	p.finish(ctx, row, d, v)
	return nil
}

// nonce makes one.
func (p drafted) nonce() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Ident.Code(16)
}

// cutDraft cuts a row's text, whose first part takes the place of the draft's. False: there is nothing in it, and the row is at its end.
func (p drafted) cutDraft(ctx context.Context, row *Row, ch Channel, whole Delivery) (bool, error) {
	files, named := carried(*row, ch, p.isOwner(row.To))
	parts := p.cut(row.Body+named, ch, files...)
	if len(parts) == 0 || len(row.Todo) == 0 {
		p.finish(ctx, *row, whole, Verdict{State: Dead, Reason: "there is nothing in it"})
		return false, nil
	}
	if err := p.Store.Split(ctx, row.ID, parts, nil); err != nil {
		return false, fmt.Errorf("split: %w", err)
	}
	row.Parts, row.Todo[0].Body = len(parts), parts[0].Body
	return true, nil
}

// edit makes the edit. That a message cannot be edited says nothing about the channel's health.
func (p drafted) edit(ctx context.Context, ch Channel, d Delivery, remoteID string) error {
	editor, can := ch.(Editor)
	if !can || remoteID == "" {
		return fmt.Errorf("what has been sent cannot be changed: %w", ErrPermanent)
	}
	err := edit(ctx, editor, d, remoteID)
	if !errors.Is(err, ErrPermanent) {
		p.Report(d.To.Channel(), err)
	}
	return err
}
