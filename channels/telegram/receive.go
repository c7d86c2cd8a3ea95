package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"hob/channels"
	"hob/channels/poll"
	"hob/channels/wire"
)

// Limits of polling (getUpdates).
const (
	longPoll = 50 * time.Second   // how long the server may hold a poll open
	pollTime = 58 * time.Second   // when the poll is cancelled because the connection must be dead
	batch    = 100                // updates per poll; the server's maximum
	keeps    = 24 * time.Hour     // how long the server stores an update ("Getting updates")
	forgets  = 6 * 24 * time.Hour // after this time without an update, the server's numbering may have restarted ("Update", update_id)
)

// atBotFather is the hint for 401 and for 404: the token is part of the path, so that a wrong one is "not
// found".
const atBotFather = "Telegram does not know the bot: set token to the one that @BotFather shows"

// position is how far a bot's updates were read. Offset is the next update to ask for; 0: the oldest that the
// server has.
type position struct {
	Offset int64 `json:"offset"`
	Heard  int64 `json:"heard"`  // when the server last answered, in Unix seconds of hob's clock
	Newest int64 `json:"newest"` // when the last update arrived
}

// from returns the offset to ask for. After a week without updates the server continues at a random number,
// which may be smaller. By then everything older was acknowledged or dropped, so it is safe to ask from the
// beginning.
func (p position) from(now time.Time) int64 {
	if now.Sub(time.Unix(p.Newest, 0)) > forgets {
		return 0
	}
	return p.Offset
}

// reader is the state of one Run.
type reader struct {
	channel *Channel
	source  *poll.Source[position]
	me      user
	heard   bool   // the server has answered in this Run
	album   string // the last album that was meant for hob: its other pictures have no text of their own
}

// Run polls for updates until ctx ends. It returns an error if the server cannot be reached or refuses, or if
// the inbox cannot commit.
func (c *Channel) Run(ctx context.Context, in channels.Inbox) error {
	receive := func(ctx context.Context) error { return c.receive(ctx, in) }
	return poll.Run(ctx, c.api.http, receive, func(err error) error { return c.explain(ctx, err) })
}

// receive opens the source and polls. The identity of the source includes the server, because each server
// numbers updates by itself.
func (c *Channel) receive(ctx context.Context, in channels.Inbox) error {
	r := &reader{channel: c}
	if err := c.api.call(ctx, "getMe", nil, &r.me); err != nil {
		return err
	}
	var err error
	who := poll.Account{Channel: c.name, Identity: strconv.FormatInt(r.me.ID, 10) + " " + c.api.base, Log: c.log}
	if r.source, err = poll.Open(ctx, in, who, func(p position) time.Time { return time.Unix(p.Heard, 0) }); err != nil {
		return err
	}
	return poll.Rounds(ctx, c.clock, r.round)
}

// round makes one poll and processes the result.
func (r *reader) round(ctx context.Context) (moved bool, err error) {
	before, first := r.source.Pos.Offset, !r.heard
	list, err := r.ask(ctx)
	if err != nil {
		return false, err
	}
	if err := r.reportGap(ctx); err != nil {
		return false, err
	}
	if err := r.take(ctx, list); err != nil {
		return false, err
	}
	r.heard = true
	return first || r.source.Pos.Offset != before, nil
}

// ask polls for new updates. The offset acknowledges all earlier ones, which have been committed. The first
// poll does not wait for an update: an answer alone proves that receiving works.
func (r *reader) ask(ctx context.Context) ([]json.RawMessage, error) {
	wait, limit := longPoll, pollTime
	if !r.heard {
		wait, limit = 0, callTime
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("nothing heard for %s", limit))
	defer cancel()
	var list []json.RawMessage
	err := r.channel.api.within(ctx, "getUpdates", map[string]any{
		"offset": r.source.Pos.from(r.channel.clock.Wall()), "limit": batch, "timeout": int(wait / time.Second),
		// Only these kinds are delivered; the list also cancels a choice of an earlier program.
		"allowed_updates": []string{"message", "edited_message", "callback_query"},
	}, &list)
	return list, err
}

