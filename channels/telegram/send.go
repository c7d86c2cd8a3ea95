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

// target is a place to write to.
type target struct {
	Chat   int64 `json:"chat_id"`
	Thread int64 `json:"message_thread_id,omitempty"` // a topic of a forum
}

// outgoing are the parameters of sendMessage.
type outgoing struct {
	target
	Text     string    `json:"text"`
	Mode     string    `json:"parse_mode,omitempty"`
	Preview  previews  `json:"link_preview_options"`
	Reply    *reply    `json:"reply_parameters,omitempty"`
	Keyboard *keyboard `json:"reply_markup,omitempty"`
}

type previews struct {
	Disabled bool `json:"is_disabled"`
}

type reply struct {
	ID      int64 `json:"message_id"`
	Lenient bool  `json:"allow_sending_without_reply"`
}

type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// The Bot API's limits of buttons ("InlineKeyboardButton"), and how they are laid out.
const (
	maxData  = 64 // bytes
	shortRow = 4  // buttons side by side, if all of them are short:
	short    = 12 // characters
)

// Send sends one part as HTML, without previews of its links. In a group it replies to what it answers. Telegram has no key and cannot be read back:
// a send whose answer did not come is unknown.
//
// What Telegram will not take in this form (400), it surely has not delivered: it goes once more as plain text and nothing around it. The
// second answer counts.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (string, error) {
	to, err := c.target(d.To)
	if err != nil {
		return "", err
	}
	if d.File != nil {
		return c.sendFile(ctx, to, d)
	}
	out := outgoing{
		target: to, Text: c.Form().Render(d.Body).Text, Mode: "HTML", Preview: previews{Disabled: true}, Reply: c.replyTo(to.Chat, d), Keyboard: keys(d.Choices),
	}
	id, err := c.post(ctx, out)
	if chat := migrated(err); chat != 0 {
		out.target, out.Reply = target{Chat: chat}, nil // the group goes on there
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

// migrated is the number that a group has from now on; 0 when an error tells of none.
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

// Buttons says that choices are shown as buttons below a message.
func (c *Channel) Buttons() bool { return true }

// Typing shows "typing …" for five seconds, or until a message comes (sendChatAction).
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

// target reads an address: the number of a person or a group, with a topic's behind it.
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

// replyTo makes the first part of an answer in a group a reply, when what it answers is a message of that group. In a private chat
// everything is an answer.
func (c *Channel) replyTo(chat int64, d channels.Delivery) *reply {
	rest, ok := strings.CutPrefix(d.ReplyRef, c.bot+"/"+strconv.FormatInt(chat, 10)+"/")
	if !ok || chat > 0 || d.Part > 0 {
		return nil
	}
	rest, _, _ = strings.Cut(rest, "/") // of an edit
	id, err := strconv.ParseInt(rest, 10, 64)
	if err != nil {
		return nil
	}
	return &reply{ID: id, Lenient: true}
}

// keys lays buttons out. One that would be too long is left to the text, which says it too.
func keys(choices []channels.Choice) *keyboard {
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

// plain is a text without any marks. Where the addresses of its links would make it too long for one message, they are left out.
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

// sent is the number of the message that a call has made, or why there is none.
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
		return 0, class(err, w.Maybe())
	}
	fail.Point("sending.answered")
	return made.ID, nil
}

// statuses are what the Bot API's refusals mean. A rate limit is of one chat, as far as it tells ("My bot is hitting limits" of the Bot FAQ);
// a gateway's timeout is that of a proxy, which passed the request on and heard nothing.
func statuses() wire.Statuses {
	return wire.Statuses{
		Credentials: []int{http.StatusUnauthorized, http.StatusNotFound}, Hint: atBotFather,
		Unsure: []int{http.StatusGatewayTimeout},
		Never:  []int{http.StatusBadRequest, http.StatusForbidden, http.StatusRequestEntityTooLarge},
	}
}

// class says of what kind a failed send is. maybe tells whether the request may have reached the server.
func class(err error, maybe bool) error { return statuses().Sent(err, maybe || wire.Answered(err)) }
