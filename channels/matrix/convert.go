package matrix

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hob/channels"
	"hob/channels/wire"
)

// id makes the id of a message. It includes the room, so that an answer cannot reach another one.
func id(room, event string) string { return room + "/" + event }

// splitID splits an id into room and event.
func splitID(s string) (room, event string) {
	room, event, _ = strings.Cut(s, "/$")
	return room, "$" + event
}

// concerns reports whether hob listens in a room.
func (r *reader) concerns(room string, p place) bool {
	return slices.Contains(r.channel.Groups, room) || p.alone(r.me.ID) != ""
}

// messages converts the events of a room. reported lists the rooms that were already reported to the owner.
func (r *reader) messages(ctx context.Context, room string, happened []roomEvent, told []string) (list []channels.Message, nowTold []string, err error) {
	for _, e := range happened {
		// State events are not messages.
		if e.Key != nil {
			continue
		}
		// Whether a message is private depends on the current state of its room.
		p, err := r.place(ctx, room)
		if wire.HasCode(err, "M_FORBIDDEN", "M_NOT_FOUND") {
			return nil, told, nil // hob is no longer in the room
		}
		if err != nil {
			return nil, told, err
		}
		if e.Type == "m.room.encrypted" {
			if told, err = r.reportEncrypted(ctx, room, p, e, told); err != nil {
				return nil, told, err
			}
			continue
		}
		m, ok := r.message(room, p, e)
		if !ok {
			continue
		}
		// The message itself is committed as a group's; only its place is reported.
		if told, err = r.reportExposed(ctx, room, p, e, told); err != nil {
			return nil, told, err
		}
		if m.Chat.Group == "" {
			if err := (privates{r.channel}).prefer(ctx, r.me.ID, m.From.ID, room); err != nil {
				return nil, told, err
			}
		}
		list = append(list, m)
	}
	return list, told, nil
}

// reportEncrypted reports an encrypted room to the owner, once.
func (r *reader) reportEncrypted(ctx context.Context, room string, p place, e roomEvent, told []string) ([]string, error) {
	if slices.Contains(told, room) || !r.concerns(room, p) {
		return told, nil
	}
	at := time.UnixMilli(e.At)
	why := fmt.Sprintf("%s is encrypted, and hob does not support encryption; use a room without it", called(room, p))
	if other := p.alone(r.me.ID); other != "" {
		why = fmt.Sprintf("the private chat with %s is encrypted, and hob does not support encryption; begin one without it", other)
	}
	if err := r.source.Gap(ctx, at, at, why); err != nil {
		return told, err
	}
	return append(slices.Clone(told), room), nil
}

// reportExposed reports a room, once, in which the owner writes to hob alone while others could read along.
func (r *reader) reportExposed(ctx context.Context, room string, p place, e roomEvent, told []string) ([]string, error) {
	host, _ := inviters{r.channel}.of(room)
	why, mark := p.exposed(r.me.ID, host), "open "+room
	if why == "" || p.alone(r.me.ID) != e.Sender || !slices.Contains(r.channel.owner(), e.Sender) || slices.Contains(r.channel.Groups, room) || slices.Contains(told, mark) {
		return told, nil
	}
	at := time.UnixMilli(e.At)
	if err := r.source.Gap(ctx, at, at, fmt.Sprintf("%s is not a private chat: %s; begin one, without encryption", called(room, p), why)); err != nil {
		return told, err
	}
	return append(slices.Clone(told), mark), nil
}

// heard returns the last event that hob listens to, "" if there is none. Only such events get a read receipt,
// so that nobody else sees that hob reads.
func (c *Channel) heard(messages []channels.Message) string {
	last := ""
	for _, m := range messages {
		person := slices.Contains(c.owner(), m.From.ID) || slices.Contains(c.Known, m.From.ID) || slices.Contains(c.Public, m.From.ID)
		if m.Chat.Group == "" && person || m.Chat.Group != "" && m.Mentioned && slices.Contains(c.Groups, m.Chat.Group) {
			_, last = splitID(m.ID)
		}
	}
	return last
}

// message converts an event. It returns false if hob reads nothing in it.
func (r *reader) message(room string, p place, e roomEvent) (channels.Message, bool) {
	m := channels.Message{
		ID: id(room, e.ID), At: time.UnixMilli(e.At), Chat: r.chat(room, p, e.Sender),
		From: channels.Person{ID: e.Sender, Name: p.names[e.Sender], Self: e.Sender == r.me.ID},
	}
	m.From.Name = cmp.Or(m.From.Name, e.Sender)
	// Malformed ids must not become parts of addresses.
	if !strings.HasPrefix(e.ID, "$") || !strings.HasPrefix(room, "!") || !strings.HasPrefix(e.Sender, "@") {
		return m, false
	}
	switch e.Type {
	case "m.room.redaction":
		var gone struct {
			Redacts string `json:"redacts"`
		}
		if json.Unmarshal(e.Content, &gone) == nil && gone.Redacts == "" {
			gone.Redacts = e.Redacts
		}
		m.Deletes = id(room, gone.Redacts)
		return m, gone.Redacts != ""
	case "m.room.message", "m.sticker":
		var s messageContent
		if json.Unmarshal(e.Content, &s) != nil {
			return m, false
		}
		if e.Type == "m.sticker" {
			s.Type = e.Type
		}
		r.fill(&m, s, room)
		return m, true
	}
	return m, false
}

