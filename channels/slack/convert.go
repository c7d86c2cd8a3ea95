package slack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/slack-go/slack"

	"hob/channels"
)

// message is a message with its place in Slack's time.
type message struct {
	channels.Message
	chat, ts string // "" for what is none of a chat's messages: a button, a command
	thread   string
}

// view is how the account sees what happens.
type view struct {
	*Channel
	me account
}

// press is a button that was pressed ("block_actions payload").
type press struct {
	Type string `json:"type"`
	User struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"user"`
	Container struct {
		Chat    string `json:"channel_id"`
		Message string `json:"message_ts"`
		Thread  string `json:"thread_ts"`
	} `json:"container"`
	Actions []struct {
		Value string `json:"value"`
		At    string `json:"action_ts"`
	} `json:"actions"`
}

// message is what an event or a page of history says; false when it says nothing that hob could read.
func (v view) message(e slack.Message) (message, bool) {
	if e.Channel == "" || strings.ContainsAny(e.Channel, ":/") {
		return message{}, false
	}
	switch e.SubType {
	case "message_changed":
		return v.changed(e)
	case "message_deleted":
		if e.PreviousMessage == nil || e.DeletedTimestamp == "" {
			return message{}, false
		}
		return v.deleted(e.Channel, e.DeletedTimestamp, e.PreviousMessage), true
	case "message_replied":
		return message{}, false
	}
	m := v.written(e.Channel, &e.Msg)
	m.Mentioned = m.Mentioned || e.Type == "app_mention"
	return m, e.Timestamp != ""
}

// changed is an edit; a preview of a link that has come is none. Who edits a message that was meant for hob still means hob.
func (v view) changed(e slack.Message) (message, bool) {
	now, was := e.SubMessage, e.PreviousMessage
	if now == nil || now.Timestamp == "" {
		return message{}, false
	}
	if now.SubType == "tombstone" { // a message with a thread below it was deleted
		if was == nil {
			was = now
		}
		return v.deleted(e.Channel, now.Timestamp, was), true
	}
	if now.Edited == nil || was != nil && was.Text == now.Text {
		return message{}, false
	}
	m := v.written(e.Channel, now)
	m.Message = edited(m.Message, now.Edited)
	m.Mentioned = m.Mentioned || was != nil && v.written(e.Channel, was).Mentioned
	return m, true
}

// edited makes a message the edit of itself: each edit has a time of its own.
func edited(m channels.Message, e *slack.Edited) channels.Message {
	m.Edits = m.ID
	m.ID += "/" + e.Timestamp
	return m
}

// deleted is a message that was taken back.
func (v view) deleted(chat, ts string, was *slack.Msg) message {
	gone := *was
	gone.Timestamp = ts
	m := v.written(chat, &gone)
	m.Deletes = m.ID
	m.ID += "/deleted"
	m.Text, m.Files = "", nil
	return m
}

// written is a message that somebody wrote. In a group each message begins a thread, or stands in one: there it is answered.
func (v view) written(chat string, m *slack.Msg) message {
	out := message{chat: chat, ts: m.Timestamp, thread: m.ThreadTimestamp, Message: channels.Message{
		ID: id(chat, m.Timestamp), From: v.person(m), Text: m.Text, At: moment(m.Timestamp), Files: v.files(m.Files),
		Auto: m.User == "USLACKBOT" || !byPerson(m.SubType), Mentioned: v.called(m),
	}}
	if strings.HasPrefix(chat, "D") {
		out.Chat = channels.Chat{ID: out.From.ID}
	} else {
		if out.thread == "" {
			out.thread = m.Timestamp
		}
		out.Chat = channels.Chat{ID: chat + "/" + out.thread, Group: chat}
	}
	if m.ThreadTimestamp != "" && m.ThreadTimestamp != m.Timestamp {
		out.ReplyTo = id(chat, m.ThreadTimestamp)
	}
	for _, a := range m.Attachments {
		if a.IsShare {
			out.Forwarded = true
			out.Text = strings.TrimSpace(out.Text + "\n\n" + strings.TrimSpace("["+a.AuthorName+"] "+a.Text))
			out.Files = append(out.Files, v.files(a.Files)...)
		}
	}
	return out
}

// byPerson tells whether messages of a subtype say what somebody has to say: all others are Slack's own notes.
func byPerson(subtype string) bool {
	switch subtype {
	case "", "file_share", "thread_broadcast", "me_message", "bot_message":
		return true
	}
	return false
}

func (v view) person(m *slack.Msg) channels.Person {
	p := channels.Person{ID: m.User, Name: m.User, Bot: m.BotID != "" || m.SubType == "bot_message", Self: v.me.wrote(m)}
	if p.ID == "" {
		p.ID, p.Name = m.BotID, m.Username
	}
	return p
}

// called tells whether a message is meant for hob: it mentions the bot, or replies to it.
func (v view) called(m *slack.Msg) bool {
	me := v.me.UserID
	return me != "" && (strings.Contains(m.Text, "<@"+me+">") || strings.Contains(m.Text, "<@"+me+"|") || m.ParentUserId == me)
}

// pressed is a button that somebody pressed.
func (v view) pressed(p press) (message, bool) {
	if p.Type != "block_actions" || len(p.Actions) == 0 || p.Container.Chat == "" {
		return message{}, false
	}
	at := id(p.Container.Chat, p.Container.Message)
	m := channels.Message{
		ID: at + "/" + p.Actions[0].At + "/" + p.User.ID, From: channels.Person{ID: p.User.ID, Name: p.User.Name}, Chat: channels.Chat{ID: p.User.ID},
		Choice: p.Actions[0].Value, ReplyTo: at, Mentioned: true,
	}
	if !strings.HasPrefix(p.Container.Chat, "D") {
		thread := p.Container.Thread
		if thread == "" {
			thread = p.Container.Message
		}
		m.Chat = channels.Chat{ID: p.Container.Chat + "/" + thread, Group: p.Container.Chat}
	}
	return message{Message: m}, m.From.ID != ""
}

// commanded is "/hob status": Slack keeps what begins with a slash for itself, so that hob's commands stand behind one of its own. Nobody else sees it,
// wherever it was written: it belongs to the private chat.
func commanded(p slack.SlashCommand) (message, bool) {
	text := strings.TrimSpace(p.Text)
	switch {
	case text == "":
		text = "/help"
	case !strings.HasPrefix(text, "/"):
		text = "/" + text
	}
	return message{Message: channels.Message{
		ID: "command/" + p.TriggerID, From: channels.Person{ID: p.UserID, Name: p.UserName}, Chat: channels.Chat{ID: p.UserID}, Text: text,
	}}, p.UserID != "" && p.TriggerID != ""
}

// dress gives messages names in the place of ids, and words.
func (r *reader) dress(ctx context.Context, list []message) []channels.Message {
	var out []channels.Message
	for _, m := range list {
		out = append(out, r.dressed(ctx, m))
	}
	return out
}

func (r *reader) dressed(ctx context.Context, m message) channels.Message {
	out := m.Message
	if m.chat == "" {
		return out
	}
	if p, ok := r.look(ctx, out.From.ID); ok {
		out.From.Name, out.From.Bot = p.name, out.From.Bot || p.bot
	}
	if out.Chat.Group != "" {
		out.Chat.Title = r.title(ctx, out.Chat.Group)
	}
	text := out.Text
	if call := regexp.MustCompile(`^\s*<@` + regexp.QuoteMeta(r.me.UserID) + `(\|[^<>]*)?>[\s,:]*`).FindString(text); call != "" && call != text {
		text = text[len(call):]
	}
	out.Text = words(text, func(id string) string {
		if p, ok := r.look(ctx, id); ok {
			return p.name
		}
		return id
	})
	if out.Chat.Group == "" && out.Deletes == "" {
		out.Text = strings.TrimLeft(out.Text, " ") // a space before a slash keeps Slack from reading it as a command of its own
	}
	return out
}

// words is a text as people read it: what Slack puts into angle brackets says what it stands for ("Formatting text").
func words(text string, name func(person string) string) string {
	text = regexp.MustCompile(`<([^<>]*)>`).ReplaceAllStringFunc(text, func(mark string) string {
		what, label, labelled := strings.Cut(mark[1:len(mark)-1], "|")
		switch {
		case strings.HasPrefix(what, "@"):
			return "@" + name(what[1:])
		case strings.HasPrefix(what, "#") && label != "":
			return "#" + label
		case strings.HasPrefix(what, "#"):
			return what
		case strings.HasPrefix(what, "!") && labelled:
			return label
		case strings.HasPrefix(what, "!"):
			return "@" + what[1:]
		case !labelled || label == what || "mailto:"+label == what || "tel:"+label == what || strings.HasSuffix(what, "://"+label):
			return strings.TrimPrefix(strings.TrimPrefix(what, "mailto:"), "tel:")
		}
		return label + " (" + what + ")"
	})
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// files are what a message brings. Of a file that is gone or lies elsewhere only the name is known.
func (v view) files(files []slack.File) []channels.Attachment {
	var list []channels.Attachment
	for _, f := range files {
		a := channels.Attachment{Name: f.Name, MIME: f.Mimetype, Size: int64(max(f.Size, 0)), Voice: len(f.AudioWaveSamples) > 0, Length: time.Duration(max(f.DurationMs, 0)) * time.Millisecond}
		if a.Name == "" {
			a.Name = "file"
		}
		if a.MIME == "" {
			a.MIME = "application/octet-stream"
		}
		from, fileID, mode := f.URLPrivateDownload, f.ID, f.Mode
		if from == "" {
			from = f.URLPrivate
		}
		a.Open = func(ctx context.Context) (io.ReadCloser, error) {
			switch {
			case mode == "tombstone" || mode == "hidden_by_limit":
				return nil, fmt.Errorf("it is not kept by Slack any more (%s)", mode)
			case from == "" && fileID == "":
				return nil, errors.New("it has no address")
			}
			return v.web.file(ctx, fileID, from)
		}
		list = append(list, a)
	}
	return list
}
