package signal

import (
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

// me is hob's account: what messages call it by.
type me struct{ Number, UUID string }

func (m me) is(number, uuid string) bool {
	return number != "" && number == m.Number || uuid != "" && strings.EqualFold(uuid, m.UUID)
}

// id names a message, as Signal itself does: by its author and its timestamp. Of hob's own it is the timestamp alone, which is what a send
// returns.
func (m me) id(number, uuid string, timestamp int64) string {
	at := strconv.FormatInt(timestamp, 10)
	if m.is(number, uuid) {
		return at
	}
	return strings.ToLower(uuid) + "/" + at
}

// message is what an envelope says; false when it says nothing that hob could read.
func (r *reader) message(e *envelope) (channels.Message, bool) {
	from := channels.Person{ID: strings.ToLower(e.UUID), Name: e.Name, Self: r.me.is(e.Number, e.UUID)}
	if from.Name == "" {
		from.Name = e.Number
	}
	switch {
	case e.Sync != nil && e.Sync.Sent != nil && from.Self:
		return r.note(e, e.Sync.Sent, from)
	case e.Edit != nil && e.Edit.Data != nil:
		return r.edited(e, e.Edit, from)
	case e.Data != nil:
		return r.written(e, e.Data, from)
	}
	return channels.Message{}, false
}

// note is what the account's owner wrote to himself with another device of the account: he talks to hob there when the account is his own.
// What he wrote to others is none of hob's business.
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
		m, ok = r.written(e, &s.data, from)
	}
	m.ID = "note/" + m.ID // an answer to a note must not have the same id as the note
	if m.Edits != "" {
		m.Edits = "note/" + m.Edits
	}
	if m.Deletes != "" {
		m.Deletes = "note/" + m.Deletes
	}
	return m, ok
}

// edited is a message in the place of an earlier one.
func (r *reader) edited(e *envelope, ed *edit, from channels.Person) (channels.Message, bool) {
	m, ok := r.written(e, ed.Data, from)
	m.Edits = r.me.id(e.Number, e.UUID, ed.Target)
	return m, ok && ed.Target != 0
}

// written is a message that somebody wrote, or took back. Reactions and answers to stories are none.
func (r *reader) written(e *envelope, d *data, from channels.Person) (channels.Message, bool) {
	if d.Timestamp == 0 || given(d.Reaction) || given(d.Story) {
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
	m.Text, m.Mentioned = r.words(d.Text, d.Mentions)
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

func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// words are a text with the names of people in the places where Signal leaves a stand-in, without the call of hob at its beginning; and
// whether it calls hob anywhere.
func (r *reader) words(text string, mentions []mention) (rest string, called bool) {
	if len(mentions) == 0 {
		return text, false
	}
	units := utf16.Encode([]rune(text))
	list := slices.Clone(mentions)
	slices.SortFunc(list, func(a, b mention) int { return b.Start - a.Start }) // from the end, so that what is left keeps its place
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
		return "@hob", called // only called, with nothing to say
	}
	return rest, called
}

// files are what a message brings. Signal gives a file no name when its own program recorded it: a sound without one is spoken words.
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
		if f.MIME == "" {
			f.MIME = "application/octet-stream"
		}
		f.Open = func(ctx context.Context) (io.ReadCloser, error) { return r.rpc.file(ctx, a.ID, at) }
		files = append(files, f)
	}
	return files
}

// read is what the data of an event says; false when there is nothing in it for hob.
func (r *reader) read(raw []byte) (channels.Message, bool, error) {
	var got received
	if err := json.Unmarshal(raw, &got); err != nil {
		r.log.Warn("signal event passed over", "channel", r.name, "err", err)
		return channels.Message{}, false, nil
	}
	switch {
	case got.Account == "" || r.me.is(got.Account, got.Account) || r.me.Number == "" && !personForm.MatchString(got.Account):
	case r.lists:
		return channels.Message{}, false, nil // of another account, that came to the daemon just now
	default:
		return channels.Message{}, false, fmt.Errorf("signal-cli serves the account %s here, not %s: set account, or start it with -a %s", got.Account, r.account, r.account)
	}
	if got.Exception != nil {
		r.log.Warn("signal-cli could not read a message", "channel", r.name, "type", got.Exception.Type, "why", got.Exception.Message)
	}
	if got.Envelope == nil {
		return channels.Message{}, false, nil
	}
	m, ok := r.message(got.Envelope)
	return m, ok, nil
}
