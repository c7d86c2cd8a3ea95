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
)

// How much is read from the history.
const (
	pageSize   = 100
	maxPages   = 300              // of one channel
	overlap    = time.Minute      // before what was heard last: clocks differ
	maxDirects = 20               // private chats that are looked for in one go
	maxThreads = 100              // that are followed, the latest ones
	longNap    = 30 * time.Second // that a page is waited for; for a longer one the host waits
)

// epoch is where the time of Discord's ids begins, in Unix milliseconds ("Snowflakes").
const epoch = 1_420_070_400_000

// since is the id that a message had at an instant.
func since(t time.Time) string { return strconv.FormatInt(max(t.UnixMilli()-epoch, 0)<<22, 10) }

// history reads what the gateway has not handed on.
type history struct{ *reader }

// catchUp reads what was written since the position in the channels that hob listens to, and commits it page by page.
func (r *reader) catchUp(ctx context.Context) error { return history{r}.read(ctx) }

func (r history) read(ctx context.Context) error {
	if err := r.findDirects(ctx); err != nil {
		return err
	}
	follow := slices.Concat(r.Groups, slices.Sorted(maps.Values(r.Pos.Directs)), r.threads())
	maps.DeleteFunc(r.Pos.Newest, func(channel, _ string) bool { return !slices.Contains(follow, channel) })
	for _, channel := range follow {
		if err := r.readIn(ctx, channel); err != nil {
			return err
		}
	}
	return nil
}

// findDirects finds the private chats with those whom hob listens to, and forgets those with others. It writes to nobody.
func (r history) findDirects(ctx context.Context) error {
	people := r.people()
	maps.DeleteFunc(r.Pos.Directs, func(person, _ string) bool { return !slices.Contains(people, person) })
	left := maxDirects
	for _, person := range people {
		if r.Pos.Directs[person] != "" || left == 0 {
			continue
		}
		left--
		direct, err := r.private(ctx, person)
		if wire.HasStatus(err, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound) {
			r.log.Debug("there is no private chat", "channel", r.name, "person", person, "err", err)
			continue
		}
		if err != nil {
			return err
		}
		r.Pos.Directs[person] = direct
	}
	return nil
}

// threads are those that were followed, the latest of them.
func (r history) threads() []string {
	var list []string
	direct := slices.Collect(maps.Values(r.Pos.Directs))
	for channel := range r.Pos.Newest {
		if !slices.Contains(r.Groups, channel) && !slices.Contains(direct, channel) {
			list = append(list, channel)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		if newer(r.Pos.Newest[a], r.Pos.Newest[b]) == r.Pos.Newest[a] {
			return -1
		}
		return 1
	})
	return list[:min(len(list), maxThreads)]
}

// readIn reads one channel.
func (r history) readIn(ctx context.Context, channel string) error {
	heard := time.Unix(r.Pos.Heard, 0)
	if r.Pos.Newest[channel] == "" {
		r.Pos.Newest[channel] = since(heard.Add(-overlap))
	}
	for range maxPages {
		page, err := r.page(ctx, channel, url.Values{"after": {r.Pos.Newest[channel]}, "limit": {strconv.Itoa(pageSize)}})
		if wire.HasStatus(err, http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound) {
			return r.unreadable(ctx, channel, heard, err)
		}
		if err != nil {
			return fmt.Errorf("read what was missed: %w", err)
		}
		r.Pos.Refused = slices.DeleteFunc(r.Pos.Refused, func(s string) bool { return s == channel })
		if len(page) == 0 {
			return nil
		}
		if err := r.missed(ctx, channel, page); err != nil {
			return err
		}
		if len(page) < pageSize {
			return nil
		}
	}
	return r.gap(ctx, channel, heard, fmt.Sprintf("there are more than %d", maxPages*pageSize))
}

// missed commits a page of a channel, in the order in which it was written.
func (r history) missed(ctx context.Context, channel string, page []message) error {
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
		r.Pos.Newest[channel] = newer(r.Pos.Newest[channel], m.ID)
		at, err := r.at(ctx, m)
		if err != nil {
			return err
		}
		if m.Author != nil && at.ok {
			list = append(list, r.message(m, at))
		}
	}
	return r.commit(ctx, list)
}

// at is where a message of the history was written, which does not say it by itself.
func (r history) at(ctx context.Context, m *message) (place, error) {
	if by, ok := r.partner(m.Channel); ok {
		return place{by.chat, true}, nil
	}
	return r.group(ctx, m.Channel)
}

// page asks for messages of a channel. It waits when it has asked for too many.
func (c *Channel) page(ctx context.Context, channel string, query url.Values) ([]message, error) {
	for {
		var page []message
		err := c.api.call(ctx, http.MethodGet, "/channels/"+escape(channel)+"/messages?"+query.Encode(), nil, &page)
		no := wire.Refused(err)
		if no == nil || no.Status != http.StatusTooManyRequests || no.After <= 0 || no.After > longNap || !channels.Pause(ctx, no.After) {
			return page, err
		}
	}
}

// unreadable tells once of a channel that hob is not let into. A thread that is gone is nobody's business.
func (r history) unreadable(ctx context.Context, channel string, heard time.Time, cause error) error {
	_, direct := r.partner(channel)
	if !direct && !slices.Contains(r.Groups, channel) {
		delete(r.Pos.Newest, channel)
		return nil
	}
	if slices.Contains(r.Pos.Refused, channel) {
		return nil
	}
	r.Pos.Refused = append(r.Pos.Refused, channel)
	return r.gap(ctx, channel, heard, cause.Error())
}

// gap tells of messages that cannot be had. From now on the channel is read on.
func (r history) gap(ctx context.Context, channel string, from time.Time, why string) error {
	to := r.clock.Wall()
	where := "the channel " + channel
	if by, ok := r.partner(channel); ok {
		where = "the private chat with " + by.from.ID
	}
	if err := r.Gap(ctx, from, to, fmt.Sprintf("in %s not all could be read (%s)", where, why)); err != nil {
		return err
	}
	r.Pos.Newest[channel] = newer(r.Pos.Newest[channel], since(to))
	return r.commit(ctx, nil)
}
