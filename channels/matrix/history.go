package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"hob/channels"
	"hob/channels/wire"
)

// How much of what a sync leaves out is fetched.
const (
	pageSize = 100
	maxPages = 300
)

// happened is what has happened in a room since the position, the oldest first: of a limited timeline also what it leaves out. What was there
// before hob was invited, or came in without an invitation, is no news.
func (r *reader) happened(ctx context.Context, room string, t timeline) ([]happening, error) {
	list, entered := r.since(t.Events)
	if !t.Limited || entered {
		return list, nil
	}
	older, err := r.older(ctx, room, t.Before)
	return append(older, list...), err
}

// since reads events, the oldest first, and leaves out everything up to hob's coming into the room.
func (r *reader) since(raws []json.RawMessage) (list []happening, entered bool) {
	for _, raw := range raws {
		e, ok := read(raw)
		if !ok {
			r.log.Warn("matrix event passed over", "channel", r.name, "event", string(raw[:min(len(raw), 200)]))
			continue
		}
		if r.me.entry(e) {
			list, entered = nil, true
			continue
		}
		list = append(list, e)
	}
	return list, entered
}

// entry tells whether with an event hob's time in a room begins.
func (a account) entry(e happening) bool {
	who, m, ok := e.membership()
	before := e.Unsigned.Before.Membership
	return ok && who == a.ID && (m.Membership == "invite" || m.Membership == "join" && before != "invite" && before != "join")
}

// older fetches what lies between the position and the beginning of a limited timeline (/messages backwards), the oldest first. Where that is too
// much, or is refused, the owner is told of the gap.
func (r *reader) older(ctx context.Context, room, from string) ([]happening, error) {
	var pages [][]happening
	for range maxPages {
		p, err := r.page(ctx, room, from)
		if wire.Final(err) && !wire.HasStatus(err, http.StatusUnauthorized, http.StatusTooManyRequests) {
			return r.gap(ctx, room, pages, err.Error())
		}
		if err != nil {
			return nil, fmt.Errorf("read what was left out of %s: %w", room, err)
		}
		slices.Reverse(p.Chunk)
		list, entered := r.since(p.Chunk)
		pages = append(pages, list)
		if entered || p.End == "" || p.End == r.Pos.Since || p.End == from {
			return joinPages(pages), nil
		}
		from = p.End
	}
	return r.gap(ctx, room, pages, fmt.Sprintf("there are more than %d", maxPages*pageSize))
}

func (r *reader) page(ctx context.Context, room, from string) (page, error) {
	query := url.Values{"dir": {"b"}, "limit": {fmt.Sprint(pageSize)}, "from": {from}, "to": {r.Pos.Since}, "filter": {`{"lazy_load_members":true,"types":` + kinds + `}`}}
	var p page
	err := r.api.call(ctx, http.MethodGet, path("v3", "rooms", room, "messages")+"?"+query.Encode(), nil, &p)
	return p, err
}

// joinPages puts pages, of which the newest is the first, into the order of their events.
func joinPages(pages [][]happening) []happening {
	slices.Reverse(pages)
	return slices.Concat(pages...)
}

// gap tells of messages that cannot be had, where they are any of hob's business, and goes on with those that can.
func (r *reader) gap(ctx context.Context, room string, pages [][]happening, why string) ([]happening, error) {
	list := joinPages(pages)
	p, err := r.place(ctx, room)
	if wire.HasCode(err, "M_FORBIDDEN", "M_NOT_FOUND") {
		return list, nil // it is not in the room any more
	}
	if err != nil {
		return nil, err
	}
	if !r.minds(room, p) {
		return list, nil
	}
	to := r.clock.Wall()
	if len(list) > 0 {
		to = time.UnixMilli(list[0].At)
	}
	if err := r.Gap(ctx, time.Unix(r.Pos.Heard, 0), to, fmt.Sprintf("in %s so many were written that not all could be read (%s)", called(room, p), why)); err != nil {
		return nil, err
	}
	return list, nil
}

// called is a room as people know it.
func called(room string, p place) string {
	if p.title == "" {
		return "the room " + room
	}
	return fmt.Sprintf("the room %s (%s)", channels.Foreign(p.title), room)
}
