package channels

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"hob/daemon/event"
)

// InboxStore stores what channels receive.
type InboxStore interface {
	// Accept commits the inputs and the cursor (nil: none) together. An input whose (source, id) is already
	// stored is skipped.
	Accept(ctx context.Context, ins []event.In, c *Cursor) ([]event.Receipt, error)
	// AcceptFiles commits an input with the contents of its file parts, in the same order.
	AcceptFiles(ctx context.Context, in event.In, contents [][]byte) (event.Receipt, error)
	// TakeBack removes an input that was not read yet, if its author deleted the message.
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

// Admission knows who may write to hob.
type Admission interface {
	// Connected is called before anything is received on a channel, with hob's account there ("": unknown).
	// Pairings that were made with another account do not count; the owner gets one notice about them.
	Connected(ctx context.Context, channel, account string) error
	// Owners returns the owner's ids on a channel, from the config and from pairings.
	Owners(channel string) []string
	// Try tests a stranger's message against the open pairing of the channel, if there is one. The message
	// that bound the owner is remembered by its id: tested again after a crash, it is Bound again.
	Try(ctx context.Context, channel string, m Message) (Tried, error)
	// Unlisted notifies the owner, who has mentioned hob in a group that the config does not list, of the group's id: once for each group.
	Unlisted(ctx context.Context, channel string, m Message) error
	// Missed notifies the owner, on another channel, that messages may be missing. A first gap is reported at
	// once, further ones together; the same period is reported once. The gap is stored when Missed returns.
	Missed(ctx context.Context, channel string, gap Gap) error
}

// Gap is a period from which messages may be missing, and why. When From equals To, the period has no end yet.
type Gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Why  string    `json:"why"`
}

// ProofEvery is how often a quiet channel stores that it is connected. After a crash the reported gap begins
// at the last such proof, so it is longer than the real gap by at most this and the adapter's keep-alive
// interval.
const ProofEvery = time.Minute

// AudienceOf returns the people and groups that a channel listens to besides the owner. ok is false if
// senders cannot be distinguished, as on a topic: nobody can be paired there.
func AudienceOf(ch Channel) (a Audience, ok bool) {
	has, ok := ch.(audience)
	if !ok {
		return Audience{}, false
	}
	return has.listensTo(), true
}

// channelInbox is the Inbox of one channel. It admits or refuses each message, rejects inputs of other
// channels, and marks receiving as healthy.
type channelInbox struct {
	InboxStore
	admission Admission
	name      string
	more      Audience // besides the owner
	now       func() time.Time
	received  func()
}

// rules returns whom the channel listens to now.
func (d *channelInbox) rules() Rules { return d.more.rules(d.admission.Owners(d.name)) }

// Receive admits the messages by the current rules and commits them with the cursor.
func (d *channelInbox) Receive(ctx context.Context, list []Message, c *Cursor) error {
	return (&reception{channelInbox: d}).receive(ctx, list, c)
}

// Gap notifies the owner that messages may be missing.
func (d *channelInbox) Gap(ctx context.Context, from, to time.Time, why string) error {
	if err := d.admission.Missed(ctx, d.name, Gap{from, to, why}); err != nil {
		return fmt.Errorf("report a gap: %w", err)
	}
	return nil
}

// Accept stores inputs that the channel made itself, and marks receiving as healthy.
func (d *channelInbox) Accept(ctx context.Context, ins []event.In, c *Cursor) ([]event.Receipt, error) {
	for _, in := range ins {
		if in.Source != d.name {
			return nil, fmt.Errorf("channel %q: an input with the source %q is not its own", d.name, in.Source)
		}
	}
	receipts, err := d.InboxStore.Accept(ctx, ins, c)
	if err != nil {
		return nil, fmt.Errorf("store received messages: %w", err)
	}
	d.received()
	return receipts, nil
}

// reception processes one list of messages in the order in which they arrived.
type reception struct {
	*channelInbox
	in []event.In // admitted, not committed yet
}

// receive admits a list of messages and commits them with the cursor after them. A message with files is
// committed alone, after everything before it. The cursor moves only with the last commit: after a crash in
// between, the platform offers the list again, and stored messages are recognised by their ids.
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
				continue // the code itself is not a message
			}
		}
		if refusal == OtherGroup && m.Mentioned && slices.Contains(rules.Owner, m.From.ID) {
			if err := r.admission.Unlisted(ctx, r.name, m); err != nil {
				return fmt.Errorf("tell of a group that is not listed: %w", err)
			}
		}
		if refusal != Admitted || gone[sameAuthor(m, m.ID)] || gone[sameAuthor(m, m.Edits)] {
			continue
		}
		if err := r.take(ctx, in, m); err != nil {
			return err
		}
	}
	_, err := r.Accept(ctx, r.in, c)
	return err
}

// messageKey identifies a message by its id, its author and its chat.
type messageKey struct{ id, person, chat string }

// sameAuthor identifies another message by the author of m, in the same chat.
func sameAuthor(m Message, id string) messageKey {
	return messageKey{id, m.From.ID, cmp.Or(m.Chat.Group, m.Chat.ID)}
}

// deleted lists the messages that a list deletes. Other entries of the list about these messages are skipped
// too, for example an edit of a message that was never admitted.
func deleted(list []Message) map[messageKey]bool {
	gone := map[messageKey]bool{}
	for _, m := range list {
		if m.Deletes != "" {
			gone[sameAuthor(m, m.Deletes)] = true
		}
	}
	return gone
}

// takeBack removes a message that was deleted before it was read. Earlier messages of the list are committed
// first, because the deleted one may be among them.
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

// flush commits what was admitted so far, without the cursor.
func (r *reception) flush(ctx context.Context) error {
	if len(r.in) == 0 {
		return nil
	}
	_, err := r.Accept(ctx, r.in, nil)
	r.in = nil
	return err
}

// take adds an input to the final commit. An input with files is committed at once.
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
		return fmt.Errorf("store received files: %w", err)
	}
	return nil
}
