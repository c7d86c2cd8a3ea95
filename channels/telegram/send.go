package telegram

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"hob/channels"
	"hob/channels/markup"
	"hob/channels/wire"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// target is the chat, and the topic in it, to write to.
type target struct {
	Chat   int64 `json:"chat_id"`
	Thread int64 `json:"message_thread_id,omitempty"` // a forum topic
}

// outgoing holds the parameters of sendMessage.
type outgoing struct {
	target
	Text     string    `json:"text"`
	Mode     string    `json:"parse_mode,omitempty"`
	Preview  previews  `json:"link_preview_options"`
	Reply    *reply    `json:"reply_parameters,omitempty"`
	Keyboard *keyboard `json:"reply_markup,omitempty"`
}

// previews are the LinkPreviewOptions.
type previews struct {
	Disabled bool `json:"is_disabled"`
}

// reply are the ReplyParameters. Lenient: send without reply if the answered message is gone.
type reply struct {
	ID      int64 `json:"message_id"`
	Lenient bool  `json:"allow_sending_without_reply"`
}

// keyboard is an InlineKeyboardMarkup.
type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

// button is an InlineKeyboardButton; Data returns in the callback query.
type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// Limits of the Bot API for buttons ("InlineKeyboardButton"), and the layout.
const (
	maxData  = 64 // bytes of callback_data
	shortRow = 4  // buttons in one row, if all labels are short
	short    = 12 // characters of a short label
)

// Send sends one part as HTML, without link previews. In a group it replies to the message that it answers.
// The Bot API has no idempotency key and cannot list sent messages, so that a send without an answer is
// unknown.
//
// A text that is rejected in this form (400) was surely not delivered: it is sent once more as plain text,
// without reply and buttons. The second answer counts.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (string, error) {
	to, err := c.target(d.To)
	if err != nil {
		return "", err
	}
	if d.File != nil {
		return c.sendFile(ctx, to, d)
	}
	out := outgoing{
		target: to, Text: c.Form().Render(d.Body).Text, Mode: "HTML", Preview: previews{Disabled: true}, Reply: c.replyTo(to.Chat, d), Keyboard: keyboardFor(d.Choices),
	}
	id, err := c.post(ctx, out)
	if chat := migrated(err); chat != 0 {
		out.target, out.Reply = target{Chat: chat}, nil // the group continues under the new id
		id, err = c.post(ctx, out)
	}
	if wire.HasStatus(err, http.StatusBadRequest) {
		c.log.Warn("telegram does not take a text in its form, sent as plain text", "channel", c.name, "outbox", d.Outbox, "part", d.Part, "err", err)
		id, err = c.post(ctx, outgoing{target: out.target, Text: c.plain(d.Body), Preview: out.Preview})
	}
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, err)
	}
	return c.id(out.Chat, id), nil
}

// migrated returns the new id of a group, 0 if the error names none ("ResponseParameters",
// migrate_to_chat_id).
func migrated(err error) int64 {
	if !wire.HasStatus(err, http.StatusBadRequest) {
		return 0
	}
	chat, err := strconv.ParseInt(wire.Refused(err).Moved, 10, 64)
	if err != nil {
		return 0
	}
	return chat
}

// Buttons reports that choices are shown as buttons below a message.
func (c *Channel) Buttons() bool { return true }

// Typing shows "typing …" for five seconds, or until a message arrives (sendChatAction).
func (c *Channel) Typing(ctx context.Context, to event.Address) error {
	at, err := c.target(to)
	if err != nil {
		return err
	}
	return c.api.call(ctx, "sendChatAction", struct {
		target
		Action string `json:"action"`
	}{at, "typing"}, nil)
}

