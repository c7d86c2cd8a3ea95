package channels

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"hob/daemon/event"
)

// InboxStore keeps what channels receive.
type InboxStore interface {
	// Accept commits the inputs and the cursor (nil: none) together; a pair (source, id) that is there already is passed over.
	Accept(ctx context.Context, ins []event.In, c *Cursor) ([]event.Receipt, error)
	// AcceptFiles commits an input with the contents of its file parts, in their order.
	AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error)
	// TakeBack drops an input that has not been read yet, when the person who wrote it has deleted it.
	TakeBack(ctx context.Context, w Withdrawal) error
	// Cursor returns the stored cursor of a source, "" when there is none or it belonged to another identity.
	Cursor(ctx context.Context, source, identity string) (string, error)
}

// Withdrawal is a message that was deleted on its platform.
type Withdrawal struct {
	Source, ExtID string        // the message
	Person        string        // who deleted it
	Chat          event.Address // where
}

// Admission knows who may write.
type Admission interface {
	// Met is called before anything is received on a channel, with the account that hob has there ("": not known). Pairings made with another
	// account do not count; the owner gets one notice about them.
	Met(ctx context.Context, channel, account string) error
	// Owners are the owner's ids on a channel, of the config and by pairing.
	Owners(channel string) []string
	// Try shows a stranger's message to the pairing that is open on a channel, if there is one. The message that bound somebody is known by its
	// id: shown again, it is Bound again.
	Try(ctx context.Context, channel string, m Message) (Tried, error)
	// Missed notifies the owner, on another channel, that messages may be missing. A first gap is reported at once, further ones are gathered; the
	// same stretch is reported once. The gap is stored when Missed returns.
	Missed(ctx context.Context, channel string, gap Gap) error
}

// Gap is a period from which messages may be missing, and why. When From equals To, the period has no end yet.
type Gap struct {
	From, To time.Time
	Why      string
}

// ProofEvery is how often a channel stores that it is connected while no message arrives. After a crash the reported gap begins at the last such
// proof, so it is longer than the real gap by at most this and the adapter's keep-alive interval.
const ProofEvery = time.Minute

// AudienceOf returns the people and groups that a channel listens to beside the owner. ok is false where senders cannot be told apart, as on a
// topic: nobody can be paired there.
func AudienceOf(ch Channel) (a Audience, ok bool) {
	has, ok := ch.(audience)
	if !ok {
		return Audience{}, false
	}
	return has.listensTo(), true
}

// channelInbox is the Inbox of one channel. It admits or refuses each message, rejects inputs of other channels, and marks receiving as healthy.
type channelInbox struct {
	InboxStore
	admission Admission
	name      string
	more      Audience // beside the owner
	now       func() time.Time
	well      func()
}

// rules are to whom the channel listens now.
func (d *channelInbox) rules() Rules { return d.more.rules(d.admission.Owners(d.name)) }

// Receive lets in whom the rules let in, and commits that with the cursor.
func (d *channelInbox) Receive(ctx context.Context, list []Message, c *Cursor) error {
	return (&reception{channelInbox: d}).receive(ctx, list, c)
}

// Gap tells the owner that messages may be missing.
func (d *channelInbox) Gap(ctx context.Context, from, to time.Time, why string) error {
	if err := d.admission.Missed(ctx, d.name, Gap{from, to, why}); err != nil {
		return fmt.Errorf("tell of a gap: %w", err)
	}
	return nil
}

// Accept passes the inputs on.
func (d *channelInbox) Accept(ctx context.Context, ins []event.In, c *Cursor) ([]event.Receipt, error) {
	for _, in := range ins {
		if in.Source != d.name {
			return nil, fmt.Errorf("channel %q: an input with the source %q is not its own", d.name, in.Source)
		}
	}
	receipts, err := d.InboxStore.Accept(ctx, ins, c)
	if err != nil {
		return nil, fmt.Errorf("store what was received: %w", err)
	}
	d.well()
	return receipts, nil
}

// reception is one list of messages on its way in, one after the other, in the order in which they came.
type reception struct {
	*channelInbox
	in []event.In // let in, not committed yet
}

// receive takes a list of messages and the cursor after them. A message with files is committed alone, after everything before it: the
// cursor moves only with the last of them.
func (r *reception) receive(ctx context.Context, list []Message, c *Cursor) error {
	rules, gone := r.rules(), deleted(list)
	for _, m := range list {
		if m.Deletes != "" {
			if err := r.takeBack(ctx, m); err != nil {
				return err
			}
			continue
		}
		in, refusal := Admit(r.name, m, rules, r.now())
		if refusal == Stranger || refusal == Admitted && m.Chat.Group == "" {
			tried, err := r.admission.Try(ctx, r.name, m)
			if err != nil {
				return fmt.Errorf("look at a pairing: %w", err)
			}
			if tried == Bound {
				rules = r.rules()
				continue // the code is no message
			}
		}
		if refusal != Admitted || gone[beside(m, m.ID)] || gone[beside(m, m.Edits)] {
			continue
		}
		if err := r.take(ctx, in, m); err != nil {
			return err
		}
	}
	_, err := r.Accept(ctx, r.in, c)
	return err
}

// authored names a message, with who wrote it and where.
type authored struct{ id, person, chat string }

// beside names another message of whoever wrote m, where that was written.
func beside(m Message, id string) authored {
	return authored{id, m.From.ID, cmp.Or(m.Chat.Group, m.Chat.ID)}
}

// deleted is what a list takes back: what else it has of that, as an edit of something that was never let in, is not read either.
func deleted(list []Message) map[authored]bool {
	gone := map[authored]bool{}
	for _, m := range list {
		if m.Deletes != "" {
			gone[beside(m, m.Deletes)] = true
		}
	}
	return gone
}

// takeBack drops what was deleted before it was read; what came before it is committed first, for it may be among that.
func (r *reception) takeBack(ctx context.Context, m Message) error {
	if m.From.ID == "" {
		return nil
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	err := r.TakeBack(ctx, Withdrawal{Source: r.name, ExtID: m.Deletes, Person: m.From.ID, Chat: event.Address(r.name + ":" + m.Chat.ID)})
	if err != nil {
		return fmt.Errorf("take back a message: %w", err)
	}
	return nil
}

// flush commits what was let in so far, without the cursor.
func (r *reception) flush(ctx context.Context) error {
	if len(r.in) == 0 {
		return nil
	}
	_, err := r.Accept(ctx, r.in, nil)
	r.in = nil
	return err
}

// take adds an input to those that are committed at the end; one with files at once.
func (r *reception) take(ctx context.Context, in event.In, m Message) error {
	if len(m.Files) == 0 {
		r.in = append(r.in, in)
		return nil
	}
	if err := r.flush(ctx); err != nil {
		return err
	}
	in, contents := fetch(ctx, in, m.Files)
	if len(contents) == 0 {
		r.in = append(r.in, in)
		return nil
	}
	if _, err := r.AcceptFiles(ctx, in, contents); err != nil {
		return fmt.Errorf("store what came with a message: %w", err)
	}
	return nil
}
