package telegram

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"hob/channels"
)

// id makes a message id that is unique over all chats and all bots that the section may have had.
func (c *Channel) id(chat, message int64) string {
	return fmt.Sprintf("%s/%d/%d", c.bot, chat, message)
}

// listed reports whether the section lists a group.
func (c *Channel) listed(group int64) bool {
	return slices.Contains(c.Groups, strconv.FormatInt(group, 10))
}

// message converts an update. It returns false if the update contains nothing that hob reads.
func (r *reader) message(u update) (channels.Message, bool) {
	switch {
	case u.Message != nil:
		return r.textMessage(u.Message), true
	case u.Edited != nil && u.Edited.Location != nil: // see updateLocation
	case u.Edited != nil:
		m := r.textMessage(u.Edited)
		m.Edits = m.ID
		m.ID += "/" + strconv.FormatInt(u.ID, 10) // each edit of a message is a separate update
		return m, true
	case u.Callback != nil && u.Callback.Message != nil && u.Callback.From != nil:
		return r.buttonPress(u.Callback), true
	}
	return channels.Message{}, false
}

// updateLocation updates the position of a live location in a message of the same poll ("Location", live_period).
// While a location is shared, each movement arrives as an edit, and the last edit has no live_period. Nobody
// wrote these edits, so they are not messages. A location that was already committed keeps its first
// position.
func (r *reader) updateLocation(list []channels.Message, m *message) {
	if m == nil || m.Location == nil {
		return
	}
	id := r.channel.id(m.Chat.ID, m.ID)
	for i := range list {
		if list[i].ID == id {
			list[i].Text = m.described()
		}
	}
}

// textMessage converts a message. Its text is the text itself, the caption of a file, or a description of other
// content.
func (r *reader) textMessage(m *message) channels.Message {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.Marks
	}
	text, called := r.withoutMention(text, entities)
	out := channels.Message{
		ID: r.channel.id(m.Chat.ID, m.ID), From: r.person(m), Chat: chatOf(m), Text: text, Mentioned: called,
		Forwarded: len(m.Origin) > 0 || m.Forwarded != 0 || m.Via != nil, Auto: m.Automatic, Files: r.files(m), At: time.Unix(m.Date, 0),
	}
	if text == "" {
		out.Text = m.described()
	}
	if reply := m.Reply; reply != nil && len(reply.Opening) == 0 { // in a topic, every message replies to the topic's first service message
		out.ReplyTo = r.channel.id(m.Chat.ID, reply.ID)
		out.Mentioned = out.Mentioned || reply.From != nil && reply.From.ID == r.me.ID
	}
	// Only in private chats: in a group "/start" has no parameter.
	if out.Chat.Group == "" {
		var linked bool
		out.Text, linked = withoutStart(out.Text)
		out.Forwarded = out.Forwarded || linked
	}
	// Only one picture of an album carries the caption, and with it the mention.
	if m.Album != "" {
		album := fmt.Sprintf("%d/%s/%s", m.Chat.ID, m.Album, out.From.ID)
		if out.Mentioned {
			r.album = album
		}
		out.Mentioned = out.Mentioned || r.album == album
	}
	return out
}

// buttonPress converts the press of a button.
func (r *reader) buttonPress(c *callback) channels.Message {
	return channels.Message{
		ID: r.channel.bot + "/callback/" + c.ID, From: r.named(c.From), Chat: chatOf(c.Message), Choice: c.Data,
		ReplyTo: r.channel.id(c.Message.Chat.ID, c.Message.ID), Mentioned: true,
	}
}

// chatOf returns the chat of a message. A forum topic has its own address.
func chatOf(m *message) channels.Chat {
	local := strconv.FormatInt(m.Chat.ID, 10)
	if m.Chat.Type == "private" {
		return channels.Chat{ID: local}
	}
	c := channels.Chat{ID: local, Group: local, Title: m.Chat.Title}
	if m.Topic && m.Thread != 0 {
		c.ID += "/" + strconv.FormatInt(m.Thread, 10)
	}
	return c
}

// person returns the author of a message. Somebody who writes in the name of a group or a channel is
// identified by that group or channel only: From then holds a placeholder account that all such writers
// share.
func (r *reader) person(m *message) channels.Person {
	if m.SenderChat != nil {
		return channels.Person{ID: strconv.FormatInt(m.SenderChat.ID, 10), Name: m.SenderChat.Title}
	}
	return r.named(m.From)
}

// named converts a user.
func (r *reader) named(u *user) channels.Person {
	if u == nil {
		return channels.Person{}
	}
	p := channels.Person{ID: strconv.FormatInt(u.ID, 10), Name: strings.TrimSpace(u.First + " " + u.Last), Bot: u.Bot, Self: u.ID == r.me.ID}
	p.Name = cmp.Or(p.Name, u.Username)
	return p
}

