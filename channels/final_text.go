package channels

import (
	"context"
	"errors"
	"fmt"

	"hob/daemon/fail"
)

// draftDelivery delivers rows whose draft is already on the platform, once the final text is known.
type draftDelivery struct{ pump *Pump }

// replace puts the final text in place of the draft. The other parts follow in the next round. The text is
// split only once: a changed form at a later try must not move a border between parts of which some have
// arrived.
func (p draftDelivery) replace(ctx context.Context, row Row, ch Channel, whole Delivery) error {
	if !row.Split {
		if cut, err := p.splitDraft(ctx, &row, ch, whole); err != nil || !cut {
			return err
		}
	}
	d := row.Todo[0]
	d.Attempts++
	d = p.pump.complete(row, d)
	repeats := AbilitiesOf(ch).Repeats
	if repeats == ByLook {
		d.Unsure = 0 // the look-up found only this message
	}
	err := p.edit(ctx, ch, p.pump.marked(row, d, repeats, p.pump.isOwner(row.To)), row.Shown)
	fail.Point("draft.replaced")
	v := afterEdit(d, row.Shown, err, p.pump.Config.Clock.Wall())
	if v.State == Retry {
		p.pump.holdAddress(row.To, err, v.At)
	}
	if v.NewMessage {
		d.Nonce = p.nonce() // the platform would ignore a new message under the old nonce
	}
	p.pump.finish(ctx, row, d, v)
	return nil
}

// nonce makes a new nonce.
func (p draftDelivery) nonce() string {
	p.pump.mu.Lock()
	defer p.pump.mu.Unlock()
	return p.pump.Config.Ident.Code(16)
}

// splitDraft splits the row's text; the first part takes the place of the draft. False: the text is empty, and
// the row has ended.
func (p draftDelivery) splitDraft(ctx context.Context, row *Row, ch Channel, whole Delivery) (bool, error) {
	files, named := carried(*row, ch, p.pump.isOwner(row.To))
	parts := p.pump.split(row.above(row.Body, ch)+named, ch, files...)
	if len(parts) == 0 || len(row.Todo) == 0 {
		p.pump.finish(ctx, *row, whole, Verdict{State: Dead, Reason: "there is nothing in it"})
		return false, nil
	}
	if err := p.pump.Config.Store.Split(ctx, row.ID, parts, nil); err != nil {
		return false, fmt.Errorf("split: %w", err)
	}
	row.Parts, row.Todo[0].Body = len(parts), parts[0].Body
	return true, nil
}

// edit edits the draft. A message that cannot be edited says nothing about the channel's health.
func (p draftDelivery) edit(ctx context.Context, ch Channel, d Delivery, remoteID string) error {
	editor, can := ch.(Editor)
	if !can || remoteID == "" {
		return fmt.Errorf("the sent message cannot be changed: %w", ErrPermanent)
	}
	err := edit(ctx, editor, d, remoteID)
	if !errors.Is(err, ErrPermanent) {
		p.pump.Config.Report(d.To.Channel(), err)
	}
	return err
}
