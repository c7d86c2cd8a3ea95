package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// outgoing is the body of a message ("Create Message").
type outgoing struct {
	Text    string     `json:"content"`
	Flags   int        `json:"flags"`
	Calls   calls      `json:"allowed_mentions"`
	Rows    []row      `json:"components,omitzero"` // empty but not nil removes the buttons of a message
	Nonce   string     `json:"nonce,omitempty"`
	Enforce bool       `json:"enforce_nonce,omitempty"`
	Reply   *replied   `json:"message_reference,omitempty"`
	Files   []uploaded `json:"attachments,omitempty"`
}

// calls lists whom a message may notify: nobody.
type calls struct {
	Parse []string `json:"parse"`
}

// replied refers to the answered message ("Message Reference").
type replied struct {
	Message string `json:"message_id"`
	Strict  bool   `json:"fail_if_not_exists"` // false: send without a reply if the answered message is gone
}

// row is one line of buttons ("Action Row").
type row struct {
	Type    int      `json:"type"`
	Buttons []button `json:"components"`
}

// button is one button ("Button"). Data comes back in the interaction.
type button struct {
	Type  int    `json:"type"`
	Style int    `json:"style"`
	Label string `json:"label"`
	Data  string `json:"custom_id"`
}

// Numbers and limits of buttons ("Component Reference").
const (
	typeRow    = 1
	typeButton = 2
	gray       = 2
	inRow      = 5 // buttons in a row
	maxButtons = 5 * inRow
	maxLabel   = 80  // characters
	maxData    = 100 // characters
)

// Buttons reports that choices are shown as buttons.
func (c *Channel) Buttons() bool { return true }

// Replies reports that an answer can refer to the message it answers.
func (c *Channel) Replies() bool { return true }

// Send sends one part without link previews and notifications; in a group as a reply to the answered message.
// Discord deduplicates by nonce for a few minutes only ("enforce_nonce"). So an uncertain send is looked up
// with Find, and the nonce covers a try that is still on its way.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (string, error) {
	to, err := c.target(d.To)
	if err != nil {
		return "", err
	}
	channel, err := c.channel(ctx, to)
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, statuses().Sent(err, false))
	}
	out := c.outgoing(d)
	// With enforce_nonce, Discord returns the first message instead of making a second one.
	out.Nonce, out.Enforce = d.Nonce, d.Nonce != ""
	if _, answered, ok := splitID(d.ReplyRef); ok && (to.group != "" || d.Overtaken) && d.Part == 0 && strings.HasPrefix(d.ReplyRef, channel+"/") {
		out.Reply = &replied{Message: answered}
	}
	var w wire.Written
	var sent message
	traced := w.Watch(ctx)
	if d.File != nil {
		err = c.upload(traced, "/channels/"+channel+"/messages", out, *d.File, &sent)
	} else {
		err = c.api.call(traced, http.MethodPost, "/channels/"+channel+"/messages", out, &sent)
	}
	if err == nil && sent.ID == "" {
		err = unread(errors.New("no id"))
	}
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, statuses().Sent(err, w.Maybe()))
	}
	c.mu.Lock()
	// A confirmed message belongs to this delivery only, even if another delivery has the same text.
	c.confirmed.put(sent.ID, d.Nonce)
	c.mu.Unlock()
	fail.Point("sending.answered")
	return id(channel, sent.ID), nil
}

// Edit replaces the text of a message ("Edit Message").
func (c *Channel) Edit(ctx context.Context, d channels.Delivery, remoteID string) error {
	channel, message, ok := splitID(remoteID)
	if !ok {
		return fmt.Errorf("edit %q: it is not a message: %w", remoteID, channels.ErrPermanent)
	}
	var w wire.Written
	err := c.api.call(w.Watch(ctx), http.MethodPatch, "/channels/"+channel+"/messages/"+message, c.outgoing(d), nil)
	if err != nil {
		return fmt.Errorf("edit a message to %s: %w", d.To, statuses().Sent(err, w.Maybe()))
	}
	return nil
}

// Typing shows "typing …" for ten seconds, or until a message arrives ("Trigger Typing Indicator").
func (c *Channel) Typing(ctx context.Context, to event.Address) error {
	at, err := c.target(to)
	if err != nil {
		return err
	}
	channel, err := c.channel(ctx, at)
	if err != nil {
		return err
	}
	return c.api.call(ctx, http.MethodPost, "/channels/"+channel+"/typing", nil, nil)
}

// outgoing converts a delivery.
func (c *Channel) outgoing(d channels.Delivery) outgoing {
	return outgoing{Text: c.Form().Render(d.Body).Text, Flags: flagSuppress, Calls: calls{Parse: []string{}}, Rows: rows(d.Choices)}
}

// rows lays out the buttons. A choice that is too long, or occurs twice, gets no button; the text lists it
// too.
func rows(choices []channels.Choice) []row {
	var rows []row
	if choices != nil {
		rows = []row{}
	}
	seen := map[string]bool{}
	for _, ch := range choices {
		n := utf8.RuneCountInString(ch.Data)
		if n == 0 || n > maxData || strings.TrimSpace(ch.Label) == "" || utf8.RuneCountInString(ch.Label) > maxLabel || seen[ch.Data] || len(seen) == maxButtons {
			continue
		}
		if len(seen)%inRow == 0 {
			rows = append(rows, row{Type: typeRow})
		}
		seen[ch.Data] = true
		last := &rows[len(rows)-1]
		last.Buttons = append(last.Buttons, button{Type: typeButton, Style: gray, Label: ch.Label, Data: ch.Data})
	}
	return rows
}

// channel returns the channel to send to.
func (c *Channel) channel(ctx context.Context, to target) (string, error) {
	switch {
	case to.person != "":
		return c.private(ctx, to.person)
	case to.thread != "":
		return to.thread, nil
	}
	return to.group, nil
}

// private returns the channel of the private chat with a person, which never changes ("Create DM"). The
// person does not see this call.
func (c *Channel) private(ctx context.Context, person string) (string, error) {
	c.mu.Lock()
	known := c.directs[person]
	c.mu.Unlock()
	if known != "" {
		return known, nil
	}
	var direct room
	err := c.api.call(ctx, http.MethodPost, "/users/@me/channels", map[string]string{"recipient_id": person}, &direct)
	if err == nil && direct.ID == "" {
		err = unread(errors.New("no id"))
	}
	if err != nil {
		return "", fmt.Errorf("open the private chat: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.directs[person] = direct.ID
	return direct.ID, nil
}

// statuses classifies Discord's refusals. After an internal error or a gateway timeout the request may have
// been carried out.
func statuses() wire.Statuses {
	return wire.Statuses{
		Credentials: []int{http.StatusUnauthorized}, Hint: newToken,
		Unsure:   []int{http.StatusInternalServerError, http.StatusGatewayTimeout},
		Never:    []int{http.StatusRequestEntityTooLarge},
		NeverOwn: []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound},
	}
}
