package channels

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/channels/markup"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// deliver works on one row until it is finished, held, or has to wait. It returns only store errors; everything
// else is a verdict that is committed with the row.
func (p *Pump) deliver(ctx context.Context, row Row) error {
	row = p.bounded(row.hidden(p.Hide))
	whole := p.complete(row, Delivery{Body: row.Body + names(row.Files)})
	if len(row.Todo) > 0 {
		whole.Unsure = row.Todo[0].Unsure
	}
	if now := p.Clock.Wall(); !row.NotAfter.IsZero() && !now.Before(row.NotAfter) && !row.Interrupted {
		p.finish(ctx, row, whole, expired(whole, ""))
		return nil
	}
	ch, err := p.Channel(row.To.Channel())
	switch {
	case errors.Is(err, ErrNoChannel):
		name := row.To.Channel()
		p.finish(ctx, row, whole, dead(whole, fmt.Sprintf("there is no channel %q; add a section [channels.%s] to the configuration; hob outbox retry %d sends it then", name, name, row.ID)))
		return nil
	case err != nil:
		p.rest(row.To, awayWait)
		return nil
	}
	if p.restAway(row) {
		return nil
	}
	// The recipient's right is checked at the last moment before sending, because it may have been revoked
	// since the row was queued.
	if (rightsCheck{p}).stopped(ctx, row, whole) {
		return nil
	}
	if row.Drafted {
		err = draftDelivery{p}.replace(ctx, row, ch, whole)
	} else {
		err = p.parts(ctx, row, ch, whole)
	}
	if err != nil {
		p.rest(row.To, errorWait)
	}
	if err != nil && !errors.Is(err, ErrNotReady) { // ErrNotReady: it was dropped meanwhile
		return fmt.Errorf("deliver outbox row %d: %w", row.ID, err)
	}
	return nil
}

// hidden returns a row without the secrets in its texts. The store keeps the original texts.
func (r Row) hidden(hide func(string) string) Row {
	r.Body, r.Overtaken = hide(r.Body), hide(r.Overtaken)
	r.Todo, r.Quiet, r.Choices, r.Files = slices.Clone(r.Todo), slices.Clone(r.Quiet), slices.Clone(r.Choices), slices.Clone(r.Files)
	for i := range r.Todo {
		r.Todo[i].Body = hide(r.Todo[i].Body)
	}
	for i := range r.Quiet {
		r.Quiet[i].Body = hide(r.Quiet[i].Body)
	}
	for i := range r.Choices {
		// Data is sent to the platform too. Such a button sends back the form without the secret.
		r.Choices[i].Label, r.Choices[i].Data = hide(r.Choices[i].Label), hide(r.Choices[i].Data)
	}
	for i := range r.Files {
		r.Files[i].Name = hide(r.Files[i].Name)
	}
	return r
}

// bounded fills in when a row expires. Rows to the cli never expire.
func (p *Pump) bounded(row Row) Row {
	if row.NotAfter.IsZero() && row.To.Channel() != event.CLI.Channel() {
		life := Life(p.isOwner(row.To))
		if ch, err := p.Channel(row.To.Channel()); err == nil {
			if slow, ok := ch.(SlowSender); ok {
				life = max(life, slow.Patience())
			}
		}
		row.NotAfter = row.Queued.Add(life)
	}
	return row
}

// parts sends the parts of a row one after the other. An unsplit row is first split, and the parts are
// committed, so that every later try sends the same parts.
func (p *Pump) parts(ctx context.Context, row Row, ch Channel, whole Delivery) error {
	if row.Parts == 0 {
		text, joined := row.digest(p.Clock.Wall(), p.Zone())
		files, named := carried(row, ch, p.isOwner(row.To))
		row.Todo = p.split(row.above(text, ch)+named, ch, files...)
		row.Parts = len(row.Todo)
		if row.Parts == 0 {
			p.finish(ctx, row, whole, Verdict{State: Dead, Reason: "there is nothing in it"})
			return nil
		}
		if err := p.Store.Split(ctx, row.ID, row.Todo, joined); err != nil {
			return fmt.Errorf("split: %w", err)
		}
	}
	for i, d := range row.Todo {
		if i > 0 {
			fail.Point("between.parts")
		}
		if ctx.Err() != nil || i > 0 && (rightsCheck{p}).stopped(ctx, row, whole) {
			return nil
		}
		sent, err := p.part(ctx, row, ch, p.complete(row, d), i == 0)
		if err != nil || !sent {
			return err
		}
	}
	return nil
}

// above quotes the answered message above an answer that was overtaken, if the channel cannot refer to that message.
func (r Row) above(text string, ch Channel) string {
	if can, ok := ch.(Replier); r.Overtaken == "" || ok && can.Replies() {
		return text
	}
	return "> " + r.Overtaken + "\n\n" + text
}

