package signal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"hob/channels"
)

// me identifies hob's account in messages, by its phone number and its account id.
type me struct{ Number, UUID string }

// is reports whether a number or an account id is hob's.
func (m me) is(number, uuid string) bool {
	return number != "" && number == m.Number || uuid != "" && strings.EqualFold(uuid, m.UUID)
}

// id makes the id of a message. Signal identifies a message by its author and its timestamp. For hob's own
// messages the id is the timestamp alone, which is what Send returns.
func (m me) id(number, uuid string, timestamp int64) string {
	at := strconv.FormatInt(timestamp, 10)
	if m.is(number, uuid) {
		return at
	}
	return strings.ToLower(uuid) + "/" + at
}

// message converts an envelope. It returns false if hob reads nothing in it.
func (r *reader) message(e *envelope) (channels.Message, bool) {
	// Account ids are compared in lower case.
	from := channels.Person{ID: strings.ToLower(e.UUID), Name: e.Name, Self: r.me.is(e.Number, e.UUID)}
	from.Name = cmp.Or(from.Name, e.Number)
	switch {
	case e.Sync != nil && e.Sync.Sent != nil && from.Self:
		return r.note(e, e.Sync.Sent, from)
	case e.Edit != nil && e.Edit.Data != nil:
		return r.edited(e, e.Edit, from)
	case e.Data != nil:
		return r.textMessage(e, e.Data, from)
	}
	return channels.Message{}, false
}

// note converts a message that the account's owner sent to the account itself from another device (Note to
// Self). That is how owners talk to hob if hob uses their own account. Messages to others are ignored.
func (r *reader) note(e *envelope, s *sent, from channels.Person) (channels.Message, bool) {
	if !r.me.is(s.Number, s.UUID) || s.Group != nil || from.ID == "" {
		return channels.Message{}, false
	}
	from.Self = false
	var m channels.Message
	var ok bool
	if s.Edit != nil && s.Edit.Data != nil {
		m, ok = r.edited(e, s.Edit, from)
	} else {
		m, ok = r.textMessage(e, &s.data, from)
	}
	m.ID = "note/" + m.ID // an answer in this chat must not have the same id
	if m.Edits != "" {
		m.Edits = "note/" + m.Edits
	}
	if m.Deletes != "" {
		m.Deletes = "note/" + m.Deletes
	}
	return m, ok
}

// edited converts a message that replaces an earlier one.
func (r *reader) edited(e *envelope, ed *edit, from channels.Person) (channels.Message, bool) {
	m, ok := r.textMessage(e, ed.Data, from)
	m.Edits = r.me.id(e.Number, e.UUID, ed.Target)
	return m, ok && ed.Target != 0
}

// textMessage converts a message or a deletion. Reactions and answers to stories are ignored.
func (r *reader) textMessage(e *envelope, d *data, from channels.Person) (channels.Message, bool) {
	if d.Timestamp == 0 || present(d.Reaction) || present(d.Story) {
		return channels.Message{}, false
	}
	m := channels.Message{
		ID: r.me.id(e.Number, e.UUID, d.Timestamp), From: from, Chat: channels.Chat{ID: from.ID}, At: time.UnixMilli(d.Timestamp),
	}
	at := target{Person: from.ID}
	if d.Group != nil {
		m.Chat = channels.Chat{ID: d.Group.ID, Group: d.Group.ID, Title: d.Group.Name}
		at = target{Group: d.Group.ID}
	}
	if d.Delete != nil {
		m.Deletes = r.me.id(e.Number, e.UUID, d.Delete.Timestamp)
		return m, d.Delete.Timestamp != 0
	}
	m.Text, m.Mentioned = r.replaceMentions(d.Text, d.Mentions)
	if q := d.Quote; q != nil {
		m.ReplyTo = r.me.id(q.Number, q.UUID, q.ID)
		m.Mentioned = m.Mentioned || r.me.is(q.Number, q.UUID)
	}
	if d.Sticker != nil && m.Text == "" {
		m.Text = strings.TrimSpace("[sticker "+d.Sticker.Emoji) + "]"
	}
	m.Files = r.files(d.Attachments, at)
	return m, true
}

// present reports whether an optional field has a value.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// replaceMentions replaces the placeholders of mentions by names, and removes a mention of hob from the beginning of
// the text. called: the text mentions hob. Offsets count UTF-16 code units.
func (r *reader) replaceMentions(text string, mentions []mention) (rest string, called bool) {
	if len(mentions) == 0 {
		return text, false
	}
	units := utf16.Encode([]rune(text))
	list := slices.Clone(mentions)
	slices.SortFunc(list, func(a, b mention) int { return b.Start - a.Start }) // from the end, so that earlier offsets stay valid
	behind := len(units)
	first := false
	for _, m := range list {
		if m.Start < 0 || m.Length <= 0 || m.Start > behind || m.Length > behind-m.Start {
			continue
		}
		name := "@" + m.Name
		mine := r.me.is(m.Number, m.UUID)
		if mine {
			called, name = true, "@hob"
		}
		before, after := units[:m.Start], units[m.Start+m.Length:]
		if first = mine && strings.TrimSpace(string(utf16.Decode(before))) == ""; first {
			name = ""
		}
		behind = m.Start
		units = slices.Concat(before, utf16.Encode([]rune(name)), after)
	}
	rest = string(utf16.Decode(units))
	if !first {
		return rest, called
	}
	if rest = strings.TrimLeft(rest, " ,:\n"); rest == "" {
		return "@hob", called // a mention without other text
	}
	return rest, called
}

// files lists the files of a message. A sound without a name was recorded in Signal, so it is a voice note.
func (r *reader) files(list []attachment, at target) []channels.Attachment {
	var files []channels.Attachment
	for _, a := range list {
		if a.ID == "" {
			continue
		}
		f := channels.Attachment{Name: a.Name, MIME: a.MIME, Size: max(a.Size, 0), Voice: a.Name == "" && strings.HasPrefix(a.MIME, "audio/")}
		if f.Name == "" {
			f.Name = path.Base(a.ID)
		}
		f.MIME = cmp.Or(f.MIME, "application/octet-stream")
		f.Open = func(ctx context.Context) (io.ReadCloser, error) { return r.channel.rpc.file(ctx, a.ID, at) }
		files = append(files, f)
	}
	return files
}

// read converts the data of an event. It returns false if hob reads nothing in it.
func (r *reader) read(raw []byte) (channels.Message, bool, error) {
	var got received
	if err := json.Unmarshal(raw, &got); err != nil {
		r.channel.log.Warn("signal event skipped", "channel", r.channel.name, "err", err)
		return channels.Message{}, false, nil
	}
	switch {
	case got.Account == "" || r.me.is(got.Account, got.Account) || r.me.Number == "" && !personForm().MatchString(got.Account):
	case r.lists:
		return channels.Message{}, false, nil // an event of an account that was added to the daemon
	default:
		return channels.Message{}, false, fmt.Errorf("signal-cli serves the account %s here, not %s: set account, or start it with -a %s", got.Account, r.channel.account, r.channel.account)
	}
	if got.Exception != nil {
		r.channel.log.Warn("signal-cli could not read a message", "channel", r.channel.name, "type", got.Exception.Type, "why", got.Exception.Message)
	}
	if got.Envelope == nil {
		return channels.Message{}, false, nil
	}
	m, ok := r.message(got.Envelope)
	return m, ok, nil
}