// target parses an address: the number of a person or a group, optionally followed by "/" and the number of a
// topic.
func (c *Channel) target(to event.Address) (target, error) {
	parts := regexp.MustCompile(`^(-?[1-9][0-9]{0,18})(?:/([1-9][0-9]{0,18}))?$`).FindStringSubmatch(to.Local())
	if parts == nil {
		return target{}, fmt.Errorf("address %q: want the number of a person or a group, as in %s:123456: %w", to, c.name, channels.ErrPermanent)
	}
	var at target
	var err error
	if at.Chat, err = strconv.ParseInt(parts[1], 10, 64); err == nil && parts[2] != "" {
		at.Thread, err = strconv.ParseInt(parts[2], 10, 64)
	}
	if err != nil {
		return target{}, fmt.Errorf("address %q: %w: %w", to, err, channels.ErrPermanent)
	}
	return at, nil
}

// Replies reports that an answer can refer to the message it answers.
func (c *Channel) Replies() bool { return true }

// replyTo makes the first part of an answer a reply, if the answered message is in the same chat. In a private chat a reply
// adds something only if other messages have come between.
func (c *Channel) replyTo(chat int64, d channels.Delivery) *reply {
	rest, ok := strings.CutPrefix(d.ReplyRef, c.bot+"/"+strconv.FormatInt(chat, 10)+"/")
	if !ok || chat > 0 && !d.Overtaken || d.Part > 0 {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "/") // suffix of an edit
	id, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil
	}
	return &reply{ID: id, Lenient: true}
}

// keyboardFor lays out the buttons. A choice that is too long gets no button; the text lists it too.
func keyboardFor(choices []channels.Choice) *keyboard {
	var all []button
	together := true
	for _, ch := range choices {
		if len(ch.Data) == 0 || len(ch.Data) > maxData || strings.TrimSpace(ch.Label) == "" {
			continue
		}
		all = append(all, button{Text: ch.Label, Data: ch.Data})
		together = together && len([]rune(ch.Label)) <= short
	}
	if len(all) == 0 {
		return nil
	}
	if together && len(all) <= shortRow {
		return &keyboard{Rows: [][]button{all}}
	}
	k := &keyboard{}
	for _, b := range all {
		k.Rows = append(k.Rows, []button{b})
	}
	return k
}

// plain renders a text without markup. If the addresses of its links make it too long for one message, they
// are left out.
func (c *Channel) plain(body string) string {
	form := c.Form()
	text := markup.Plain().Render(body).Text
	if form.Size(markup.Piece{Text: html.EscapeString(text)}) <= form.Limit {
		return text
	}
	return html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(form.Render(body).Text, ""))
}

// post sends a message and returns its number, unique within the chat.
func (c *Channel) post(ctx context.Context, out outgoing) (int64, error) {
	return sent(ctx, func(ctx context.Context, result any) error { return c.api.call(ctx, "sendMessage", out, result) })
}

// sent makes a call that creates a message, and returns the message's number. An answer that cannot be read
// means that the message may have been delivered.
func sent(ctx context.Context, call func(ctx context.Context, result any) error) (int64, error) {
	var w wire.Written
	var made struct {
		ID int64 `json:"message_id"`
	}
	err := call(w.Watch(ctx), &made)
	if err == nil && made.ID == 0 {
		err = unread(errors.New("no message_id"))
	}
	if err != nil {
		return 0, classify(err, w.Maybe())
	}
	fail.Point("sending.answered")
	return made.ID, nil
}

// statuses classifies the refusals of the Bot API. A rate limit applies to one chat, as far as the API says
// ("My bot is hitting limits" in the Bot FAQ). A gateway timeout comes from a proxy that passed the request
// on and got no answer.
func statuses() wire.Statuses {
	return wire.Statuses{
		Credentials: []int{http.StatusUnauthorized, http.StatusNotFound}, Hint: atBotFather,
		Unsure: []int{http.StatusGatewayTimeout},
		Never:  []int{http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge},
	}
}

// classify classifies a failed send. maybe reports whether the request may have reached the server.
func classify(err error, maybe bool) error { return statuses().Sent(err, maybe || wire.Answered(err)) }