// split splits a text for a channel and gives each part its nonce. Each file follows as a part of its own,
// unless the channel can enclose the first one in the last part of the text.
func (p *Pump) split(text string, ch Channel, files ...event.Enclosed) []Delivery {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ds []Delivery
	for _, part := range withoutMarks(FormOf(ch)).Split(text) {
		ds = append(ds, Delivery{Part: len(ds), Body: part, Nonce: p.Ident.Code(16)})
	}
	e, ok := ch.(Encloser)
	for i, f := range files {
		file := &File{Name: f.Name, MIME: f.MIME, Size: f.Size, Artifact: f.Artifact}
		if ok && e.Encloses() && i == 0 && len(ds) > 0 {
			ds[len(ds)-1].File = file
			continue
		}
		ds = append(ds, Delivery{Part: len(ds), File: file, Nonce: p.Ident.Code(16)})
	}
	return ds
}

// FormOf returns the text format of a channel.
func FormOf(ch Channel) markup.Form {
	if f, ok := ch.(TextFormatter); ok {
		return f.Form()
	}
	plain := markup.Plain()
	plain.Limit = defaultPart
	return plain
}

// withoutMarks shortens the limit of a form by the longest mark, in the units in which the platform counts, tags
// included.
func withoutMarks(f markup.Form) markup.Form {
	if f.Limit > 0 {
		f.Limit -= f.Size(f.Render("x"+longestMark)) - f.Size(f.Render("x"))
	}
	return f
}

// complete fills in the fields of a part that come from its row.
func (p *Pump) complete(row Row, d Delivery) Delivery {
	d.Outbox, d.Parts, d.To, d.ReplyRef, d.Urgent, d.NotAfter = row.ID, row.Parts, row.To, row.ReplyRef, row.Urgent, row.NotAfter
	d.Overtaken = row.Overtaken != ""
	if d.Part == row.Parts-1 {
		d.Choices = row.Choices
	}
	d.File = opened(d.File, p.Open)
	return d
}

// part tries one part and commits the result. sent reports whether the next part may follow.
//
// The order is: find out about an earlier try that may have arrived, commit "sending", send, commit the
// verdict. A crash between the two commits leaves "sending", which the next start treats as a try that may
// have arrived.
func (p *Pump) part(ctx context.Context, row Row, ch Channel, d Delivery, first bool) (sent bool, err error) {
	repeats := AbilitiesOf(ch).Repeats
	owner := p.isOwner(row.To)
	forOwner := owner || row.Cause == event.ByQuestion || row.Cause == event.ByNotice
	interrupted := row.Interrupted && first
	began := p.Clock.Wall()
	back := func() bool { return !p.Receives(row.To.Channel()).Before(began) }
	if interrupted || d.Unsure > 0 && repeats == ByLook {
		o := lookUp(ctx, ch, d, interrupted)
		if o.Looked == NotLooked && o.Err != nil {
			d.Attempts++ // repeated failures of the look-up back off like failures of the send
		}
		o.Recovered = back()
		v := After(d, o, repeats, p.Clock.Wall(), forOwner)
		if v.State == Retry && v.Unsure > 0 && interrupted && repeats != ByKey && !v.At.After(p.Clock.Wall()) && !p.mayRecover() {
			v = p.digest([]Row{row})
		}
		if v.State != Retry || v.At.After(p.Clock.Wall()) {
			if o.Looked == Found {
				p.Report(row.To.Channel(), nil) // the earlier try arrived
			}
			p.finish(ctx, row, d, v)
			return v.State == Sent, nil
		}
		d.Unsure = v.Unsure
	}
	// Before a part goes out a second time, the platform must answer: a repeat during an outage would only
	// add doubt.
	if repeats != ByKey && (d.Unsure > 0 || p.unconfirmed.has(row.To.Channel())) {
		if err := p.unconfirmed.probe(ctx, ch, row.To.Channel()); err != nil {
			p.Report(row.To.Channel(), err)
			d.Attempts++
			if d.Tried.IsZero() {
				d.Tried = row.Queued // the backoff grows with the time that the row has waited
			}
			p.finish(ctx, row, d, shortenBackoff(retry(d, err, p.Clock.Wall()), TryResult{Err: err, Recovered: back()}, p.Clock.Wall()))
			return false, nil
		}
	}
	d.Attempts++
	if d.Tried.IsZero() {
		d.Tried = p.Clock.Wall()
	}
	if err := p.Store.Sending(ctx, d); err != nil {
		return false, fmt.Errorf("mark part %d as sending: %w", d.Part, err)
	}
	fail.Point("sending.committed")
	if fail.Broken("sent-before-send") {
		p.settle(ctx, d, Verdict{State: Sent})
	}
	o := p.send(ctx, ch, p.marked(row, d, repeats, first && owner))
	p.Report(row.To.Channel(), o.Err)
	p.unconfirmed.note(row.To.Channel(), errors.Is(o.Err, ErrUnknown))
	o.Recovered = back()
	v := After(d, o, repeats, p.Clock.Wall(), forOwner)
	if v.State == Retry {
		p.holdAddress(row.To, o.Err, v.At)
	}
	if v.Instead != "" {
		d.Nonce = draftDelivery{p}.nonce() // the platform would ignore a new message under the nonce that it refused
	}
	p.finish(ctx, row, d, v)
	fail.Point("sending.sent")
	return v.State == Sent, nil
}

