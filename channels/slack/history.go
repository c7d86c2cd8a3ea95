package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/daemon/sys"

	"github.com/slack-go/slack"
)

// Limits for reading missed messages from the history.
const (
	pageSize = 200             // messages of one page
	batch    = 1000            // messages of one commit
	maxPages = 100             // pages of one chat or thread
	patience = 5               // how often hob waits for a rate limit before one page
	longest  = 2 * time.Minute // maximum wait for a rate limit
)

// historyPages reads the messages of a chat or a thread after a time, page by page. A chat begins with the newest
// page, a thread with the oldest ("conversations.history", "conversations.replies").
type historyPages struct {
	web          *slack.Client
	chat, thread string
	since        string // exclusive
	metadata     bool
	cursor       string
	end          bool
}

// next fetches a page. It waits if Slack limits the rate.
func (p *historyPages) next(ctx context.Context) (list []slack.Message, err error) {
	for range patience {
		list, err = p.fetch(ctx)
		// A short limit is waited for here; for a longer one the host's backoff is better.
		after, limited := rateLimit(err)
		if !limited || after == 0 || after > longest {
			return list, err
		}
		sys.Sleep(ctx, after)
	}
	return list, err
}

// fetch fetches a page, and remembers the cursor of the next one.
func (p *historyPages) fetch(ctx context.Context) ([]slack.Message, error) {
	if p.thread != "" {
		list, more, cursor, err := p.web.GetConversationRepliesContext(ctx, &slack.GetConversationRepliesParameters{
			ChannelID: p.chat, Timestamp: p.thread, Oldest: p.since, Limit: pageSize, Cursor: p.cursor, IncludeAllMetadata: p.metadata,
		})
		if err != nil {
			return nil, fmt.Errorf("conversations.replies: %w", err)
		}
		p.cursor, p.end = cursor, !more || cursor == ""
		return list, nil
	}
	resp, err := p.web.GetConversationHistoryContext(ctx, &slack.GetConversationHistoryParameters{
		ChannelID: p.chat, Oldest: p.since, Limit: pageSize, Cursor: p.cursor, IncludeAllMetadata: p.metadata,
	})
	if err != nil {
		return nil, fmt.Errorf("conversations.history: %w", err)
	}
	p.cursor, p.end = resp.ResponseMetaData.NextCursor, !resp.HasMore || resp.ResponseMetaData.NextCursor == ""
	return resp.Messages, nil
}

// catchUp commits the messages that arrived since the last connection, chat by chat. It runs after the socket
// is open, so that nothing falls between history and socket.
func (r *reader) catchUp(ctx context.Context) error {
	heard := r.source.Pos.Heard
	chats, err := r.chats(ctx)
	if err != nil {
		return err
	}
	for _, chat := range chats {
		list, next, err := r.missed(ctx, chat)
		if err != nil {
			if err := r.reportGap(ctx, chat, heard, err); err != nil {
				return err
			}
		}
		// The position moves with each commit, so a crash repeats one batch at most.
		for some := range slices.Chunk(list, batch) {
			if err := r.commit(ctx, r.resolveNames(ctx, some), r.positionAfter(r.source.Pos, some...)); err != nil {
				return err
			}
		}
		r.source.Pos = next // the rest of the history was not meant for hob
	}
	next := r.source.Pos.only(chats)
	next.Heard = r.view.channel.clock.Wall().Unix()
	return r.commit(ctx, nil, next)
}

// chats lists the chats to catch up on: the listed groups, and the private chats with people whom hob listens
// to.
func (r *reader) chats(ctx context.Context) ([]string, error) {
	list := slices.Clone(r.view.channel.Groups)
	params := slack.GetConversationsParameters{Types: []string{"im"}, Limit: pageSize}
	for range maxPages {
		// Private chats are not listed in the config, so Slack is asked for them.
		page, cursor, err := r.view.channel.web.GetConversationsContext(ctx, &params)
		if refused(err, noScope) { // without the scope, use the chats that are already known
			for chat := range r.source.Pos.Chats {
				if strings.HasPrefix(chat, "D") {
					list = append(list, chat)
				}
			}
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("conversations.list: %w", err)
		}
		for _, ch := range page {
			if r.view.channel.knows(ch.User) {
				list = append(list, ch.ID)
			}
		}
		if cursor == "" {
			break
		}
		params.Cursor = cursor
	}
	return list, nil
}

