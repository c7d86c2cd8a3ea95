package slack

import (
	"cmp"
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

// message is a received message with its position in the chat.
type message struct {
	channels.Message
	chat, ts string // "" for a button or a command, which are not in the chat's history
	thread   string
}

// view converts events from the point of view of one account: its own messages and mentions depend on it.
type view struct {
	channel *Channel
	me      account
}

// press is the payload of a pressed button ("block_actions payload").
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

// message converts an event, or a message from the history. It returns false if hob reads nothing in it.
func (v view) message(e slack.Message) (message, bool) {
	// Ids become parts of addresses, in which these characters have a meaning.
	if e.Channel == "" || strings.ContainsAny(e.Channel, ":/") {
		return message{}, false
	}
	switch e.SubType {
	case "message_changed":
		return v.editedMessage(e)
	case "message_deleted":
		if e.PreviousMessage == nil || e.DeletedTimestamp == "" {
			return message{}, false
		}
		return v.deleted(e.Channel, e.DeletedTimestamp, e.PreviousMessage), true
	// Only a notice about the thread's first message; the reply itself is a separate event.
	case "message_replied":
		return message{}, false
	}
	m := v.textMessage(e.Channel, &e.Msg)
	m.Mentioned = m.Mentioned || e.Type == "app_mention"
	return m, e.Timestamp != ""
}

// editedMessage converts an edit. Slack also reports an added link preview as a change; that one is ignored. An
// edit of a message that mentioned hob counts as a mention, even if the new text has none.
func (v view) editedMessage(e slack.Message) (message, bool) {
	now, was := e.SubMessage, e.PreviousMessage
	if now == nil || now.Timestamp == "" {
		return message{}, false
	}
	if now.SubType == "tombstone" { // a deleted message whose thread remains
		if was == nil {
			was = now
		}
		return v.deleted(e.Channel, now.Timestamp, was), true
	}
	if now.Edited == nil || was != nil && was.Text == now.Text {
		return message{}, false
	}
	m := v.textMessage(e.Channel, now)
	m.Message = edited(m.Message, now.Edited)
	m.Mentioned = m.Mentioned || was != nil && v.textMessage(e.Channel, was).Mentioned
	return m, true
}

// edited turns a message into its own edit. The time of the edit makes the id unique.
func edited(m channels.Message, e *slack.Edited) channels.Message {
	m.Edits = m.ID
	m.ID += "/" + e.Timestamp
	return m
}

// deleted converts a deletion.
func (v view) deleted(chat, ts string, was *slack.Msg) message {
	gone := *was
	gone.Timestamp = ts
	m := v.textMessage(chat, &gone)
	m.Deletes = m.ID
	m.ID += "/deleted"
	m.Text, m.Files = "", nil
	return m
}

// textMessage converts a message. In a group each message begins a thread or belongs to one: the answer goes into
// that thread.
func (v view) textMessage(chat string, m *slack.Msg) message {
	out := message{chat: chat, ts: m.Timestamp, thread: m.ThreadTimestamp, Message: channels.Message{
		ID: id(chat, m.Timestamp), From: v.person(m), Text: m.Text, At: moment(m.Timestamp), Files: v.files(m.Files),
		Auto: m.User == "USLACKBOT" || !byPerson(m.SubType), Mentioned: v.mentionsHob(m),
	}}
	// Ids of private chats begin with D ("conversation" object).
	if strings.HasPrefix(chat, "D") {
		out.Chat = channels.Chat{ID: out.From.ID}
	} else {
		out.thread = cmp.Or(out.thread, m.Timestamp)
		out.Chat = channels.Chat{ID: chat + "/" + out.thread, Group: chat}
	}
	// The first message of a thread replies to nothing.
	if m.ThreadTimestamp != "" && m.ThreadTimestamp != m.Timestamp {
		out.ReplyTo = id(chat, m.ThreadTimestamp)
	}
	// A shared message arrives as an attachment; its text is somebody else's.
	for _, a := range m.Attachments {
		if a.IsShare {
			out.Forwarded = true
			out.Text = strings.TrimSpace(out.Text + "\n\n" + strings.TrimSpace("["+a.AuthorName+"] "+a.Text))
			out.Files = append(out.Files, v.files(a.Files)...)
		}
	}
	return out
}

// byPerson reports whether a subtype is used for what somebody writes. All other subtypes are Slack's own
// notices.
func byPerson(subtype string) bool {
	switch subtype {
	case "", "file_share", "thread_broadcast", "me_message", "bot_message":
		return true
	}
	return false
}

// person returns the author of a message. Apps without a user are identified by their bot id.
func (v view) person(m *slack.Msg) channels.Person {
	p := channels.Person{ID: m.User, Name: m.User, Bot: m.BotID != "" || m.SubType == "bot_message", Self: v.me.wrote(m)}
	if p.ID == "" {
		p.ID, p.Name = m.BotID, m.Username
	}
	return p
}

// mentionsHob reports whether a message is meant for hob: it mentions the bot, or replies in a thread that the bot
// began.
func (v view) mentionsHob(m *slack.Msg) bool {
	me := v.me.UserID
	return me != "" && (strings.Contains(m.Text, "<@"+me+">") || strings.Contains(m.Text, "<@"+me+"|") || m.ParentUserId == me)
}

// buttonPress converts the press of a button.
func (v view) buttonPress(p press) (message, bool) {
	if p.Type != "block_actions" || len(p.Actions) == 0 || p.Container.Chat == "" {
		return message{}, false
	}
	at := id(p.Container.Chat, p.Container.Message)
	m := channels.Message{
		ID: at + "/" + p.Actions[0].At + "/" + p.User.ID, From: channels.Person{ID: p.User.ID, Name: p.User.Name}, Chat: channels.Chat{ID: p.User.ID},
		Choice: p.Actions[0].Value, ReplyTo: at, Mentioned: true,
	}
	// The answer goes to the thread of the message with the button.
	if !strings.HasPrefix(p.Container.Chat, "D") {
		thread := cmp.Or(p.Container.Thread, p.Container.Message)
		m.Chat = channels.Chat{ID: p.Container.Chat + "/" + thread, Group: p.Container.Chat}
	}
	return message{Message: m}, m.From.ID != ""
}

// slashCommand converts the slash command "/hob status". Slack reserves texts with a leading slash, so that
// hob's commands are arguments of Slack's. Only the author sees such a command, so it belongs to the private
// chat wherever it was written.
func slashCommand(p slack.SlashCommand) (message, bool) {
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

// resolveNames replaces the ids in messages by names. This makes calls, so it is done only for messages that are
// committed.
func (r *reader) resolveNames(ctx context.Context, list []message) []channels.Message {
	var out []channels.Message
	for _, m := range list {
		out = append(out, r.resolve(ctx, m))
	}
	return out
}

// resolve replaces the ids in one message.
func (r *reader) resolve(ctx context.Context, m message) channels.Message {
	out := m.Message
	if m.chat == "" {
		return out
	}
	if p, ok := r.userName(ctx, out.From.ID); ok {
		out.From.Name, out.From.Bot = p.name, out.From.Bot || p.bot
	}
	if out.Chat.Group != "" {
		out.Chat.Title = r.title(ctx, out.Chat.Group)
	}
	text := out.Text
	// A mention at the beginning only calls hob; the rest is the message.
	if call := regexp.MustCompile(`^\s*<@` + regexp.QuoteMeta(r.view.me.UserID) + `(\|[^<>]*)?>[\s,:]*`).FindString(text); call != "" && call != text {
		text = text[len(call):]
	}
	out.Text = words(text, func(id string) string {
		if p, ok := r.userName(ctx, id); ok {
			return p.name
		}
		return id
	})
	if out.Chat.Group == "" && out.Deletes == "" {
		out.Text = strings.TrimLeft(out.Text, " ") // a leading space keeps Slack from reading "/" as its own command
	}
	return out
}

// words returns a text as people read it: names and links in place of Slack's marks in angle brackets
// ("Formatting text").
func words(text string, name func(person string) string) string {
	// Marks first, then the three escapes, so that an escaped "<" is never taken for a mark.
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

// files lists the files of a message. For a deleted file, or one on another server, only the name is known.
func (v view) files(files []slack.File) []channels.Attachment {
	var list []channels.Attachment
	for _, f := range files {
		a := channels.Attachment{Name: f.Name, MIME: f.Mimetype, Size: int64(max(f.Size, 0)), Voice: len(f.AudioWaveSamples) > 0, Length: time.Duration(max(f.DurationMs, 0)) * time.Millisecond}
		a.Name = cmp.Or(a.Name, "file")
		a.MIME = cmp.Or(a.MIME, "application/octet-stream")
		// Open runs later, before the commit of the message.
		from, fileID, mode := f.URLPrivateDownload, f.ID, f.Mode
		from = cmp.Or(from, f.URLPrivate)
		a.Open = func(ctx context.Context) (io.ReadCloser, error) {
			switch {
			case mode == "tombstone" || mode == "hidden_by_limit":
				return nil, fmt.Errorf("it is no longer stored by Slack (%s)", mode)
			case from == "" && fileID == "":
				return nil, errors.New("it has no address")
			}
			return v.channel.web.file(ctx, fileID, from)
		}
		list = append(list, a)
	}
	return list
}
