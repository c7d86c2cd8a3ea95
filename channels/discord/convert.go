package discord

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"hob/channels"
	"hob/channels/wire"
)

// id names a message: by its channel too, where it can be answered and changed.
func id(channel, message string) string { return channel + "/" + message }

// cutID is the channel and the message that an id names; of a change of a message, that message.
func cutID(s string) (channel, message string, ok bool) {
	m := regexp.MustCompile("^(" + snowflake + ")/(" + snowflake + ")(?:/|$)").FindStringSubmatch(s)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// escape makes a word a part of a path.
func escape(s string) string { return url.PathEscape(s) }

// newer is the newer one of two messages: ids grow with time ("Snowflakes").
func newer(a, b string) string {
	if len(a) != len(b) && len(a) > len(b) || len(a) == len(b) && a > b {
		return a
	}
	return b
}

// place is where a message was written.
type place struct {
	chat channels.Chat
	ok   bool // hob has something to do with it
}

// maxPlaces bounds what is remembered of channels: anybody can begin threads.
const maxPlaces = 1000

// place finds out where a message was written. In channels that are not listed only what calls hob is looked at: a thread has an
// id of its own.
func (r *reader) place(ctx context.Context, m *message) (place, error) {
	if m.Guild == "" {
		return place{chat: channels.Chat{ID: m.Author.ID}, ok: true}, nil
	}
	listed := slices.Contains(r.Groups, m.Channel)
	if len(r.Groups) == 0 || !listed && !r.called(m) {
		return place{}, nil
	}
	return r.group(ctx, m.Channel)
}

// group is a channel of a server: one that is listed, or a thread in one. Its name is only shown.
func (r *reader) group(ctx context.Context, channel string) (place, error) {
	if p, ok := r.places[channel]; ok {
		return p, nil
	}
	listed := slices.Contains(r.Groups, channel)
	var about room
	err := r.api.call(ctx, http.MethodGet, "/channels/"+escape(channel), nil, &about)
	if err != nil && !listed && (!wire.Final(err) || wire.HasStatus(err, http.StatusUnauthorized, http.StatusTooManyRequests)) {
		return place{}, fmt.Errorf("look at a channel: %w", err)
	}
	if err != nil {
		r.log.Debug("nothing is known of a channel", "channel", r.name, "id", channel, "err", err)
	}
	var p place
	switch {
	case listed:
		p = place{channels.Chat{ID: "#" + channel, Group: channel, Title: about.Name}, true}
	case about.thread() && slices.Contains(r.Groups, about.Parent):
		p = place{channels.Chat{ID: "#" + about.Parent + "/" + channel, Group: about.Parent, Title: about.Name}, true}
	}
	if len(r.places) >= maxPlaces {
		clear(r.places)
	}
	r.places[channel] = p
	return p, nil
}

// decoder makes messages of what Discord says to a bot.
type decoder struct {
	me    user
	web   *client
	known recent[author]
}

// author is who wrote a message, and where: a deletion does not say it.
type author struct {
	from channels.Person
	chat channels.Chat
}

// called tells whether a message is meant for hob: it names it, or answers it.
func (e *decoder) called(m *message) bool {
	return slices.ContainsFunc(m.Calls, func(u user) bool { return u.ID == e.me.ID }) ||
		m.To.Type != typeForward && m.Replied != nil && m.Replied.Author != nil && m.Replied.Author.ID == e.me.ID
}

// message is what somebody wrote.
func (e *decoder) message(m *message, at place) channels.Message {
	said := m.content
	out := channels.Message{
		ID: id(m.Channel, m.ID), From: e.person(m), Chat: at.chat, Mentioned: e.called(m), At: m.At,
		Auto: m.Type != typeDefault && m.Type != typeReply || m.Author.System,
	}
	switch {
	case m.To.Type == typeForward && m.To.Message != "":
		out.Forwarded = true
		if len(m.Snapshots) > 0 {
			said = m.Snapshots[0].Message
		}
	case m.Type == typeReply && m.To.Message != "":
		out.ReplyTo = id(m.Channel, m.To.Message)
	}
	out.Text = e.words(said.Text, m.Calls)
	if out.Text == "" {
		out.Text = said.described()
	}
	out.Files = e.files(said.Files, m.Flags&flagVoice != 0)
	e.known.put(m.ID, author{out.From, out.Chat})
	return out
}

// person is who wrote a message. A web hook may call itself anything.
func (e *decoder) person(m *message) channels.Person {
	name := m.Author.name()
	if m.Member.Nick != "" {
		name = m.Member.Nick
	}
	return channels.Person{ID: m.Author.ID, Name: name, Bot: m.Author.Bot || m.Webhook != "", Self: m.Author.ID == e.me.ID}
}

// words are a text without the call of the bot at its beginning; who else is called stands there by name.
func (e *decoder) words(text string, calls []user) string {
	call := regexp.MustCompile(`^[\s,:]*<@!?` + regexp.QuoteMeta(e.me.ID) + `>[ ,:\n]*`)
	rest := text
	for m := call.FindString(rest); m != ""; m = call.FindString(rest) {
		rest = rest[len(m):]
	}
	if rest == "" {
		rest = text // only called, with nothing to say
	}
	var names []string
	for _, u := range calls {
		names = append(names, "<@"+u.ID+">", "@"+u.name(), "<@!"+u.ID+">", "@"+u.name())
	}
	return strings.NewReplacer(names...).Replace(rest)
}

// described is in words what came without any.
func (c content) described() string {
	switch {
	case len(c.Stickers) > 0:
		return "[sticker " + c.Stickers[0].Name + "]"
	case c.Poll != nil:
		return "[poll: " + c.Poll.Question.Text + "]"
	}
	return ""
}

// files are what a message brings.
func (e *decoder) files(list []attachment, voice bool) []channels.Attachment {
	var files []channels.Attachment
	for _, a := range list {
		f := channels.Attachment{Name: a.Name, MIME: a.MIME, Size: a.Size, Voice: voice, Length: time.Duration(a.Length * float64(time.Second))}
		if f.Name == "" {
			f.Name = "attachment"
		}
		if f.MIME == "" {
			f.MIME = "application/octet-stream"
		}
		f.Open = func(ctx context.Context) (io.ReadCloser, error) { return e.web.download(ctx, a.URL) }
		files = append(files, f)
	}
	return files
}