// chat returns the chat of a message: a private chat if the sender is the only other person and nobody else
// can read along, otherwise a group. The address of a private chat is the person.
func (r *reader) chat(room string, p place, sender string) channels.Chat {
	host, _ := inviters{r.channel}.of(room)
	if !slices.Contains(r.channel.Groups, room) && p.alone(r.me.ID) == sender && p.exposed(r.me.ID, host) == "" {
		return channels.Chat{ID: sender}
	}
	// Groups are shown with their name.
	title := cmp.Or(p.title, room)
	return channels.Chat{ID: room, Group: room, Title: title}
}

// fill adds the content of an event to a message. A thread in a group has its own address.
func (r *reader) fill(m *channels.Message, s messageContent, room string) {
	relates := s.Relates
	switch {
	case relates.Kind == "m.replace" && relates.ID != "":
		m.Edits = id(room, relates.ID)
		if s.New != nil {
			s = *s.New
		}
	case relates.Kind == "m.thread" && strings.HasPrefix(relates.ID, "$") && m.Chat.Group != "":
		m.Chat.ID += "/" + relates.ID
	}
	text := s.Body
	if s.Type == "m.sticker" {
		text = fmt.Sprintf("[sticker %s]", s.Body)
	}
	mine := false
	// Clients without threads show a thread's message as a reply ("Fallback for unthreaded clients"); that is
	// no real reply.
	if relates.ReplyTo != nil && relates.ReplyTo.ID != "" && !(relates.Kind == "m.thread" && relates.Falls) {
		m.ReplyTo = id(room, relates.ReplyTo.ID)
		text, mine = r.me.withoutQuote(text)
	}
	m.Auto = s.Type == "m.notice" // notices must never be answered ("m.notice")
	m.Mentioned = r.me.mentionsHob(s, text) || mine && s.Mentions == nil
	if s.URL != "" && s.Type != "m.sticker" {
		m.Files = []channels.Attachment{r.channel.file(s)}
		if s.Filename == "" || s.Filename == s.Body {
			text = ""
		}
	}
	switch {
	case s.Type == "m.location" && s.Geo != "":
		text = fmt.Sprintf("[location: %s] %s", strings.TrimPrefix(s.Geo, "geo:"), text)
	case s.Type == "m.emote":
		text = "* " + m.From.Name + " " + text
	}
	m.Text = r.me.withoutName(text)
}

// withoutQuote removes the quote that clients before v1.13 put before a reply ("Fallbacks for rich replies").
// mine: the quote was from hob.
func (a account) withoutQuote(text string) (rest string, mine bool) {
	quote := regexp.MustCompile(`^> (?:\* )?<(@[^>]+)>`).FindStringSubmatch(text)
	if quote == nil {
		return text, false
	}
	lines := strings.Split(text, "\n")
	n := 0
	for n < len(lines) && strings.HasPrefix(lines[n], ">") {
		n++
	}
	if n < len(lines) && lines[n] == "" {
		n++
	}
	return strings.Join(lines[n:], "\n"), quote[1] == a.ID
}

// mentionsHob reports whether a message mentions hob: by m.mentions ("User and room mentions"), or in older
// clients by a link to hob, or by its name as a word.
func (a account) mentionsHob(s messageContent, text string) bool {
	if s.Mentions != nil {
		return slices.Contains(s.Mentions.People, a.ID)
	}
	for _, pill := range []string{a.ID, url.PathEscape(a.ID), url.QueryEscape(a.ID)} {
		if strings.Contains(s.HTML, `"https://matrix.to/#/`+pill+`"`) {
			return true
		}
	}
	return slices.ContainsFunc(a.names(), func(name string) bool { return hasWord(text, name) })
}

// names returns hob's names, the longest first.
func (a account) names() []string {
	local, _, _ := strings.Cut(strings.TrimPrefix(a.ID, "@"), ":")
	names := []string{a.ID, "@" + local, local}
	if a.name != "" {
		names = append(names, a.name, "@"+a.name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	return names
}

// withoutName removes hob's name from the beginning of a text, unless there is nothing else.
func (a account) withoutName(text string) string {
	for _, name := range a.names() {
		if len(text) <= len(name) || !strings.EqualFold(text[:len(name)], name) {
			continue
		}
		mark := text[len(name):]
		if next, _ := utf8.DecodeRuneInString(mark); !strings.HasPrefix(name, "@") && next != ':' && next != ',' || isWord(next) {
			continue // "hob is slow" talks about hob; "hob: be quick" addresses it
		}
		if rest := strings.TrimLeft(mark, " ,:\n"); rest != "" {
			return rest
		}
	}
	return text
}

// hasWord reports whether a name occurs in a text as a separate word, in any case.
func hasWord(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	for at := 0; ; {
		i := strings.Index(text[at:], name)
		if i < 0 {
			return false
		}
		before, _ := utf8.DecodeLastRuneInString(text[:at+i])
		after, _ := utf8.DecodeRuneInString(text[at+i+len(name):])
		if !isWord(before) && !isWord(after) {
			return true
		}
		at += i + len(name)
	}
}

// isWord reports whether a character can be part of a word.
func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}

// file describes the file of a message.
func (c *Channel) file(s messageContent) channels.Attachment {
	a := channels.Attachment{Name: s.Filename, MIME: s.Info.MIME, Size: max(s.Info.Size, 0), Voice: s.Voice != nil}
	a.Name = cmp.Or(a.Name, s.Body)
	a.Name = cmp.Or(a.Name, "file")
	a.MIME = cmp.Or(a.MIME, "application/octet-stream")
	at := s.URL
	a.Open = func(ctx context.Context) (io.ReadCloser, error) { return c.api.file(ctx, at) }
	return a
}
