package discord

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"hob/channels"
	"hob/channels/wire"
	"hob/daemon/sys"
)

// Limits for reading missed messages from the history.
const (
	pageSize   = 100
	maxPages   = 300              // pages of one channel
	overlap    = time.Minute      // read again before the last known time, because clocks differ
	maxDirects = 20               // private chats to look up in one run
	maxThreads = 100              // newest threads to follow
	longWait   = 30 * time.Second // maximum wait for a rate limit; for a longer one the host waits
)

// epoch is the beginning of Discord's ids, in Unix milliseconds ("Snowflakes").
const epoch = 1_420_070_400_000

// since returns the smallest id of a message at an instant.
func since(t time.Time) string { return strconv.FormatInt(max(t.UnixMilli()-epoch, 0)<<22, 10) }

// history reads messages that the gateway did not deliver.
type history struct{ reader *reader }

// catchUp reads the messages since the position from the channels that hob listens to, and commits them page
// by page.
func (r *reader) catchUp(ctx context.Context) error { return history{r}.read(ctx) }

// read goes through private chats, listed channels and followed threads, one after the other.
func (r history) read(ctx context.Context) error {
	if err := r.findDirects(ctx); err != nil {
		return err
	}
	follow := slices.Concat(r.reader.channel.Groups, slices.Sorted(maps.Values(r.reader.source.Pos.Directs)), r.threads())
	maps.DeleteFunc(r.reader.source.Pos.Newest, func(channel, _ string) bool { return !slices.Contains(follow, channel) })
	for _, channel := range follow {
		if err := r.readIn(ctx, channel); err != nil {
			return err
		}
	}
	return nil
}

// findDirects finds the private chats with people whom hob listens to, and forgets the others. It sends no
// message: to open a private chat is not visible to the other side.
func (r history) findDirects(ctx context.Context) error {
	people := r.reader.people()
	maps.DeleteFunc(r.reader.source.Pos.Directs, func(person, _ string) bool { return !slices.Contains(people, person) })
	left := maxDirects
	for _, person := range people {
		if r.reader.source.Pos.Directs[person] != "" || left == 0 {
			continue
		}
		left--
		direct, err := r.reader.channel.private(ctx, person)
		if wire.HasStatus(err, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound) {
			r.reader.channel.log.Debug("there is no private chat", "channel", r.reader.channel.name, "person", person, "err", err)
			continue
		}
		if err != nil {
			return err
		}
		r.reader.source.Pos.Directs[person] = direct
	}
	return nil
}

// threads returns the newest followed threads.
func (r history) threads() []string {
	var list []string
	direct := slices.Collect(maps.Values(r.reader.source.Pos.Directs))
	for channel := range r.reader.source.Pos.Newest {
		if !slices.Contains(r.reader.channel.Groups, channel) && !slices.Contains(direct, channel) {
			list = append(list, channel)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if newer(r.reader.source.Pos.Newest[a], r.reader.source.Pos.Newest[b]) == r.reader.source.Pos.Newest[a] {
			return -1
		}
		return 1
	})
	return list[:min(len(list), maxThreads)]
}

// readIn reads one channel from its position to the end. If there are more messages than maxPages, the rest
// is reported as a gap.
func (r history) readIn(ctx context.Context, channel string) error {
	heard := time.Unix(r.reader.source.Pos.Heard, 0)
	if r.reader.source.Pos.Newest[channel] == "" {
		r.reader.source.Pos.Newest[channel] = since(heard.Add(-overlap))
	}
	for range maxPages {
		page, err := r.reader.channel.page(ctx, channel, url.Values{"after": {r.reader.source.Pos.Newest[channel]}, "limit": {strconv.Itoa(pageSize)}})
		if wire.HasStatus(err, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound) {
			return r.unreadable(ctx, channel, heard, err)
		}
		if err != nil {
			return fmt.Errorf("read missed messages: %w", err)
		}
		r.reader.source.Pos.Refused = slices.DeleteFunc(r.reader.source.Pos.Refused, func(s string) bool { return s == channel })
		if len(page) == 0 {
			return nil
		}
		if err := r.missed(ctx, channel, page); err != nil {
			return err
		}
		// A short page is the last one.
		if len(page) < pageSize {
			return nil
		}
	}
	return r.gap(ctx, channel, heard, fmt.Sprintf("there are more than %d", maxPages*pageSize))
}

// missed commits a page of a channel, oldest message first.
func (r history) missed(ctx context.Context, channel string, page []message) error {
	// The API returns the newest message first.
	slices.SortFunc(page, func(a, b message) int {
		if newer(a.ID, b.ID) == b.ID {
			return -1
		}
		return 1
	})
	var list []channels.Message
	for i := range page {
		m := &page[i]
		m.Channel = channel
		r.reader.source.Pos.Newest[channel] = newer(r.reader.source.Pos.Newest[channel], m.ID)
		at, err := r.at(ctx, m)
		if err != nil {
			return err
		}
		if m.Author != nil && at.ok {
			list = append(list, r.reader.decoder.message(m, at))
		}
	}
	return r.reader.commit(ctx, list)
}

// at returns the chat of a message from the history, which does not contain it.
func (r history) at(ctx context.Context, m *message) (place, error) {
	if by, ok := r.reader.partner(m.Channel); ok {
		return place{by.chat, true}, nil
	}
	return r.reader.group(ctx, m.Channel)
}

// page requests messages of a channel ("Get Channel Messages"). It waits for a rate limit.
func (c *Channel) page(ctx context.Context, channel string, query url.Values) ([]message, error) {
	for {
		var page []message
		err := c.api.call(ctx, http.MethodGet, "/channels/"+escape(channel)+"/messages?"+query.Encode(), nil, &page)
		no := wire.Refused(err)
		if no == nil || no.Status != http.StatusTooManyRequests || no.After <= 0 || no.After > longWait || !sys.Sleep(ctx, no.After) {
			return page, err
		}
	}
}

// unreadable reports a channel that the bot may not read, once. A deleted thread is forgotten without a
// report.
func (r history) unreadable(ctx context.Context, channel string, heard time.Time, cause error) error {
	_, direct := r.reader.partner(channel)
	if !direct && !slices.Contains(r.reader.channel.Groups, channel) {
		delete(r.reader.source.Pos.Newest, channel)
		return nil
	}
	if slices.Contains(r.reader.source.Pos.Refused, channel) {
		return nil
	}
	r.reader.source.Pos.Refused = append(r.reader.source.Pos.Refused, channel)
	return r.gap(ctx, channel, heard, cause.Error())
}

// gap reports messages that cannot be read. Reading continues from now on.
func (r history) gap(ctx context.Context, channel string, from time.Time, why string) error {
	to := r.reader.channel.clock.Wall()
	where := "the channel " + channel
	if by, ok := r.reader.partner(channel); ok {
		where = "the private chat with " + by.from.ID
	}
	if err := r.reader.source.Gap(ctx, from, to, fmt.Sprintf("in %s not all could be read (%s)", where, why)); err != nil {
		return err
	}
	r.reader.source.Pos.Newest[channel] = newer(r.reader.source.Pos.Newest[channel], since(to))
	return r.reader.commit(ctx, nil)
}
