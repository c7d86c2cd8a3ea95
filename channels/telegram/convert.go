package telegram

import (
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

// id names a message on all chats of all bots that a section may have had.
func (c *Channel) id(chat, message int64) string {
	return fmt.Sprintf("%s/%d/%d", c.bot, chat, message)
}

func (c *Channel) listed(group int64) bool {
	return slices.Contains(c.Groups, strconv.FormatInt(group, 10))
}

// message is what an update says; false when it says nothing that hob could read.
func (r *reader) message(u update) (channels.Message, bool) {
	switch {
	case u.Message != nil:
		return r.written(u.Message), true
	case u.Edited != nil && u.Edited.Location != nil: // see relocated
	case u.Edited != nil:
		m := r.written(u.Edited)
		m.Edits = m.ID
		m.ID += "/" + strconv.FormatInt(u.ID, 10) // each edit of a message is an update of its own
		return m, true
	case u.Callback != nil && u.Callback.Message != nil && u.Callback.From != nil:
		return r.pressed(u.Callback), true
	}
	return channels.Message{}, false
}

// relocated puts the newest place of a live location into its message ("Location", live_period). Each step of who shares it comes as an edit, the
// last one without live_period: nobody has written those, and none is a message of its own. What came with the same poll was read by nobody;
// what was handed on before keeps the place that it had.
func (r *reader) relocated(list []channels.Message, m *message) {
	if m == nil || m.Location == nil {
		return
	}
	id := r.id(m.Chat.ID, m.ID)
	for i := range list {
		if list[i].ID == id {
			list[i].Text = m.described()
		}
	}
}

// written is a message that somebody wrote.
func (r *reader) written(m *message) channels.Message {
	text, entities := m.Text, m.Entities
	if text == "" {
		text, entities = m.Caption, m.Marks
	}
	text, called := r.words(text, entities)
	out := channels.Message{
		ID: r.id(m.Chat.ID, m.ID), From: r.person(m), Chat: place(m), Text: text, Mentioned: called,
		Forwarded: len(m.Origin) > 0 || m.Forwarded != 0 || m.Via != nil, Auto: m.Automatic, Files: r.files(m), At: time.Unix(m.Date, 0),
	}
	if text == "" {
		out.Text = m.described()
	}
	if reply := m.Reply; reply != nil && len(reply.Opening) == 0 { // in a topic everything replies to its opening
		out.ReplyTo = r.id(m.Chat.ID, reply.ID)
		out.Mentioned = out.Mentioned || reply.From != nil && reply.From.ID == r.me.ID
	}
	if out.Chat.Group == "" {
		var linked bool
		out.Text, linked = started(out.Text)
		out.Forwarded = out.Forwarded || linked
	}
	if m.Album != "" {
		album := fmt.Sprintf("%d/%s/%s", m.Chat.ID, m.Album, out.From.ID)
		if out.Mentioned {
			r.album = album
		}
		out.Mentioned = out.Mentioned || r.album == album
	}
	return out
}

// pressed is a button that somebody pressed.
func (r *reader) pressed(c *callback) channels.Message {
	return channels.Message{
		ID: r.bot + "/callback/" + c.ID, From: r.named(c.From), Chat: place(c.Message), Choice: c.Data,
		ReplyTo: r.id(c.Message.Chat.ID, c.Message.ID), Mentioned: true,
	}
}

// place is where a message was written. A topic of a forum is a place of its own.
func place(m *message) channels.Chat {
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

// person is who wrote a message. Who writes in the name of a group or a channel is known by that name only: From is then a
// stand-in that all such writers share.
func (r *reader) person(m *message) channels.Person {
	if m.SenderChat != nil {
		return channels.Person{ID: strconv.FormatInt(m.SenderChat.ID, 10), Name: m.SenderChat.Title}
	}
	return r.named(m.From)
}

func (r *reader) named(u *user) channels.Person {
	if u == nil {
		return channels.Person{}
	}
	p := channels.Person{ID: strconv.FormatInt(u.ID, 10), Name: strings.TrimSpace(u.First + " " + u.Last), Bot: u.Bot, Self: u.ID == r.me.ID}
	if p.Name == "" {
		p.Name = u.Username
	}
	return p
}

// words are a text without the call of the bot at its beginning, and whether it calls the bot anywhere: by its name, by a mention without
// a name, or by a command that names it.
func (r *reader) words(text string, entities []entity) (rest string, called bool) {
	if len(entities) == 0 {
		return text, false
	}
	units := utf16.Encode([]rune(text))
	start := 0 // of what is left
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
		return text, called // only called, with nothing to say
	}
	return rest, called
}

// started is the text behind "/start": links to a bot put their parameter there ("Deep linking"), and the button that every
// new chat begins with has none. linked tells that who has made the link has chosen the words, and not who pressed the button; a code is only a code.
func started(text string) (rest string, linked bool) {
	rest, ok := strings.CutPrefix(text, "/start ")
	switch {
	case ok:
		return rest, !channels.IsCode(rest)
	case text == "/start":
		return "/help", false
	}
	return text, false
}

// described is in words what came without any.
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

// described is a list in words. What is ticked off is left out: a tick is no new message.
func (c *checklist) described() string {
	words := []string{c.Title}
	for _, t := range c.Tasks {
		words = append(words, t.Text)
	}
	return "[checklist: " + strings.Join(words, "; ") + "]"
}

// files are what a message brings. Telegram tells no names of what its own programs recorded.
func (r *reader) files(m *message) []channels.Attachment {
	var list []channels.Attachment
	add := func(f *file, name, mime string, voice bool) {
		if f == nil || f.ID == "" {
			return
		}
		a := channels.Attachment{Name: f.Name, MIME: f.MIME, Size: f.Size, Voice: voice, Length: time.Duration(f.Length) * time.Second}
		if a.Name == "" {
			a.Name = name
		}
		if a.MIME == "" {
			a.MIME = mime
		}
		id := f.ID
		a.Open = func(ctx context.Context) (io.ReadCloser, error) { return r.api.file(ctx, id) }
		list = append(list, a)
	}
	if len(m.Photo) > 0 {
		largest := slices.MaxFunc(m.Photo, func(a, b file) int { return a.Width*a.Height - b.Width*b.Height })
		add(&largest, "photo.jpg", "image/jpeg", false)
	}
	add(m.Voice, "voice.ogg", "audio/ogg", true)
	add(m.Audio, "audio.mp3", "audio/mpeg", false)
	add(m.Video, "video.mp4", "video/mp4", false)
	add(m.VideoNote, "video-note.mp4", "video/mp4", false)
	if m.Animation != nil {
		add(m.Animation, "animation.mp4", "video/mp4", false)
	} else {
		add(m.Document, "document", "application/octet-stream", false)
	}
	return list
}
