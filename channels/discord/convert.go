package discord

import (
	"cmp"
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

// id makes the id of a message. It includes the channel, which replies and edits need.
func id(channel, message string) string { return channel + "/" + message }

// splitID splits an id into channel and message. Of an edit or a deletion, it returns the original message.
func splitID(s string) (channel, message string, ok bool) {
	m := regexp.MustCompile("^(" + snowflake + ")/(" + snowflake + ")(?:/|$)").FindStringSubmatch(s)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// escape makes a string a segment of a path.
func escape(s string) string { return url.PathEscape(s) }

// newer returns the newer of two messages: ids grow with time ("Snowflakes").
func newer(a, b string) string {
	if len(a) != len(b) && len(a) > len(b) || len(a) == len(b) && a > b {
		return a
	}
	return b
}

// place is the chat of a message.
type place struct {
	chat channels.Chat
	ok   bool // hob listens there
}

// maxPlaces limits the cache of channels, because anybody can create threads.
const maxPlaces = 1000

// place finds the chat of a message. In channels that are not listed, only messages that mention hob are
// looked at: they may be in a thread of a listed channel, and a thread has its own id.
func (r *reader) place(ctx context.Context, m *message) (place, error) {
	if m.Guild == "" {
		return place{chat: channels.Chat{ID: m.Author.ID}, ok: true}, nil
	}
	listed := slices.Contains(r.channel.Groups, m.Channel)
	if len(r.channel.Groups) == 0 || !listed && !r.decoder.mentionsHob(m) {
		return place{}, nil
	}
	return r.group(ctx, m.Channel)
}

// group returns a listed channel of a server, or a thread in one. The name is used for display only.
func (r *reader) group(ctx context.Context, channel string) (place, error) {
	if p, ok := r.places[channel]; ok {
		return p, nil
	}
	listed := slices.Contains(r.channel.Groups, channel)
	var about room
	err := r.channel.api.call(ctx, http.MethodGet, "/channels/"+escape(channel), nil, &about)
	// A temporary error must not lose the message: the event is handled again after the reconnect. A listed
	// channel needs no answer, because its id is enough.
	if err != nil && !listed && (!wire.Final(err) || wire.HasStatus(err, http.StatusUnauthorized, http.StatusTooManyRequests)) {
		return place{}, fmt.Errorf("look at a channel: %w", err)
	}
	if err != nil {
		r.channel.log.Debug("nothing is known of a channel", "channel", r.channel.name, "id", channel, "err", err)
	}
	var p place
	switch {
	case listed:
		p = place{channels.Chat{ID: "#" + channel, Group: channel, Title: about.Name}, true}
	case about.thread() && slices.Contains(r.channel.Groups, about.Parent):
		p = place{channels.Chat{ID: "#" + about.Parent + "/" + channel, Group: about.Parent, Title: about.Name}, true}
	}
	// The cache only saves calls, so it may be cleared at any time.
	if len(r.places) >= maxPlaces {
		clear(r.places)
	}
	r.places[channel] = p
	return p, nil
}

// decoder converts Discord's messages.
type decoder struct {
	me    user
	web   *client
	known recent[author]
}

// author is the author and the chat of a message. They are remembered because a deletion does not name them.
type author struct {
	from channels.Person
	chat channels.Chat
}

// mentionsHob reports whether a message is meant for hob: it mentions hob, or replies to hob's message.
func (e *decoder) mentionsHob(m *message) bool {
	return slices.ContainsFunc(m.Calls, func(u user) bool { return u.ID == e.me.ID }) ||
		m.To.Type != typeForward && m.Replied != nil && m.Replied.Author != nil && m.Replied.Author.ID == e.me.ID
}

// message converts a message.
func (e *decoder) message(m *message, at place) channels.Message {
	said := m.content
	out := channels.Message{
		ID: id(m.Channel, m.ID), From: e.person(m), Chat: at.chat, Mentioned: e.mentionsHob(m), At: m.At,
		Auto: m.Type != typeDefault && m.Type != typeReply || m.Author.System,
	}
	switch {
	// A forwarded message contains the original as a snapshot; it is somebody else's text.
	case m.To.Type == typeForward && m.To.Message != "":
		out.Forwarded = true
		if len(m.Snapshots) > 0 {
			said = m.Snapshots[0].Message
		}
	case m.Type == typeReply && m.To.Message != "":
		out.ReplyTo = id(m.Channel, m.To.Message)
	}
	out.Text = e.withoutMention(said.Text, m.Calls)
	if out.Text == "" {
		out.Text = said.described()
	}
	out.Files = e.files(said.Files, m.Flags&flagVoice != 0)
	e.known.put(m.ID, author{out.From, out.Chat})
	return out
}

// person returns the author of a message. A web hook can choose any name, but has its own id.
func (e *decoder) person(m *message) channels.Person {
	name := m.Author.name()
	if m.Member.Nick != "" {
		name = m.Member.Nick
	}
	return channels.Person{ID: m.Author.ID, Name: name, Bot: m.Author.Bot || m.Webhook != "", Self: m.Author.ID == e.me.ID}
}

// withoutMention removes mentions of the bot from the beginning of a text, and replaces other mentions by names.
func (e *decoder) withoutMention(text string, calls []user) string {
	call := regexp.MustCompile(`^[\s,:]*<@!?` + regexp.QuoteMeta(e.me.ID) + `>[ ,:\n]*`)
	rest := text
	for m := call.FindString(rest); m != ""; m = call.FindString(rest) {
		rest = rest[len(m):]
	}
	rest = cmp.Or(rest, text) // a mention without other text
	var names []string
	for _, u := range calls {
		names = append(names, "<@"+u.ID+">", "@"+u.name(), "<@!"+u.ID+">", "@"+u.name())
	}
	return strings.NewReplacer(names...).Replace(rest)
}

// described describes a message without text in words.
func (c content) described() string {
	switch {
	case len(c.Stickers) > 0:
		return "[sticker " + c.Stickers[0].Name + "]"
	case c.Poll != nil:
		return "[poll: " + c.Poll.Question.Text + "]"
	}
	return ""
}

// files lists the files of a message.
func (e *decoder) files(list []attachment, voice bool) []channels.Attachment {
	var files []channels.Attachment
	for _, a := range list {
		f := channels.Attachment{Name: a.Name, MIME: a.MIME, Size: a.Size, Voice: voice, Length: time.Duration(a.Length * float64(time.Second))}
		f.Name = cmp.Or(f.Name, "attachment")
		f.MIME = cmp.Or(f.MIME, "application/octet-stream")
		f.Open = func(ctx context.Context) (io.ReadCloser, error) { return e.web.download(ctx, a.URL) }
		files = append(files, f)
	}
	return files
}