// reportGap reports the period whose updates the server no longer stores.
func (r *reader) reportGap(ctx context.Context) error {
	now, heard := r.channel.clock.Wall(), time.Unix(r.source.Pos.Heard, 0)
	if r.source.Pos.Heard == 0 || now.Sub(heard) <= keeps {
		return nil
	}
	if err := r.source.Gap(ctx, heard, now.Add(-keeps), "Telegram was not asked for more than a day, and keeps messages for no longer than that"); err != nil {
		return err
	}
	next := r.source.Pos
	next.Heard = now.Unix()
	return r.source.Commit(ctx, nil, next) // so that the same gap is reported once
}

// take commits the messages of one poll together with the position after them. Only then does the position
// move, and the next poll acknowledge them. The first poll is always committed, even if empty: the commit
// marks receiving as healthy.
func (r *reader) take(ctx context.Context, list []json.RawMessage) error {
	now := r.channel.clock.Wall().Unix()
	next := r.source.Pos
	next.Heard = now
	if r.heard && len(list) == 0 && !r.source.Due(time.Unix(now, 0)) {
		r.source.Pos = next
		return nil
	}
	var messages []channels.Message
	var pressed []string
	highest := int64(0)
	for _, raw := range list {
		// One malformed update must not block the others: it is logged and skipped.
		var u update
		if err := json.Unmarshal(raw, &u); err != nil {
			r.channel.log.Warn("telegram update skipped", "channel", r.channel.name, "update", u.ID, "err", err)
		} else if m, ok := r.message(u); ok {
			messages = append(messages, m)
		} else {
			r.updateLocation(messages, u.Edited)
		}
		if u.Callback != nil {
			pressed = append(pressed, u.Callback.ID)
		}
		if err := r.reportMigration(ctx, u.Message); err != nil {
			return err
		}
		highest = max(highest, u.ID)
	}
	if highest > 0 {
		next.Offset, next.Newest = highest+1, now
	}
	if err := r.source.Commit(ctx, messages, next); err != nil {
		return err
	}
	for _, id := range pressed {
		r.answerCallback(ctx, id)
	}
	return nil
}

// reportMigration reports that a listed group has a new id. Until the new id is listed, its messages are ignored.
func (r *reader) reportMigration(ctx context.Context, m *message) error {
	if m == nil || m.Moved == 0 || !r.channel.listed(m.Chat.ID) || r.channel.listed(m.Moved) {
		return nil
	}
	at := time.Unix(m.Date, 0)
	why := fmt.Sprintf("the group %q is now a supergroup with the id %d; put that in the place of %d in groups", m.Chat.Title, m.Moved, m.Chat.ID)
	return r.source.Gap(ctx, at, at, why)
}

// answerCallback ends the progress sign of a pressed button. If that fails, Telegram ends it after a while.
func (r *reader) answerCallback(ctx context.Context, callback string) {
	if err := r.channel.api.call(ctx, "answerCallbackQuery", map[string]string{"callback_query_id": callback}, nil); err != nil {
		r.channel.log.Debug("a button waits for longer", "channel", r.channel.name, "err", err)
	}
}

// explain explains a refusal, and says what to do about it.
func (c *Channel) explain(ctx context.Context, err error) error {
	if wire.HasStatus(err, http.StatusConflict) {
		return c.conflict(ctx, err)
	}
	return statuses().Received(err)
}

// conflict finds out which of two causes a 409 has: the updates go to a web hook, or another program polls.
func (c *Channel) conflict(ctx context.Context, err error) error {
	var hook webhook
	if herr := c.api.call(ctx, "getWebhookInfo", nil, &hook); herr != nil {
		return errors.Join(err, herr)
	}
	if hook.URL != "" {
		return fmt.Errorf("%w; the bot's messages go to the web hook %s: remove it with the method deleteWebhook, or give hob a bot of its own", err, hook.URL)
	}
	return fmt.Errorf("%w; another program receives this bot's messages with the same token: stop it, or give hob a bot of its own", err)
}