// withoutMention removes a mention of the bot from the beginning of a text, and reports whether the text mentions the
// bot anywhere: by user name, by a mention without a name ("MessageEntity", text_mention), or by a command
// that names it. Offsets count UTF-16 code units.
func (r *reader) withoutMention(text string, entities []entity) (rest string, called bool) {
	if len(entities) == 0 {
		return text, false
	}
	units := utf16.Encode([]rune(text))
	start := 0 // index of the remaining text
	command := ""
	for _, e := range entities {
		if e.Offset < 0 || e.Length <= 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset {
			continue
		}
		end := e.Offset + e.Length
		name, at, _ := strings.Cut(string(utf16.Decode(units[e.Offset:end])), "@")
		mine := strings.EqualFold(at, r.me.Username) && at != ""
		switch {
		case e.Type == "bot_command" && mine:
			called = true
			if e.Offset == 0 {
				command, start = name, end
			}
		case e.Type == "mention" && mine, e.Type == "text_mention" && e.User != nil && e.User.ID == r.me.ID:
			called = true
			if e.Offset == start && command == "" {
				start = end
			}
		}
	}
	if start == 0 {
		return text, called
	}
	rest = string(utf16.Decode(units[start:]))
	if command != "" {
		return command + rest, called
	}
	if rest = strings.TrimLeft(rest, " ,:\n"); rest == "" {
		return text, called // a mention without other text
	}
	return rest, called
}

// withoutStart removes "/start " from a text. Links to a bot put their parameter there ("Deep linking"); the
// button that begins every new chat has none. linked reports that the author of the link chose the words, and
// not the person who opened it. A pairing code is an exception: it is only compared.
func withoutStart(text string) (rest string, linked bool) {
	rest, ok := strings.CutPrefix(text, "/start ")
	switch {
	case ok:
		return rest, !channels.IsCode(rest)
	case text == "/start":
		return "/help", false
	}
	return text, false
}

// described describes a message without text in words.
func (m *message) described() string {
	switch {
	case m.Sticker != nil:
		return strings.TrimSpace("[sticker "+m.Sticker.Emoji) + "]"
	case m.Venue != nil:
		return fmt.Sprintf("[place: %s, %s]", m.Venue.Title, m.Venue.Address)
	case m.Location != nil:
		return fmt.Sprintf("[location: %.5f, %.5f]", m.Location.Latitude, m.Location.Longitude)
	case m.Contact != nil:
		return fmt.Sprintf("[contact: %s, %s]", strings.TrimSpace(m.Contact.First+" "+m.Contact.Last), m.Contact.Phone)
	case m.Poll != nil:
		return "[poll: " + m.Poll.Question + "]"
	case m.Dice != nil:
		return fmt.Sprintf("[dice %s %d]", m.Dice.Emoji, m.Dice.Value)
	case m.Story != nil:
		return "[story]"
	case m.Checklist != nil:
		return m.Checklist.described()
	}
	return ""
}

// described lists the tasks. Ticks are left out, because a tick is not a new message.
func (c *checklist) described() string {
	words := []string{c.Title}
	for _, t := range c.Tasks {
		words = append(words, t.Text)
	}
	return "[checklist: " + strings.Join(words, "; ") + "]"
}

// files lists the files of a message. Recordings by Telegram's own apps have no names, so they get one here.
func (r *reader) files(m *message) []channels.Attachment {
	var list []channels.Attachment
	add := func(f *file, name, mime string, voice bool) {
		if f == nil || f.ID == "" {
			return
		}
		a := channels.Attachment{Name: f.Name, MIME: f.MIME, Size: f.Size, Voice: voice, Length: time.Duration(f.Length) * time.Second}
		a.Name = cmp.Or(a.Name, name)
		a.MIME = cmp.Or(a.MIME, mime)
		id := f.ID
		a.Open = func(ctx context.Context) (io.ReadCloser, error) { return r.channel.api.file(ctx, id) }
		list = append(list, a)
	}
	// Telegram offers a picture in several sizes.
	if len(m.Photo) > 0 {
		largest := slices.MaxFunc(m.Photo, func(a, b file) int { return a.Width*a.Height - b.Width*b.Height })
		add(&largest, "photo.jpg", "image/jpeg", false)
	}
	add(m.Voice, "voice.ogg", "audio/ogg", true)
	add(m.Audio, "audio.mp3", "audio/mpeg", false)
	add(m.Video, "video.mp4", "video/mp4", false)
	add(m.VideoNote, "video-note.mp4", "video/mp4", false)
	// For an animation, Telegram sends the same file as Document, for older clients.
	if m.Animation != nil {
		add(m.Animation, "animation.mp4", "video/mp4", false)
	} else {
		add(m.Document, "document", "application/octet-stream", false)
	}
	return list
}
