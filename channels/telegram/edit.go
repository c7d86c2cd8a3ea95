package telegram

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"hob/channels"
	"hob/channels/wire"
)

// editRequest holds the parameters of editMessageText.
type editRequest struct {
	Chat     int64     `json:"chat_id"`
	ID       int64     `json:"message_id"`
	Text     string    `json:"text"`
	Mode     string    `json:"parse_mode,omitempty"`
	Preview  previews  `json:"link_preview_options"`
	Keyboard *keyboard `json:"reply_markup,omitempty"`
}

// Edit replaces the text of a message (editMessageText). If the message already has this text, the edit
// counts as done: a repeated edit after a crash must not fail. Text that Telegram rejects as HTML is sent as
// plain text, as in Send.
func (c *Channel) Edit(ctx context.Context, d channels.Delivery, remoteID string) error {
	chat, message, err := c.sent(remoteID)
	if err != nil {
		return err
	}
	out := editRequest{Chat: chat, ID: message, Text: c.Form().Render(d.Body).Text, Mode: "HTML", Preview: previews{Disabled: true}, Keyboard: keyboardFor(d.Choices)}
	err = c.change(ctx, out)
	if wire.HasStatus(err, http.StatusBadRequest) {
		err = c.change(ctx, editRequest{Chat: chat, ID: message, Text: c.plain(d.Body), Preview: out.Preview})
	}
	if err != nil {
		return fmt.Errorf("edit %s: %w", remoteID, classify(err, false))
	}
	return nil
}

// change makes one edit. "Not modified" has no code of its own, so it is recognised by its text.
func (c *Channel) change(ctx context.Context, out editRequest) error {
	err := c.api.call(ctx, "editMessageText", out, nil)
	if wire.HasStatus(err, http.StatusBadRequest) && strings.Contains(wire.Refused(err).Detail, "message is not modified") {
		return nil
	}
	return err
}

// sent parses the id of a message that this bot sent.
func (c *Channel) sent(remoteID string) (chat, message int64, err error) {
	parts := strings.Split(remoteID, "/")
	if len(parts) == 3 && parts[0] == c.bot {
		if chat, err = strconv.ParseInt(parts[1], 10, 64); err == nil {
			message, err = strconv.ParseInt(parts[2], 10, 64)
		}
	}
	if err != nil || message == 0 {
		return 0, 0, fmt.Errorf("edit %q: it is not a message of this bot: %w", remoteID, channels.ErrPermanent)
	}
	return chat, message, nil
}
