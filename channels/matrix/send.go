package matrix

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/event"
	"hob/daemon/fail"
)

// outgoing is the content of a message. The empty Mentions means that nobody is notified.
type outgoing struct {
	Type     string    `json:"msgtype"`
	Body     string    `json:"body"`
	Format   string    `json:"format,omitempty"`
	HTML     string    `json:"formatted_body,omitempty"`
	FileName string    `json:"filename,omitempty"` // of a file; Body is then its caption, or the same
	URL      string    `json:"url,omitempty"`
	Info     *about    `json:"info,omitempty"`
	Mentions struct{}  `json:"m.mentions"`
	Relates  *relation `json:"m.relates_to,omitempty"`
}

// Send sends one part as plain text and HTML. In a group it replies to the answered message, in its thread.
// The nonce is the transaction id: the server accepts it once, so that an uncertain send can be repeated.
func (c *Channel) Send(ctx context.Context, d channels.Delivery) (string, error) {
	at, err := c.target(d.To)
	if err != nil {
		return "", err
	}
	room, err := c.room(ctx, at)
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, statuses().Sent(err, false))
	}
	out := content(d, c.Form())
	if d.File != nil {
		if out, err = fileMessage(ctx, &c.api, d); err != nil {
			return "", fmt.Errorf("send a file to %s: %w", d.To, statuses().Sent(err, false))
		}
	}
	out.Relates = relates(at, room, d)
	var w wire.Written
	var sent struct {
		ID string `json:"event_id"`
	}
	// The same transaction id at each try: the server returns the id of the first message.
	txn := d.Nonce
	if fail.Broken("new-transaction") {
		txn += strconv.Itoa(d.Attempts)
	}
	err = c.api.call(w.Watch(ctx), http.MethodPut, path("v3", "rooms", room, "send", "m.room.message", txn), out, &sent)
	if err == nil && sent.ID == "" {
		err = unread(errors.New("no event_id"))
	}
	if err != nil {
		return "", fmt.Errorf("send to %s: %w", d.To, statuses().Sent(err, w.Maybe()))
	}
	fail.Point("sending.answered")
	return id(room, sent.ID), nil
}

// Replies reports that an answer can refer to the message it answers.
func (c *Channel) Replies() bool { return true }

// relates returns the relation of a message: its thread in a group, and for the first part the answered
// message in the same room, which is given. In a private chat it does so only if other messages have come between.
func relates(at target, here string, d channels.Delivery) *relation {
	room, event := splitID(d.ReplyRef)
	answers := (at.room != "" || d.Overtaken) && event != "" && room == here && d.Part == 0
	switch {
	case at.thread != "" && !answers: // for clients without threads: a reply to the thread's first event
		return &relation{Kind: "m.thread", ID: at.thread, Falls: true, ReplyTo: &reply{at.thread}}
	case at.thread != "":
		return &relation{Kind: "m.thread", ID: at.thread, ReplyTo: &reply{event}}
	case answers:
		return &relation{ReplyTo: &reply{event}}
	}
	return nil
}

// Typing shows "typing …" for eight seconds, or until a message arrives ("Typing Notifications"). It creates
// no chat.
func (c *Channel) Typing(ctx context.Context, to event.Address) error {
	at, err := c.target(to)
	if err != nil {
		return err
	}
	me, err := c.self(ctx)
	if err != nil {
		return err
	}
	room := at.room
	if at.person != "" {
		if room, _, err = c.private(ctx, me.ID, at.person); err != nil || room == "" {
			return err
		}
	}
	return c.api.call(ctx, http.MethodPut, path("v3", "rooms", room, "typing", me.ID), map[string]any{"typing": true, "timeout": 8000}, nil)
}