// lookUp asks a channel with a Finder whether an earlier try has arrived.
func lookUp(ctx context.Context, ch Channel, d Delivery, interrupted bool) TryResult {
	o := TryResult{Interrupted: interrupted}
	f, ok := ch.(Finder)
	if !ok {
		return o
	}
	if fail.Broken("no-look") {
		o.Looked = Missing
		return o
	}
	id, found, err := guarded(ctx, func(ctx context.Context) (string, bool, error) { return f.Find(ctx, d) })
	switch {
	case found && err == nil:
		o.Looked, o.RemoteID = Found, id
	case err == nil:
		o.Looked = Missing
	case errors.Is(err, ErrUnknown), errors.Is(err, ErrPermanent):
		o.Looked, o.Err = Unclear, err
	default:
		o.Err = fmt.Errorf("look up an earlier try: %w", err)
	}
	return o
}

func (p *Pump) send(ctx context.Context, ch Channel, d Delivery) TryResult {
	id, _, err := guarded(ctx, func(ctx context.Context) (string, bool, error) {
		id, err := ch.Send(ctx, d)
		return id, err == nil, err
	})
	return TryResult{RemoteID: id, Err: err}
}

// guarded calls an adapter. A panic may have come after the write, so it counts as unknown. The call is
// cancelled after a minute, or a few seconds after hob begins to stop.
func guarded(ctx context.Context, call func(context.Context) (string, bool, error)) (id string, ok bool, err error) {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
	defer cancel()
	drain := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(drainTime, cancel)
		context.AfterFunc(own, func() { timer.Stop() })
	})
	defer drain()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the channel panicked: %v: %w", r, ErrUnknown)
		}
	}()
	return call(own)
}

// The marks are separate paragraphs, so that they are not inside whatever a text ends with.
const (
	lateMark    = "\n\n(late: from %s)"
	repeatMark  = "\n\n(may be a repeat)"
	markTime    = "2006-01-02 15:04"
	longestMark = "\n\n(late: from " + markTime + ")" + repeatMark
)

// marked appends what the reader must know: that the message is late, or that it may be a repeat.
func (p *Pump) marked(row Row, d Delivery, repeats Repeats, mayBeLate bool) Delivery {
	d.Repeat = d.Unsure > 0
	if mayBeLate && p.Clock.Wall().Sub(row.Queued) > lateAfter {
		d.Body += fmt.Sprintf(lateMark, row.Queued.In(p.Zone()).Format(markTime))
	}
	if d.Repeat && repeats != ByKey && !fail.Broken("no-mark") {
		d.Body += repeatMark
	}
	return d
}

// finish chooses the addresses of a verdict's notice and question, and commits the verdict.
func (p *Pump) finish(ctx context.Context, row Row, d Delivery, v Verdict) {
	if v.Ask != nil && v.Ask.To == "" {
		if v.Ask.To = p.elsewhere(row.To, event.ByTurn); v.Ask.To == event.CLI {
			v.Ask.To = FirstOwner(p.Owner()) // it waits there until that channel works
		}
	}
	if v.Tell != nil && v.Tell.To == "" {
		v.Tell.To = p.elsewhere(row.To, row.Cause)
	}
	p.settle(ctx, d, v)
}

// settle commits a verdict, even while hob is stopping, and retries while the store fails: a sent message
// must not be forgotten. If hob ends first, the next start finds the row as interrupted.
func (p *Pump) settle(ctx context.Context, d Delivery, v Verdict) {
	for n := 1; ; n++ {
		err := p.Store.Settle(context.WithoutCancel(ctx), d, v)
		if err == nil {
			return
		}
		p.Log.Error("delivery not recorded", "outbox", d.Outbox, "part", d.Part, "state", string(v.State), "try", n, "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(time.Duration(n)*errorWait, awayWait)):
		}
	}
}