// missed returns the new messages of a chat and its threads, oldest first, and the position after them. A few
// minutes before the newest known message are read again, because Slack may have delivered messages out of
// order. If the error is not nil, the messages are those that could be read.
func (r *reader) missed(ctx context.Context, chat string) ([]message, position, error) {
	since := r.overlap(r.source.Pos.Chats[chat])
	raw, err := r.all(ctx, historyPages{web: r.view.channel.web.Client, chat: chat, since: since})
	threads := map[string]string{}
	for key, newest := range r.source.Pos.Threads {
		if in, thread, _ := strings.Cut(key, "/"); in == chat {
			threads[thread] = r.overlap(newest)
		}
	}
	// A known chat may have got replies in a thread that is not tracked.
	for _, m := range raw {
		if m.LatestReply > since && threads[m.Timestamp] == "" {
			threads[m.Timestamp] = since
		}
	}
	for thread, since := range threads {
		replies, rerr := r.all(ctx, historyPages{web: r.view.channel.web.Client, chat: chat, thread: thread, since: since})
		if rerr != nil && !refused(rerr, "thread_not_found message_not_found") {
			err = errors.Join(err, rerr)
		}
		for _, m := range replies {
			if m.Timestamp > since && m.Timestamp != thread {
				raw = append(raw, m)
			}
		}
	}
	// Threads are read separately, so their replies must be merged into the order of time.
	slices.SortStableFunc(raw, func(a, b slack.Message) int { return strings.Compare(a.Timestamp, b.Timestamp) })
	var list []message
	newest := r.source.Pos.Chats[chat]
	for _, said := range raw {
		newest = max(newest, said.Timestamp)
		said.Channel = chat
		// History and events have the same form, so one conversion serves both.
		m, ok := r.view.message(said)
		if !ok || !r.concerns(m.Message) {
			continue
		}
		if said.Edited != nil && m.ts <= r.source.Pos.Chats[chat] { // the original was read before the edit
			m.Message = edited(m.Message, said.Edited)
		}
		list = append(list, m)
	}
	next := r.positionAfter(r.source.Pos, list...)
	if newest != "" {
		next.Chats[chat] = newest
	}
	return list, next, err
}

// overlap returns the time from which the history is read again.
func (r *reader) overlap(newest string) string {
	if newest == "" { // nothing of this chat was read yet
		newest = stamp(time.Unix(r.source.Pos.Heard, 0).Add(r.view.me.ahead))
	}
	return max(r.source.Pos.Began, stamp(moment(newest).Add(-keeps)))
}

// all fetches all pages.
func (r *reader) all(ctx context.Context, p historyPages) ([]slack.Message, error) {
	var list []slack.Message
	for range maxPages {
		page, err := p.next(ctx)
		if err != nil {
			return list, err
		}
		list = append(list, page...)
		if p.end {
			return list, nil
		}
	}
	return list, errTooMuch
}

// errTooMuch reports a history that is longer than hob reads.
var errTooMuch = fmt.Errorf("there are more than %d", maxPages*pageSize)

// reportGap reports messages that cannot be read. A temporary failure is returned as an error, so that the next
// Run tries again. A gap is reported only if Slack does not offer the events again by itself.
func (r *reader) reportGap(ctx context.Context, chat string, heard int64, why error) error {
	var no slack.SlackErrorResponse
	var odd *json.UnmarshalTypeError
	// Final errors would be the same at the next try; everything else is retried.
	final := errors.Is(why, errTooMuch) || errors.As(why, &odd) || errors.As(why, &no) && !refused(why, badToken+" "+halfDone)
	if ctx.Err() != nil || !final {
		return fmt.Errorf("read the messages in %s: %w", chat, why)
	}
	r.view.channel.log.Warn("slack does not show messages", "channel", r.view.channel.name, "chat", chat, "err", why)
	from, to := time.Unix(heard, 0), r.view.channel.clock.Wall()
	if to.Sub(from) <= keeps && !errors.Is(why, errTooMuch) || refused(why, "not_in_channel channel_not_found is_archived") {
		return nil
	}
	return r.source.Gap(ctx, from, to, fmt.Sprintf("Slack does not show the messages in %s from that time: %v", chat, hint(why)))
}
